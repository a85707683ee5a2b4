import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { outputOf } from "../support/sample-text.ts";

const said = (role: string, text: string, origin: string) => ({
	type: "context.append_message",
	message: { role, content: [{ type: "text", text }], toolCalls: [], origin: { kind: origin } },
	time: 1_795_000_000_000,
});

const event = (members: object) => ({ type: "context.append_loop_event", event: members, time: 1_795_000_000_000 });

const step = (...ids: string[]) => [
	event({ type: "step.begin", uuid: `s-${ids[0]}`, step: 1 }),
	event({ type: "content.part", stepUuid: `s-${ids[0]}`, part: { type: "think", think: "I read.", encrypted: "e" } }),
	...ids.map((toolCallId) => event({ type: "tool.call", toolCallId, name: "Read", args: { path: toolCallId } })),
	...ids.map((toolCallId) => event({ type: "tool.result", toolCallId, result: { output: outputOf(toolCallId) } })),
	event({ type: "step.end", usage: { inputOther: 10, inputCacheRead: 90, inputCacheCreation: 0, output: 5 } }),
];

/** What is sent, in short: the words of persons, and ids of calls and results. */
function sent(records: readonly object[]) {
	const { transcript } = readConversation([{ type: "metadata", protocol_version: "1.5", created_at: 1 }, ...records]);
	return transcript.messages
		.filter(({ sent }) => sent !== false)
		.map(({ role, calls, results, counted }) => {
			const ids = [...calls.map(({ id }) => id), ...results.map(({ callId }) => callId)];
			return `${role} ${ids.length > 0 ? ids.join(" ") : counted.join()}`;
		});
}

const talk = [said("user", "Go.", "user"), ...step("a", "b"), said("user", "More.", "user"), ...step("c")];

describe("a session of Kimi Code", () => {
	it("has the pieces of a step as one message, with its calls, reasoning and usage", () => {
		const { transcript } = readConversation(talk);
		expect(sent(talk)).toEqual([
			"user Go.",
			"assistant a b",
			"tool a",
			"tool b",
			"user More.",
			"assistant c",
			"tool c",
		]);
		expect(transcript.messages[1]).toMatchObject({
			usage: { inputTokens: 100, cachedTokens: 90 },
			thinking: [{ text: "I read.", bound: true, path: [2] }],
			paths: [[1], [2], [3], [4], [7]],
		});
	});

	it("sends nothing that the person took back or cleared", () => {
		const undo = { type: "context.undo", count: 1 };
		expect(sent([...talk, undo])).toEqual(["user Go.", "assistant a b", "tool a", "tool b"]);
		expect(sent([...talk, { type: "context.clear" }, said("user", "New.", "user")])).toEqual(["user New."]);
	});

	it("sends words of the person and the summary after a compaction", () => {
		const compaction = { type: "context.apply_compaction", summary: "So far.", compactedCount: 7 };
		const injected = said("user", "Reminder.", "injection");
		const kept = { ...compaction, keptUserMessageCount: 1 };
		expect(sent([...talk, injected, kept, ...step("d")])).toEqual([
			"user More.",
			"user So far.",
			"assistant d",
			"tool d",
		]);
		expect(sent([...talk, { ...kept, keptUserMessageCount: 2, keptHeadUserMessageCount: 1 }])).toEqual([
			"user Go.",
			"user More.",
			"user So far.",
		]);
		expect(sent([...talk, { ...compaction, compactedCount: 4 }])).toEqual([
			"user More.",
			"assistant c",
			"tool c",
			"user So far.",
		]);
	});
});

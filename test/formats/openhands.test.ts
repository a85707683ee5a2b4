import { describe, expect, it } from "vitest";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { openhands } from "../../src/formats/openhands.ts";
import { compact, mask } from "../../src/library.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const masking = policyOf({ mask: { window_turns: 1 } });
const message = (id: number, source: string, content: string) => ({ id, source, action: "message", args: { content } });
const run = (id: number) => ({ id, source: "agent", action: "run", args: { command: "ls", thought: "Let me see." } });
const ran = (id: number, cause: number | undefined, more: object = {}) => ({
	id,
	source: "agent",
	...(cause === undefined ? {} : { cause }),
	observation: "run",
	content: outputOf(`o${id}`),
	extras: { command: "ls", outputs: outputOf(`o${id}`) },
	...more,
});
const state = { id: 90, source: "environment", observation: "agent_state_changed", content: "", extras: {} };
const read = (document: unknown) => readConversation(document).transcript;
const sent = (document: unknown) => read(document).messages.filter((one) => one.sent !== false);

describe("OpenHands events", () => {
	const opening = [
		{ id: 0, source: "agent", action: "system", args: { content: "Act.", tools: [] } },
		message(1, "user", "Look."),
	];
	const events = [...opening, state, run(2), ran(3, 2), run(4), ran(5, 4), message(6, "agent", "Done.")];

	it("pairs observations by their cause, else with the latest call", () => {
		expect(readConversation(events).format).toBe(openhands);
		for (const conversation of [events, events.map(({ ...event }) => ({ ...event, cause: null }))]) {
			expect(pairResults(read(conversation)).map(({ call }) => call?.name)).toEqual(["run", "run"]);
		}
		expect(
			read(events)
				.messages.map(({ role }) => role)
				.join(" "),
		).toBe("system user assistant tool assistant tool assistant");
	});

	it("masks an observation with the copy in its extras", async () => {
		const { conversation, report } = await maskConversation({ conversation: events, policy: masking });
		expect(report.masked_tool_results).toBe(1);
		expect(JSON.stringify(conversation)).not.toContain(JSON.stringify(outputOf("o3")));
		expect(JSON.stringify(conversation)).toContain('"command":"ls"');
	});

	it("reads pairs of older versions, and the rest after both events are dropped", async () => {
		const history = [
			[message(1, "user", "Look."), { observation: "null", content: "" }],
			[run(2), ran(3, 2)],
			[run(4), ran(5, 4)],
		];
		const document = { task_id: "t", instruction: "Look.", metadata: {}, history };
		expect(readConversation(document).format).toBe(openhands);
		expect((await maskConversation({ conversation: document, policy: masking })).report.masked_tool_results).toBe(1);
		const dropping = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 } });
		const { conversation, report } = await guardConversation({
			conversation: document,
			policy: dropping,
			contextWindow: 100,
		});
		expect(report.dropped_messages).toBeGreaterThan(0);
		expect(readConversation(conversation).format).toBe(openhands);
	});

	it.each([
		["a range", { forgotten_events_start_id: 2, forgotten_events_end_id: 3 }],
		["a list", { forgotten_event_ids: [2, 3] }],
	])("sends the summary of a condensation in place of %s of events, and masks them as before", async (_, forgotten) => {
		const condensation = { id: 7, source: "agent", action: "condensation", args: { ...forgotten, summary: "Looked." } };
		const conversation = [...events, condensation];
		expect(
			sent(conversation)
				.map(({ role }) => role)
				.join(" "),
		).toBe("system user assistant tool assistant system");
		expect((await maskConversation({ conversation, policy: masking })).report.masked_tool_results).toBe(1);
	});

	it("reads errors, unanswered calls, and actions of the program itself", () => {
		const failed = [ran(3, 2, { observation: "error" }), ran(4, 2, { success: false })];
		const recall = { id: 8, source: "user", action: "recall", args: { query: "x" } };
		const messages = sent([message(1, "user", "Look."), recall, run(2), ...failed, run(5)]);
		expect(messages.flatMap(({ results }) => results.map(({ isError }) => isError))).toEqual([true, true]);
		expect(messages.at(-1)?.calls).toHaveLength(1);
	});
});

describe("OpenHands SDK events", () => {
	const text = (value: string) => [{ type: "text", text: value }];
	const call = (id: string) => ({
		kind: "ActionEvent",
		id: `e-${id}`,
		source: "agent",
		thought: text("Let me see."),
		thinking_blocks: [{ type: "thinking", thinking: "Hm.", signature: "c2ln" }],
		action: { kind: "ExecuteBashAction", command: "ls" },
		tool_name: "execute_bash",
		tool_call_id: id,
		tool_call: { id, name: "execute_bash", arguments: '{"command":"ls"}', origin: "completion" },
	});
	const answer = (id: string) => ({
		kind: "ObservationEvent",
		source: "environment",
		observation: { kind: "ExecuteBashObservation", content: text(outputOf(id)), is_error: false },
		action_id: `e-${id}`,
		tool_name: "execute_bash",
		tool_call_id: id,
	});
	const events = [
		{ kind: "SystemPromptEvent", source: "agent", system_prompt: { type: "text", text: "Act." }, tools: [] },
		{ kind: "MessageEvent", source: "user", llm_message: { role: "user", content: text("Look.") } },
		call("a"),
		call("b"),
		answer("a"),
		answer("b"),
		{ kind: "ConversationStateUpdateEvent", source: "environment", key: "x" },
		call("c"),
		{ kind: "AgentErrorEvent", source: "agent", tool_name: "execute_bash", tool_call_id: "c", error: "No." },
	];

	it("reads parallel calls as one answer, reasoning, and failures", async () => {
		const { format, transcript } = readConversation(events);
		expect(format).toBe(openhands);
		expect(transcript.messages.map(({ role }) => role).join(" ")).toBe(
			"system user assistant tool tool assistant tool",
		);
		expect(transcript.messages[2]).toMatchObject({
			calls: [{ id: "a" }, { id: "b" }],
			thinking: [{ bound: true }, {}],
		});
		expect(transcript.messages[6]?.results).toMatchObject([{ callId: "c", isError: true }]);
		const { report } = await maskConversation({ conversation: events, policy: masking });
		expect(report.masked_tool_results).toBe(2);
	});

	it("writes a message in the form of the event that it replaces", () => {
		const given = { role: "user", text: "In short." } as const;
		expect(openhands.write.message({ ...given, instead: call("a") })).toMatchObject({
			kind: "MessageEvent",
			source: "user",
		});
		expect(openhands.write.message({ ...given, instead: run(2) })).toMatchObject({ action: "message", source: "user" });
	});
});

describe("resolver", () => {
	const run = (number: number) => [
		{
			command: "ls",
			is_input: false,
			thought: "I look.",
			blocking: false,
			confirmation_state: "confirmed",
			action: "run",
		},
		{ content: outputOf(`o${number}`), command: "ls", hidden: false, metadata: { exit_code: 0 }, observation: "run" },
	];
	const line = {
		issue: { owner: "o", repo: "r", number: 1, title: "t", body: "b", thread_comments: null },
		issue_type: "issue",
		instruction: "Mend it.",
		history: [
			{ content: "You are an agent.", tools: [], action: "system" },
			{ content: "Mend it.", image_urls: null, wait_for_response: false, action: "message" },
			...[0, 1, 2, 3].flatMap(run),
			{ content: "What now?", image_urls: null, wait_for_response: true, action: "message" },
			{
				content: "Please continue working on the task.",
				image_urls: null,
				wait_for_response: false,
				action: "message",
			},
			{ final_thought: "Mended.", outputs: {}, thought: "", action: "finish" },
		],
		success: true,
	};

	describe("the history of OpenHands' resolver", () => {
		it("has events without `args`, ids and sources", () => {
			const { format, transcript } = readConversation(line);
			expect(format.name).toBe("openhands");
			const roles = ["system", "user", ...[0, 1, 2, 3].flatMap(() => ["assistant", "tool"])];
			expect(transcript.messages.map(({ role }) => role)).toEqual([...roles, "assistant", "user", "assistant"]);
			expect(transcript.messages[2]?.calls).toMatchObject([{ name: "run" }]);
		});

		it("is masked and compacted", async () => {
			expect((await mask(line, { policy: { mask: { window_turns: 1 } } })).report.masked_tool_results).toBe(3);
			const given = { strategy: "llm-summary" as const, force: true, contextWindow: 64_000, summary: "All in short." };
			const { report, error } = await compact(line, { ...given, policy: { compaction: { keep_last_messages: 2 } } });
			expect(error).toBeUndefined();
			expect(report.result).toBe("summarised");
		});
	});
});

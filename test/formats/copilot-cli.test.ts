import { describe, expect, it } from "vitest";
import { valueAt } from "../../src/engine/conversation/paths.ts";
import { copilotCli } from "../../src/formats/copilot-cli.ts";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

type Json = Readonly<Record<string, unknown>>;
interface Unwritten {
	readonly type: string;
	readonly data: Json;
	readonly agentId?: string;
}
interface LogEvent extends Unwritten {
	readonly id: string;
	readonly parentId: string | null;
}

const event = (type: string, data: Json = {}) => ({ type, data });
const start = event("session.start", { sessionId: "s", version: 1 });
const system = (content: string, more: Json = {}) => event("system.message", { role: "system", content, ...more });
const user = (content: string) => event("user.message", { content, transformedContent: `<now/>\n\n${content}` });
const says = (content: string, more: Json = {}) => event("assistant.message", { messageId: "m", content, ...more });
const request = (toolCallId: string) => ({ toolCallId, name: "bash", type: "function", arguments: { command: "ls" } });
const calls = (...ids: readonly string[]) => says("", { toolRequests: ids.map(request) });
const done = (toolCallId: string, more: Json = {}) =>
	event("tool.execution_complete", { toolCallId, success: true, result: { content: outputOf(toolCallId) }, ...more });
const turn = (id: string) => [
	event("assistant.turn_start", { turnId: "0" }),
	calls(id),
	event("tool.execution_start", { toolCallId: id, toolName: "bash", arguments: { command: "ls" } }),
	done(id),
	event("assistant.turn_end", { turnId: "0" }),
];
/** A log as it is written: each event names the one before. */
const log = (...events: readonly Unwritten[]): LogEvent[] =>
	events.map((one, index) => ({ ...one, id: `e${index}`, parentId: index === 0 ? null : `e${index - 1}` }));
/** What is still sent of a log. */
const read = (...events: readonly Unwritten[]) =>
	readConversation(log(...events)).transcript.messages.filter(({ sent }) => sent !== false);
const masking = policyOf({ mask: { window_turns: 1 } });
const texts = (events: readonly Unwritten[]) => read(...events).map(({ counted }) => counted.join(" "));

describe("Copilot CLI: format detection", () => {
	it("detects it by its events", () => {
		expect(readConversation(log(start, user("Go."))).format).toBe(copilotCli);
	});

	it.each([
		[[], 0],
		[[event("custom", {})], 0],
		[[start, { type: "user.message" }], 1],
		[[start, { data: {} }], 1],
		[[start, "text"], 1],
		[[{ type: "user", message: { role: "user", content: "x" } }], 0],
		[[{ type: "response_item", payload: {} }], 0],
	])("does not match %j", (records, message) => {
		expect(copilotCli.probe(locateMessages(records))).toMatchObject({ fit: "none", message });
	});
});

describe("Copilot CLI: content sent to the model", () => {
	it("includes the transformed text of a user and notifications, but no hooks or permissions", () => {
		const messages = read(
			start,
			event("hook.start", { input: { prompt: "Go." } }),
			user("Go."),
			event("permission.requested", { permissionRequest: {} }),
			event("system.notification", { content: "<system_notification>Done</system_notification>", kind: {} }),
			event("abort", { reason: "user_initiated" }),
		);
		expect(messages.map(({ role, counted }) => [role, counted])).toEqual([
			["user", ["<now/>\n\nGo."]],
			["user", ["<system_notification>Done</system_notification>"]],
		]);
	});

	it("includes the last logged system prompt once, next to other system messages", () => {
		const developer = event("system.message", { role: "developer", content: "Rules." });
		const messages = texts([
			system("Old."),
			user("a"),
			developer,
			system("New."),
			user("b"),
			system("Other.", { name: "x" }),
		]);
		expect(messages).toEqual(["<now/>\n\na", "Rules.", "New.", "<now/>\n\nb", "Other."]);
	});

	it("includes text, readable reasoning and calls of the assistant; ids and encrypted data are not counted", () => {
		const opaque = { reasoningText: "Hm.", reasoningOpaque: "b3BhcXVl", encryptedContent: "ZW5j" };
		const [message] = read(says("Look.", { ...opaque, toolRequests: [request("a")], outputTokens: 7 }));
		expect(message?.counted).toEqual(["Look.", "Hm.", "bash", '{"command":"ls"}']);
		expect(message?.calls).toEqual([{ id: "a", name: "bash" }]);
		expect(message?.thinking).toMatchObject([{ text: "Hm.", bound: false }]);
	});

	it("includes nothing of a sub-agent in any notation", () => {
		const older = says("Inner.", { parentToolCallId: "a" });
		const newer = { ...done("b"), agentId: "agent-1" };
		expect(texts([calls("a"), older, newer, done("a", { result: { content: "x" } })])).toHaveLength(2);
	});

	it("includes attached images by estimate", () => {
		const blob = { type: "blob", mimeType: "image/png", data: "AAAA" };
		const omitted = { type: "blob", mimeType: "image/png", omittedReason: "too_large" };
		const tokens = (...attachments: readonly unknown[]) =>
			read(event("user.message", { content: "x", attachments }))[0]?.mediaTokens ?? 0;
		expect(tokens(blob)).toBeGreaterThan(500);
		expect(tokens(omitted, { type: "file", path: "a" }, null, 7)).toBe(0);
	});

	it("one answer split over several events is one message with parallel calls", () => {
		const chunk = (id: string, apiCallId: string) => says(id, { apiCallId, toolRequests: [request(id)] });
		const messages = read(chunk("a", "1"), chunk("b", "1"), done("a"), done("b"), chunk("c", "2"), chunk("d", "3"));
		expect(messages.map((message) => message.calls.map(({ id }) => id))).toEqual([["a", "b"], [], [], ["c"], ["d"]]);
		expect(messages[0]?.paths).toEqual([[0], [1]]);
	});
});

describe("Copilot CLI: results", () => {
	const resultOf = (more: Json) => read(calls("a"), done("a", more))[1]?.results[0];

	it("parallel calls are one turn", async () => {
		const both = [calls("a", "b"), done("b"), done("a")];
		expect((await maskConversation({ conversation: log(...both), policy: masking })).edits).toEqual([]);
		const outcome = await maskConversation({ conversation: log(...both, ...turn("c")), policy: masking });
		expect(outcome.edits.map(({ path }) => path)).toEqual(["/1/data/result/content", "/2/data/result/content"]);
	});

	it("masks copies for the timeline and for telemetry too, but no arguments and numbers", async () => {
		const more = {
			result: {
				content: outputOf("a"),
				detailedContent: outputOf("a"),
				contents: [{ type: "terminal", text: outputOf("a"), exitCode: 0, cwd: "/home/me" }],
			},
			toolTelemetry: { metrics: { exit_code: 0 }, restrictedProperties: { answer: outputOf("a"), command: "ls" } },
		};
		const conversation = log(calls("a"), done("a", more), ...turn("b"));
		const outcome = await maskConversation({ conversation, policy: masking });
		expect(outcome.edits.map(({ path }) => path)).toEqual([
			"/1/data/result/content",
			"/1/data/result/detailedContent",
			"/1/data/result/contents/0/text",
			"/1/data/toolTelemetry/restrictedProperties/answer",
		]);
		expect(JSON.stringify(valueAt(outcome.conversation, [1]))).not.toContain("quick brown fox");
		expect(outcome.report.masked_tool_results).toBe(1);
	});

	it("a failure is an error with the error's message as its text", () => {
		const failure = resultOf({
			success: false,
			result: undefined,
			error: { message: "Path does not exist", code: "failure" },
		});
		expect(failure).toMatchObject({ isError: true, texts: [{ text: "Path does not exist" }] });
		expect(failure?.whole?.path).toEqual([1, "data", "error", "message"]);
		expect(resultOf({ success: false })).toMatchObject({ isError: true, texts: [{ text: outputOf("a") }] });
		expect(resultOf({})?.isError).toBe(false);
		expect(resultOf({ success: undefined })?.isError).toBeUndefined();
	});

	it.each([[undefined], [null], [{}], [{ content: null }], ["text"]])("does not mask a result %j", (result) => {
		expect(resultOf({ result })).toMatchObject({ texts: [], whole: undefined });
	});

	it("binaries become a note of their removal when the policy masks media, once", async () => {
		const image = { type: "image", mimeType: "image/png", data: "AAAA" };
		const omitted = {
			type: "image",
			mimeType: "image/png",
			byteLength: 9,
			omittedReason: "too_large",
			description: "x",
		};
		const reference = { type: "resource", mimeType: "application/pdf", byteLength: 9, assetId: "sha256:0" };
		const more = { result: { content: outputOf("a"), binaryResultsForLlm: [image, omitted, reference] } };
		const conversation = log(calls("a"), done("a", more), ...turn("b"));
		const [, answer] = readConversation(conversation).transcript.messages;
		expect(answer?.results[0]).toMatchObject({
			whole: undefined,
			media: [
				{ kind: "image", mediaType: "image/png", bytes: 3 },
				{ kind: "document", mediaType: "application/pdf", bytes: 9 },
			],
		});
		const policy = policyOf({ mask: { window_turns: 1 }, media: "mask" });
		const outcome = await maskConversation({ conversation, policy });
		expect(outcome.error).toBeUndefined();
		expect(valueAt(outcome.conversation, [1, "data", "result", "binaryResultsForLlm"])).toEqual([
			{
				type: "image",
				mimeType: "image/png",
				byteLength: 3,
				omittedReason: "asset_unavailable",
				description: expect.any(String),
			},
			omitted,
			{ ...reference, assetId: undefined, omittedReason: "asset_unavailable", description: expect.any(String) },
		]);
		expect((await maskConversation({ conversation: outcome.conversation, policy })).edits).toEqual([]);
	});
});

describe("Copilot CLI: content no longer sent", () => {
	const compacted = event("session.compaction_complete", { success: true, summaryContent: "We listed files." });
	const compacting = event("session.compaction_start");

	it("excludes messages before a compaction, but keeps its summary, the prompt, and messages written during it", () => {
		const events = [system("Prompt."), user("Go."), ...turn("a"), compacting, user("Wait."), compacted, user("Go on.")];
		const messages = read(...events);
		expect(messages.map(({ role }) => role)).toEqual(["system", "user", "system", "user"]);
		expect(messages.map(({ counted }) => counted[0])).toEqual([
			"Prompt.",
			"<now/>\n\nWait.",
			"We listed files.",
			"<now/>\n\nGo on.",
		]);
	});

	it("ignores a failed compaction, one of a sub-agent, and a truncation", () => {
		const failed = event("session.compaction_complete", { success: false, error: "x" });
		const inner = { ...compacted, agentId: "agent-1" };
		const truncated = event("session.truncation", { messagesRemovedDuringTruncation: 2 });
		expect(read(user("Go."), compacting, failed, inner, truncated, user("Go on."))).toHaveLength(2);
	});

	it("excludes messages before the context was cleared", () => {
		expect(texts([user("Go."), event("session.context_cleared", { initialMessage: "Begin." }), user("b")])).toEqual([
			"Begin.",
			"<now/>\n\nb",
		]);
		expect(texts([user("Go."), event("session.context_cleared"), user("b")])).toEqual(["<now/>\n\nb"]);
	});

	it("excludes messages undone by a rewind", () => {
		const rewind = (to: unknown) => event("session.snapshot_rewind", { upToEventId: to, eventsRemoved: 1 });
		expect(texts([user("a"), user("b"), rewind("e1"), user("c"), rewind("e3"), user("d")])).toEqual([
			"<now/>\n\na",
			"<now/>\n\nd",
		]);
		expect(texts([user("a"), user("b"), rewind("e1"), rewind("e0"), user("d")])).toEqual(["<now/>\n\nd"]);
		for (const to of ["gone", "e9", null, 7]) expect(texts([user("a"), rewind(to), user("b")])).toHaveLength(2);
	});

	it("is never restored by the guard, which links the remaining events", async () => {
		const conversation = log(
			start,
			user("Go."),
			...turn("a"),
			compacting,
			compacted,
			...turn("b"),
			...turn("c"),
			user("End."),
		);
		const policy = policyOf({ preset: "context-guard", guard: { reserve_tokens: 0 } });
		for (const contextWindow of [50, 700]) {
			const outcome = await guardConversation({ conversation, policy, contextWindow });
			expect(outcome.error).toBeUndefined();
			const events = outcome.conversation as LogEvent[];
			expect(events.map(({ type }) => type)).toContain("session.compaction_complete");
			expect(events.length).toBeLessThan(conversation.length);
			expect(events.map(({ parentId }) => parentId)).toEqual([null, ...events.slice(0, -1).map(({ id }) => id)]);
		}
	});
});

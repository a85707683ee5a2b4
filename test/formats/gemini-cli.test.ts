import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { geminiStream } from "../../src/formats/event-streams.ts";
import { geminiCli } from "../../src/formats/gemini-cli.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const masking = policyOf({ mask: { window_turns: 1 } });
const header = { sessionId: "s", projectHash: "h", startTime: "2026-01-01T00:00:00.000Z", kind: "main" };
const user = (id: string, text = "Look.") => ({ id, type: "user", content: [{ text }] });
const call = (id: string, more: object = {}) => ({
	id,
	name: "read_file",
	args: { path: "a.txt" },
	result: [{ functionResponse: { id, name: "read_file", response: { output: outputOf(id) } } }],
	status: "success",
	resultDisplay: outputOf(id),
	...more,
});
const gemini = (id: string, ...toolCalls: object[]) => ({ id, type: "gemini", content: "Let me see.", toolCalls });
const sent = (records: readonly unknown[]) =>
	readConversation(records).transcript.messages.filter((message) => message.sent !== false);

describe("Gemini CLI chats", () => {
	it("masks the result and its display together, in a chat and in a file of records", async () => {
		const messages = [
			user("u"),
			gemini("g1", call("a")),
			{ type: "info", content: "Update." },
			gemini("g2", call("b")),
		];
		for (const document of [{ ...header, messages }, [header, ...messages, { $set: { lastUpdated: "now" } }]]) {
			expect(readConversation(document).format).toBe(geminiCli);
			const { conversation, report, error } = await maskConversation({ conversation: document, policy: masking });
			expect(error).toBeUndefined();
			expect(report.masked_tool_results).toBe(1);
			const text = JSON.stringify(conversation);
			expect(text).not.toContain(JSON.stringify(outputOf("a")));
			expect(text.split(JSON.stringify(outputOf("b")))).toHaveLength(3);
		}
	});

	it("sends the last record of an id, and nothing that was rewound", () => {
		const records = [header, user("u"), gemini("g1", call("a")), gemini("g1", call("a"), call("b")), user("v")];
		expect(sent(records).map(({ calls }) => calls.length)).toEqual([0, 2, 0]);
		expect(sent([...records, { $rewindTo: "v" }, user("w")])).toHaveLength(3);
		expect(sent([...records, { $rewindTo: "unknown" }])).toHaveLength(3);
	});

	/** As Gemini CLI 0.61.0 records a call: a draft, the record that replaces it, and the result once more. */
	const newer = (id: string) => [
		{ id: `g${id}`, type: "gemini", content: "I look." },
		gemini(`g${id}`, call(id)),
		{ id: `r${id}`, type: "user", content: call(id).result },
	];

	it("masks a result that is recorded a second time, in both places", async () => {
		const context = user("c", "<session_context>\nThe date.");
		const document = [header, { $set: { messages: [context] } }, user("u"), ...newer("a"), ...newer("b")];
		expect(sent(document).map(({ calls, results }) => [calls.length, results.length])).toEqual([
			[0, 0],
			[1, 1],
			[0, 1],
			[1, 1],
			[0, 1],
		]);
		const { conversation, report } = await maskConversation({ conversation: document, policy: masking });
		expect(report.masked_tool_results).toBe(2);
		expect(JSON.stringify(conversation)).not.toContain(JSON.stringify(outputOf("a")));
	});

	it("reads messages that a change puts in the place of all before it", async () => {
		const rewritten = ["a", "b"].flatMap((id) => [
			{ id: `n${id}`, type: "gemini", content: [{ functionCall: { id, name: "read_file", args: {} } }] },
			{ id: `s${id}`, type: "user", content: call(id).result },
		]);
		const document = [header, user("u"), ...newer("a"), { $set: { messages: [user("v"), ...rewritten] } }];
		expect(sent(document).map(({ calls, results }) => [calls.length, results.length])).toEqual([
			[0, 0],
			[1, 0],
			[0, 1],
			[1, 0],
			[0, 1],
		]);
		const { conversation } = await maskConversation({ conversation: document, policy: masking });
		const { $set } = (conversation as unknown[]).at(-1) as { $set: { messages: unknown[] } };
		const texts = $set.messages.map((message) => JSON.stringify(message));
		expect(texts.map((text) => text.includes("quick brown"))).toEqual([false, false, false, false, true]);
	});

	it("drops a draft with the record that replaced it", async () => {
		const document = [header, user("u"), ...["a", "b", "c", "d"].flatMap(newer), user("v")];
		const policy = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 } });
		const { conversation, report, error } = await guardConversation({
			conversation: document,
			policy,
			contextWindow: 3_000,
		});
		expect([error, report.fits]).toEqual([undefined, true]);
		expect(report.dropped_messages).toBeGreaterThan(0);
		const drafts = sent(conversation as unknown[]).filter(
			({ role, calls }) => role === "assistant" && calls.length === 0,
		);
		expect(drafts).toEqual([]);
	});

	it("reads failed, cancelled and unanswered calls", () => {
		const failed = { result: [{ functionResponse: { response: { error: "No such file." } } }], status: "error" };
		const messages = sent([
			user("u"),
			gemini("g", call("a", failed), call("b", { status: "cancelled" }), call("c", { result: null }), call("d")),
		]);
		expect(messages[1]?.calls).toHaveLength(4);
		expect(messages[1]?.results.map(({ isError }) => isError)).toEqual([true, true, undefined]);
	});

	it("reads files next to the response of a call, and the usage of an answer", () => {
		const image = { inlineData: { mimeType: "image/png", data: "AAAA" } };
		const result = [{ functionResponse: { response: { output: "Read." } } }, image, { text: "beside" }];
		const [, message] = sent([
			user("u"),
			{ ...gemini("g", call("a", { result })), tokens: { input: 90, cached: 60 }, model: "some-model" },
		]);
		expect(message?.results).toMatchObject([{ whole: undefined, media: [{ kind: "image" }] }]);
		expect(message?.counted.join()).toContain("beside");
		expect(message?.usage).toEqual({ inputTokens: 90, cachedTokens: 60, model: "some-model" });
	});
});

describe("Gemini CLI streams", () => {
	const use = (tool_id: string) => ({ type: "tool_use", tool_name: "ls", tool_id, parameters: {} });
	const stream = [
		{ type: "init", session_id: "s", model: "some-model" },
		{ type: "message", role: "user", content: "Look." },
		{ type: "message", role: "assistant", content: "Let me ", delta: true },
		{ type: "message", role: "assistant", content: "see.", delta: true },
		use("a"),
		use("b"),
		{ type: "tool_result", tool_id: "a", status: "success", output: outputOf("a") },
		{ type: "tool_result", tool_id: "b", status: "error", error: { type: "x", message: "No such file." } },
		{ type: "result", status: "success", stats: {} },
	];

	it("joins the pieces and calls of an answer, and reads errors", () => {
		const { format, transcript } = readConversation(stream);
		expect(format).toBe(geminiStream);
		const [, answer, , failure] = transcript.messages;
		expect(transcript.messages).toHaveLength(4);
		expect(answer).toMatchObject({ paths: [[2], [3], [4], [5]], calls: [{ id: "a" }, { id: "b" }] });
		expect(failure?.results).toMatchObject([{ isError: true, texts: [{ path: [7, "error", "message"] }] }]);
	});
});

import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { splitFrames } from "../../src/engine/compaction/summary.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { handover } from "../support/stand-in-summariser.ts";
import { compactSession, contentOf, firstText, type StdioCompactSession, summaryOf } from "./compact-session.ts";

const messages = agentConversation(12);
const strategy = "llm-summary";
let session: StdioCompactSession;

beforeAll(async () => {
	session = await compactSession({ sampling: true });
});
beforeEach(() => {
	session.sampled.length = 0;
	session.received.length = 0;
	session.answer(() => summaryOf(handover));
});

const compact = (parameters: object = {}, options = {}) =>
	session.call("compact_conversation", { messages, strategy, ...parameters }, options);

describe("a client with a model", () => {
	it("is asked once, and its framed answer replaces only the old messages", async () => {
		const { messages: after, report } = contentOf(await compact());
		expect(session.sampled).toHaveLength(1);
		const [request] = session.sampled;
		expect(request).toMatchObject({ maxTokens: 2_000, includeContext: "none" });
		expect(Object.keys(request ?? {}).sort()).toEqual(["includeContext", "maxTokens", "messages"]);
		expect(request?.messages).toHaveLength(1);
		const prompt = request?.messages[0]?.content.text ?? "";
		expect(prompt).toMatch(/file 0 line 0:[\s\S]*file 10 line 0:/);
		expect(prompt).not.toContain("file 11 line");

		expect(after).toHaveLength(4);
		expect([after[0], after[2], after[3]]).toEqual([messages[0], ...messages.slice(-2)]);
		expect(after[1]?.role).toBe("user");
		const { own, frames } = splitFrames(after[1]?.content ?? "");
		expect(own).toBe(messages[1]?.content);
		expect(frames).toMatchObject([{ summary: handover, ref: undefined }]);
		expect(report).toMatchObject({
			changed: true,
			result: "summarised",
			summary: { by: "sampling", messages: messages.length - 4, parts: 1 },
		});
	});

	it("is not asked when hiding results is enough", async () => {
		const { report } = contentOf(await compact({ strategy: "hiding-then-summary", respond_with: "report" }));
		expect(report).toMatchObject({ result: "hidden", masked_tool_results: 7 });
		expect(session.sampled).toEqual([]);
	});

	it("is skipped when the policy puts the caller first", async () => {
		const policy = { compaction: { answered_by: ["caller", "sampling"] } };
		expect(contentOf(await compact({ policy })).summary_request).toMatchObject({ messages: { count: 22 } });
		expect(session.sampled).toEqual([]);
	});

	it("is asked for a shorter summary when its answer was truncated", async () => {
		session.answer(({ messages: { length } }) =>
			length === 1 ? summaryOf("It was all ab", "maxTokens") : summaryOf(handover),
		);
		const { messages: after } = contentOf(await compact());
		expect(after[1]?.content).toContain(handover);
		expect(session.sampled[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
		expect(session.sampled[1]?.messages[2]?.content.text).toBe(
			"[Système] Ta réponse a été tronquée (max_tokens atteint). Résume ta réponse de manière plus concise.",
		);
	});
});

describe("a client that gives no summary leaves the conversation unchanged", () => {
	const image = { type: "image", data: "AAAA", mimeType: "image/png" };
	const call = { type: "tool_use", id: "t", name: "bash", input: { command: secret } };
	const garbage: readonly (readonly [string, unknown, RegExp])[] = [
		["an empty text", summaryOf(""), /^\[unknown\] .*no text/],
		["white space", summaryOf(" \n\t "), /^\[unknown\] .*no text/],
		["an image", { ...summaryOf(""), content: image }, /^\[unknown\] .*content other than text/],
		["a tool call", { ...summaryOf(""), content: [call] }, /^\[unknown\] .*a tool call/],
		["a text and a tool call", { ...summaryOf(""), content: [{ type: "text", text: "Done." }, call] }, /a tool call/],
		["a number for content", { ...summaryOf(""), content: 7 }, /^\[unknown\] .*content that cannot be read/],
		["a number for text", { ...summaryOf(""), content: { type: "text", text: 7 } }, /^\[unknown\]/],
		["another shape", { text: secret }, /^\[unknown\] .*content that cannot be read/],
		["no result", {}, /^\[unknown\]/],
		["the markup of a tool call", summaryOf(`<tool_call>{"name":"${secret}"}</tool_call>`), /^\[summary_refused\]/],
		["a megabyte", summaryOf(`${secret} `.repeat(70_000)), /^\[summary_refused\] .* at most 200000 characters/],
		["more than it would replace", summaryOf(`${secret} word `.repeat(9_000)), /^\[summary_refused\] .*fewer than/],
	];
	it.each(garbage)("answers with %s", async (_what, result, words) => {
		session.answer(() => result);
		const answered = await compact();
		expect(answered.isError).toBe(true);
		expect(answered.structuredContent).toBeUndefined();
		expect(answered.content).toHaveLength(1);
		expect(firstText(answered)).toMatch(words);
		if (!firstText(answered).startsWith("[summary_refused]")) {
			expect(firstText(answered)).toMatch(/ \(status_code=none, is_retryable=false\)$/);
		}
		expect(session.received.join()).not.toContain(secret);
		expect(session.sampled).toHaveLength(1);
		session.answer(() => summaryOf(handover));
		expect(contentOf(await compact({ respond_with: "report" })).report).toMatchObject({ result: "summarised" });
	});

	it.each([
		[
			"refuses",
			new McpError(-1 as ErrorCode, `User rejected ${secret}`),
			"unknown",
			/declined.*\(JSON-RPC error -1\)/,
			false,
		],
		["fails", new Error(`${secret} is down`), "server_error", /failed to get an answer/, true],
		["rejects such parameters", new McpError(ErrorCode.InvalidParams, secret), "unknown", /does not accept/, false],
		["has no model", new McpError(ErrorCode.MethodNotFound, secret), "model_not_found", /no model/, false],
	])("%s", async (_what, error, code, words, isRetryable) => {
		session.answer(() => Promise.reject(error));
		const text = firstText(await compact());
		expect(text.startsWith(`[${code}] `)).toBe(true);
		expect(text).toMatch(words);
		expect(text.endsWith(` (status_code=none, is_retryable=${isRetryable})`)).toBe(true);
		expect(session.received.join()).not.toContain(secret);
		expect(session.sampled).toHaveLength(1);
	});

	it("that never answers and is cancelled by its user gets the cancellation and no answer, and the next call works", async () => {
		const controller = new AbortController();
		let told: () => void = () => {};
		const cancelled = new Promise<void>((resolve) => {
			told = resolve;
		});
		session.answer((_request, signal) => {
			signal.addEventListener("abort", told);
			controller.abort(`not wanted: ${secret}`);
			return new Promise(() => {});
		});
		await expect(compact({}, { signal: controller.signal })).rejects.toThrow("not wanted");
		await cancelled;
		session.answer(() => summaryOf(handover));
		expect(contentOf(await compact({ respond_with: "report" })).report).toMatchObject({ result: "summarised" });
		// A call that nobody waits for any more is no defect.
		expect(session.logged.filter(({ level }) => level === "error")).toEqual([]);
		expect(session.stderr()).not.toMatch(/error|failed/);
	});
});

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { splitFrames } from "../../src/engine/compaction/summary.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { type JsonMessage, openaiMessages, toolTurn, user } from "../support/script.ts";
import { handover } from "../support/stand-in-summariser.ts";
import {
	compactSession,
	contentOf,
	firstText,
	type StdioCompactSession,
	type SummaryRequestAnswer,
} from "./compact-session.ts";
import { type RecalledAnswer, structured } from "./recall-session.ts";

const messages = agentConversation(12);
const grown = [...messages, ...openaiMessages(toolTurn("call_12", "more"), user("Go on."))];
/** The summary that joins the task. */
const summaryIn = (document: readonly { readonly content?: unknown }[]) =>
	splitFrames(String(document[1]?.content)).frames[0]?.summary;

let session: StdioCompactSession;
beforeAll(async () => {
	session = await compactSession({ environment: { PALIMPSEST_ARCHIVE: "memory" } });
	await writeFile(join(session.folder, "chat.json"), JSON.stringify(messages, null, "\t"));
});

const call = (parameters: object) => session.call("compact_conversation", parameters);

/** Asks without a summary; the answer must be a request, and what is asked for must be said in words too. */
async function requested(parameters: object): Promise<SummaryRequestAnswer> {
	const answered = await call({ strategy: "llm-summary", ...parameters });
	const { summary_request: request, report, ...rest } = contentOf(answered);
	if (!request) throw new Error("Expected a request for a summary.");
	expect(rest).toEqual({});
	expect(report).toMatchObject({ changed: false, result: "summary_requested", tokens: { before: expect.any(Number) } });
	const { tool, arguments: next } = request.next_call;
	expect(firstText(answered)).toContain(`\n${tool} ${JSON.stringify(next)}\n`);
	expect(firstText(answered)).toContain(request.prompt);
	return request;
}

/** Makes the call that a request spells out, with the summary in its place and, where they came inline, the messages. */
async function answered({ next_call: next }: SummaryRequestAnswer, document?: unknown, summary = handover) {
	expect(next.tool).toBe("compact_conversation");
	expect(next.arguments.summary).toBe("<your summary>");
	expect("messages" in next.arguments).toBe(document !== undefined);
	if (document !== undefined) expect(next.arguments.messages).toBe("<the same messages>");
	const inline = document === undefined ? {} : { messages: document };
	return session.call(next.tool, { ...next.arguments, ...inline, summary });
}

describe("a client without a model of its own", () => {
	it("is asked by a small prompt, and the call spelled out in it inserts the summary", async () => {
		const request = await requested({ messages });
		expect(request).toMatchObject({
			summary_token: expect.stringMatching(/^2-23-[0-9a-f]{12}$/),
			max_summary_tokens: 2_000,
			messages: { first: 2, last: 23, count: 22, tokens: expect.any(Number) },
		});
		const countTokens = await loadCounter("o200k_base");
		expect(countTokens(request.prompt)).toBeLessThan(6_600);
		expect(request.prompt).toMatch(/\[3\] tool:[\s\S]*\[23\] tool:/);
		expect(request.prompt).not.toContain("[25] tool:");

		const { messages: after, report } = contentOf(await answered(request, messages));
		expect(after).toHaveLength(4);
		expect([after[0], after[2], after[3]]).toEqual([messages[0], ...messages.slice(-2)]);
		expect(summaryIn(after)).toBe(handover);
		expect(report).toMatchObject({ result: "summarised", summary: { by: "caller", messages: 22 } });
	});

	it("reads the summarised messages by the reference in the summary", async () => {
		const { messages: after, report } = contentOf(await answered(await requested({ messages }), messages));
		const { ref } = splitFrames(after[1]?.content ?? "").frames[0] ?? {};
		expect(report.summary).toMatchObject({ ref });
		const recalled = await session.call("recall_original", { ref, max_tokens: 20_000 });
		expect(JSON.parse(structured<RecalledAnswer>(recalled).text)).toEqual(messages.slice(2, 24));
	});

	it("repeats the policy, model, window and answer of the first call", async () => {
		const repeated = {
			respond_with: "edits",
			model: "gpt-4o",
			context_window: 9_000,
			force: true,
			policy: { locale: "en", compaction: { keep_last_messages: 4 } },
		};
		const request = await requested({ messages, ...repeated });
		expect(request.next_call.arguments).toMatchObject({ strategy: "llm-summary", ...repeated });
		expect(request.prompt).toContain("An agent");
		const { edits, report } = contentOf(await answered(request, messages));
		expect(edits.length).toBeGreaterThan(0);
		expect(report).toMatchObject({ context_window: 9_000, messages: { before: 26, after: 6 } });
	});

	it("may continue the conversation: the summary replaces only the messages that were sent for summarising", async () => {
		const request = await requested({ messages });
		const { messages: after } = contentOf(await answered(request, grown));
		expect(summaryIn(after)).toBe(handover);
		expect(after.slice(2)).toEqual(grown.slice(24));
	});

	it("gets an error when those messages are gone or changed", async () => {
		const request = await requested({ messages });
		const altered: JsonMessage[] = messages.with(5, { ...messages[5], content: "another result" });
		for (const document of [altered, messages.slice(0, 20), messages.toSpliced(2, 2), []]) {
			const stale = await answered(request, document);
			expect(stale.isError).toBe(true);
			expect(firstText(stale)).toMatch(/^\[stale_edit\] .*Call again without `summary` for a new request\.$/);
		}
	});

	it.each([
		["a made-up token", { summary: handover, summary_token: "latest" }, /^\[invalid_argument\] .*exactly as/],
		["a token without a summary", { summary_token: "2-23-000000000000" }, /^\[invalid_argument\] .*only together/],
		["a token of another conversation", { summary: handover, summary_token: "2-23-000000000000" }, /^\[stale_edit\]/],
		["an empty summary", { summary: " " }, /^\[summary_refused\] .*nothing that can be read/],
		["markup of a tool call", { summary: "<tool_call>x</tool_call>" }, /^\[summary_refused\] .*markup/],
		["the unfilled template", { summary: "<your summary>" }, /^\[invalid_argument\] Expected your own summary/],
	])("is refused %s", async (_what, parameters, words) => {
		expect(firstText(await call({ messages, ...parameters }))).toMatch(words);
	});

	it("may send a summary without being asked", async () => {
		const { messages: after, report } = contentOf(await call({ messages, summary: handover }));
		expect(summaryIn(after)).toBe(handover);
		expect(report).toMatchObject({ trigger: "forced", result: "summarised" });
	});

	it("is not asked when the policy asks no model: the guard fits the conversation into the window instead", async () => {
		const nobody = { messages, strategy: "llm-summary", policy: { compaction: { answered_by: ["none"] } } };
		const { report } = contentOf(await call({ ...nobody, context_window: 12_000 }));
		expect(report).toMatchObject({ result: "guarded", fits: true, budget_tokens: 3_808 });
		expect(firstText(await call(nobody))).toMatch(/^\[context_window_unknown\] No summariser is configured/);
	});

	it("is not asked when compaction is not due or nothing is left to summarise", async () => {
		const strategy = "llm-summary";
		const roomy = contentOf(await call({ messages, strategy, context_window: 100_000 }));
		expect(roomy.report).toMatchObject({ trigger: "not_due", result: "unchanged" });
		expect(roomy.messages).toEqual(messages);
		const short = contentOf(await call({ messages: messages.slice(0, 3), strategy, force: true }));
		expect(short.report).toMatchObject({ trigger: "forced", result: "unchanged" });
	});
});

describe("a conversation in a file", () => {
	const source = JSON.stringify(messages, null, "\t");

	it("is summarised and compacted by its path", async () => {
		const request = await requested({ path: "chat.json", respond_with: "messages" });
		const { messages: after } = contentOf(await answered(request));
		expect(summaryIn(after)).toBe(handover);
	});

	it("is written next to the input by default", async () => {
		const request = await requested({ path: "chat.json" });
		const { output_path: written, messages: inline } = contentOf(await answered(request));
		expect([written, inline]).toEqual([join(session.folder, "chat.compacted.json"), undefined]);
		expect(summaryIn(JSON.parse(await readFile(String(written), "utf8")))).toBe(handover);
	});

	it("is written to the path of the first call, and only by the second call", async () => {
		const output = join(session.folder, "compacted.json");
		const request = await requested({ path: "chat.json", output_path: "compacted.json" });
		await expect(readFile(output)).rejects.toMatchObject({ code: "ENOENT" });
		const { output_path: written, messages: inline } = contentOf(await answered(request));
		expect([written, inline]).toEqual([output, undefined]);
		const text = await readFile(output, "utf8");
		expect(summaryIn(JSON.parse(text))).toBe(handover);
		// Beside the summary every byte is the file's own.
		const task = JSON.stringify(messages[1]?.content);
		const start = source.indexOf(task) + task.length - 1;
		expect(text.slice(0, start)).toBe(source.slice(0, start));
		const tail = source.slice(source.lastIndexOf('{\n\t\t"role": "assistant"'));
		expect(tail).toContain("call_11");
		expect(text.endsWith(tail)).toBe(true);
		expect(await readFile(join(session.folder, "chat.json"), "utf8")).toBe(source);

		const again = await requested({ path: "chat.json", output_path: "compacted.json" });
		expect(firstText(await answered(again))).toMatch(/^\[file_exists\]/);
		const over = await requested({ path: "chat.json", output_path: "compacted.json", overwrite: true });
		expect(contentOf(await answered(over)).output_path).toBe(output);
	});
});

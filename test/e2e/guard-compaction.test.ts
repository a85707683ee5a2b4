import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { splitFrames } from "../../src/engine/compaction/summary.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { applyPlainly } from "../support/apply-plainly.ts";
import { openaiMessages, toolTurn } from "../support/script.ts";
import { handover } from "../support/stand-in-summariser.ts";
import { stdioSession } from "../support/stdio-session.ts";
import {
	compactSession,
	contentOf,
	type StdioCompactSession,
	type SummaryRequestAnswer,
	summaryOf,
} from "./compact-session.ts";

/** Ends with a result that is too large for the window, so that the guard has something to do after any compaction. */
const messages = [...agentConversation(12), ...openaiMessages(toolTurn("large", `${secret} word `.repeat(9_000)))];
const window = { context_window: 20_000, reserve_tokens: 1_000 };

let session: StdioCompactSession;
beforeAll(async () => {
	session = await compactSession({ sampling: true });
	await writeFile(join(session.folder, "chat.json"), JSON.stringify({ model: "m", messages }, null, 1));
});
beforeEach(() => {
	session.sampled.length = 0;
	session.answer(() => summaryOf(handover));
});

async function guard(policy: object, parameters: object = {}) {
	const given = { messages, ...window, policy, ...parameters };
	return contentOf(await session.call("guard_context", given));
}

const compacting = {
	guard: { max_messages: 28, auto_compact: true },
	compaction: { strategy: "llm-summary" },
};

describe("max_messages", () => {
	it.each([
		[28, true],
		[29, false],
	])("of %i is reported, and nothing is compacted without permission", async (limit, reached) => {
		const { report } = await guard({ ...compacting, guard: { max_messages: limit } });
		expect(report.max_messages).toEqual({ limit, messages: 28, reached });
		expect(report.compaction).toBeUndefined();
		const plain = await guard({});
		expect(plain.report.max_messages).toBeUndefined();
		expect((await guard({ guard: { max_messages: limit } })).messages).toEqual(plain.messages);
		expect(session.sampled).toEqual([]);
	});

	it("is not reached by fewer messages, and the model is not asked", async () => {
		const { report } = await guard({ ...compacting, guard: { max_messages: 29, auto_compact: true } });
		expect(report.compaction).toBeUndefined();
		expect(session.sampled).toEqual([]);
	});

	it("has a preset of its own", async () => {
		const { report } = await guard({ preset: "context-trim" });
		expect(report.max_messages).toEqual({ limit: 50, messages: 28, reached: false });
	});
});

describe("auto_compact", () => {
	it("compacts by the client's model, then guards, and reports both", async () => {
		const { messages: after, report } = await guard(compacting);
		expect(session.sampled).toHaveLength(1);
		expect(after).toHaveLength(4);
		expect([after[0], after[2]]).toEqual([messages[0], messages[26]]);
		expect(splitFrames(after[1]?.content ?? "").frames[0]?.summary).toBe(handover);
		expect(after[3]?.content).toMatch(/caractères omis/);
		expect(report).toMatchObject({
			changed: true,
			fits: true,
			messages: { before: 28, after: 4 },
			steps: [{ step: "truncate", count: 1 }],
			max_messages: { limit: 28, messages: 28, reached: true },
			compaction: { strategy: "llm-summary", result: "summarised", summary: { by: "sampling", messages: 24 } },
		});
	});

	it.each([
		["a summary, then a cut result", compacting, {}],
		["hidden results, then a cut result", { guard: compacting.guard }, {}],
		["hidden results, then dropped groups", { guard: compacting.guard }, { context_window: 3_000 }],
		[
			"a summary, then dropped groups",
			{ ...compacting, compaction: { strategy: "llm-summary", keep_last_messages: 8 } },
			{ context_window: 4_000 },
		],
		["a summary in a request body", compacting, { messages: { model: "m", messages, temperature: 0 } }],
		[
			"a request for a summary, which changes nothing",
			{ ...compacting, compaction: { strategy: "llm-summary", answered_by: ["caller"] } },
			{},
		],
		[
			"nobody to ask",
			{ ...compacting, compaction: { strategy: "llm-summary", answered_by: ["none"] } },
			{ context_window: 9_000 },
		],
	])("answers with edits of the input that produce the messages: %s", async (_what, policy, parameters) => {
		const whole = await guard(policy, parameters);
		const { edits, report } = await guard(policy, { ...parameters, respond_with: "edits" });
		expect(edits.length).toBeGreaterThan(0);
		const input = (parameters as { messages?: unknown }).messages ?? messages;
		expect(applyPlainly(input, edits)).toEqual(whole.messages);
		expect(report).toEqual(whole.report);
		expect(report.compaction).toMatchObject({ result: expect.any(String) });
	});

	it("writes a file that differs only in the edits", async () => {
		const source = await readFile(join(session.folder, "chat.json"), "utf8");
		const parameters = { messages: undefined, path: "chat.json" };
		await guard(compacting, { ...parameters, output_path: "guarded.json" });
		const text = await readFile(join(session.folder, "guarded.json"), "utf8");
		const { messages: whole } = await guard(compacting, { ...parameters, respond_with: "messages" });
		expect(JSON.parse(text)).toEqual(whole);
		const summary = text.indexOf("Read it all.") + "Read it all.".length;
		expect(text.slice(0, summary)).toBe(source.slice(0, summary));
	});

	it.each([
		["refuses", () => Promise.reject(new McpError(-1 as ErrorCode, secret)), "unknown"],
		["answers with a tool call", () => summaryOf(`<tool_call>${secret}</tool_call>`), "summary_refused"],
	])("continues without compaction when the model %s, and reports it", async (_what, sampler, code) => {
		const without = await guard({ ...compacting, guard: { max_messages: 28 } });
		session.answer(sampler);
		const { messages: after, report } = await guard(compacting);
		expect(after).toEqual(without.messages);
		const { compaction, ...rest } = report;
		expect(rest).toEqual(without.report);
		expect(compaction).toEqual({ result: "failed", code, message: expect.stringMatching(/^[A-Z].*\.$/) });
		expect(JSON.stringify(compaction)).not.toContain(secret);
	});

	it("returns the summary request only the caller can answer, and the call that inserts the summary", async () => {
		const asking = { ...compacting, compaction: { strategy: "llm-summary", answered_by: ["caller"] } };
		for (const respond_with of ["messages", "edits", "report"]) {
			const { report } = await guard(asking, { respond_with });
			const { request, ...compaction } = report.compaction as { readonly request: SummaryRequestAnswer };
			expect(compaction).toEqual({ strategy: "llm-summary", result: "summary_requested" });
			expect(request.prompt).toContain(`${secret} file 0`);
			const { tool, arguments: next } = request.next_call;
			expect(tool).toBe("compact_conversation");
			expect(next).toMatchObject({ messages: "<the same messages>", policy: asking, context_window: 20_000 });
			const answered = await session.call(tool, { ...next, messages, summary: handover });
			const { messages: after, report: told } = contentOf(answered);
			expect(told).toMatchObject({ result: "summarised", summary: { by: "caller", messages: 24 } });
			expect(splitFrames(after[1]?.content ?? "").frames[0]?.summary).toBe(handover);
		}
	});

	it("guards without a summary where compact_conversation is not offered to bring it", async () => {
		const { call } = await stdioSession({ parameters: ["--archive", "memory", "--tools", "guard_context"] });
		const answered = await call("guard_context", { messages, ...window, policy: compacting });
		const { report } = contentOf(answered);
		expect(report.changed).toBe(true);
		expect(report.compaction).toMatchObject({ result: expect.not.stringMatching("summary_requested") });
		expect(JSON.stringify(answered)).not.toContain("compact_conversation");
	});

	it("names the file again in that call", async () => {
		const asking = { ...compacting, compaction: { strategy: "llm-summary", answered_by: ["caller"] } };
		const { report } = await guard(asking, { messages: undefined, path: "chat.json", respond_with: "report" });
		const { request } = report.compaction as { readonly request: SummaryRequestAnswer };
		const { tool, arguments: next } = request.next_call;
		expect(next).toMatchObject({ path: "chat.json" });
		const given = { ...next, summary: handover, respond_with: "report" };
		expect(contentOf(await session.call(tool, given)).report).toMatchObject({ result: "summarised" });
	});

	it("stops when the call is cancelled, and the next call works", async () => {
		const controller = new AbortController();
		session.answer(() => {
			controller.abort("no longer wanted");
			return new Promise(() => {});
		});
		const parameters = { messages, ...window, policy: compacting };
		const call = session.call("guard_context", parameters, { signal: controller.signal });
		await expect(call).rejects.toThrow("no longer wanted");
		session.answer(() => summaryOf(handover));
		expect((await guard(compacting)).report.compaction).toMatchObject({ result: "summarised" });
		expect(session.logged.filter(({ level }) => level === "error")).toEqual([]);
	});
});

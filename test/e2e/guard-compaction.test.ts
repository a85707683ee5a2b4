import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { splitFrames } from "../../src/engine/compaction/summary.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
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

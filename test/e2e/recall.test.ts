import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { count } from "../../src/library.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";
import { type StdioSession, stdioSession } from "../support/stdio-session.ts";
import { type RecalledAnswer, recallSession, refsIn, structured, textOf } from "./recall-session.ts";

type Masked = { readonly messages: readonly { readonly content: string }[] };

const messages = agentConversation(10);
const originalOf = (turn: number) => String(messages[3 + 2 * turn]?.content);

describe("recall_original", () => {
	/** Holds the original of one call, a log of 40 lines. */
	let logged: StdioSession;
	beforeAll(async () => {
		logged = await recallSession({ lasts: "file" });
		const one = openaiMessages(user("go"), toolTurn("call_0", outputOf("log")), ...tail());
		await logged.call("mask_conversation", { messages: one });
	});

	it("reads the original of a placeholder word for word, by its ref and by its call", async () => {
		const session = await recallSession();
		const masked = structured<Masked>(await session.call("mask_conversation", { messages }));
		const refs = refsIn(masked.messages);
		expect(refs).toHaveLength(2);
		for (const [turn, ref] of refs.entries()) {
			const byRef = await session.call("recall_original", { ref });
			const answer = structured<RecalledAnswer>(byRef);
			expect(answer).toMatchObject({ ref, kind: "result", tool_name: "read_file", redactions: 0, next: null });
			expect(answer.text).toBe(originalOf(turn));
			const [line, ...rest] = textOf(byRef).split("\n");
			expect(line).toMatch(/^\[Original result of "read_file", kept \d{4}-\S+: all \d+ lines\]$/);
			expect(rest.join("\n")).toBe(originalOf(turn));
			const byCall = await session.call("recall_original", { tool_call_id: `call_${turn}` });
			expect(structured(byCall)).toEqual(answer);
		}
	});

	it("stays within its tokens, and `next` leads through the rest", async () => {
		const session = await recallSession();
		const long = openaiMessages(user("go"), toolTurn("call_0", outputOf("log", 2_000)), ...tail());
		const [ref = ""] = refsIn(structured<Masked>(await session.call("mask_conversation", { messages: long })).messages);
		let [read, parameters, calls]: [string, Record<string, unknown> | null, number] = [
			"",
			{ ref, max_tokens: 3_000 },
			0,
		];
		for (; parameters !== null && calls < 100; calls += 1) {
			const result = await session.call("recall_original", parameters);
			const { text, tokens, next, total } = structured<RecalledAnswer>(result);
			expect(tokens).toBeLessThanOrEqual(3_000);
			expect((await count(textOf(result))).tokens).toBeLessThanOrEqual(3_000);
			expect(result.structuredContent).toBeUndefined();
			expect(total.lines).toBe(2_000);
			if (next) expect(textOf(result)).toContain(`for more call recall_original ${JSON.stringify(next)}]\n`);
			read += text;
			parameters = next;
		}
		expect(read).toBe(outputOf("log", 2_000));
		expect(calls).toBeGreaterThan(5);
		const whole = structured<RecalledAnswer>(await session.call("recall_original", { ref }));
		expect(whole.tokens).toBeLessThanOrEqual(2_000);
		expect(whole.left_out_chars).toBe(outputOf("log", 2_000).length - whole.text.length);
	});

	it.each([
		[{ lines: "3-4" }, "log line 2: the quick brown fox jumps\nlog line 3: the quick brown fox jumps\n"],
		[{ head: 1 }, "log line 0: the quick brown fox jumps\n"],
		[{ tail: 1 }, "log line 39: the quick brown fox jumps"],
		[{ chars: "4-10" }, "line 0"],
		[
			{ grep: "line 1[45]", context: 0 },
			"15:log line 14: the quick brown fox jumps\n16:log line 15: the quick brown fox jumps\n",
		],
	])("reads only the part %j", async (part, text) => {
		const result = await logged.call("recall_original", { tool_call_id: "call_0", ...part });
		expect(structured<RecalledAnswer>(result).text).toBe(text);
		expect(textOf(result).slice(textOf(result).indexOf("\n") + 1)).toBe(text);
	});

	it("reads dropped messages as JSON, and the complete original of a truncated text", async () => {
		const session = await recallSession();
		const window = { context_window: 3_000, reserve_tokens: 500 };
		const { report } = structured<{ report: { dropped_groups: { ref: string; messages: number[] }[] } }>(
			await session.call("guard_context", { messages, ...window, respond_with: "report" }),
		);
		expect(report.dropped_groups.length).toBeGreaterThan(2);
		for (const { ref, messages: indexes } of report.dropped_groups) {
			const { kind, text } = structured<RecalledAnswer>(await session.call("recall_original", { ref }));
			expect(kind).toBe("group");
			expect(JSON.parse(text)).toEqual(indexes.map((index) => messages[index]));
		}
		const cut = await session.call("truncate_output", { text: outputOf("whole", 200), max_chars: 5_000 });
		const { text, ref } = structured<{ text: string; ref: string }>(cut);
		expect(refsIn(text)).toEqual([ref]);
		const parameters = { ref, max_tokens: 100_000 };
		const whole = structured<RecalledAnswer>(await session.call("recall_original", parameters));
		expect(whole).toMatchObject({ kind: "text", text: outputOf("whole", 200) });
	});

	it("works after a restart, since the server stores originals before it answers", async () => {
		const first = await recallSession();
		const masked = structured<Masked>(await first.call("mask_conversation", { messages }));
		await first.client.close();
		const second = await recallSession({ archive: first.archive });
		for (const [turn, ref] of refsIn(masked.messages).entries()) {
			expect(structured<RecalledAnswer>(await second.call("recall_original", { ref })).text).toBe(originalOf(turn));
		}
	});
});

it("when an original cannot be kept nothing is masked, unless the policy allows it", async () => {
	const file = join(await scratchFolder(), "file");
	await writeFile(file, "no folder");
	const archive = join(file, "archive");
	const refused = await (await recallSession({ archive })).call("mask_conversation", { messages });
	expect(textOf(refused)).toMatch(/^\[archive_unavailable\] .*something other than a folder is in its way/);
	const parameters = ["--set", "on_archive_failure=mask_without_recall"];
	const without = await (await recallSession({ archive, parameters })).call("mask_conversation", { messages });
	const { messages: masked, report } = structured<Masked & { report: { notes: string[] } }>(without);
	expect(masked[3]?.content).toMatch(/^\[Observation masquée: .*, chars=\d+\)\]$/);
	expect(report.notes).toContainEqual(expect.stringContaining("cannot be recalled"));
	expect(without.content.map(({ type }) => type)).toEqual(["text"]);
});

it("with --archive none there is no ref, tool or resource", async () => {
	const session = await stdioSession({ parameters: ["--archive", "none"] });
	const masked = structured<Masked>(await session.call("mask_conversation", { messages }));
	expect(refsIn(masked.messages)).toEqual([]);
	expect(JSON.stringify(masked)).not.toContain("réf=");
	expect((await session.client.listTools()).tools.map(({ name }) => name)).not.toContain("recall_original");
	expect(session.client.getInstructions()).not.toContain("recall");
	expect((await session.client.listResourceTemplates()).resourceTemplates).toHaveLength(1);
});

/** Nine turns after which an older one is masked. */
function tail() {
	return Array.from({ length: 9 }, (_, turn) => toolTurn(`later_${turn}`, "ok"));
}

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { truncationStrategies } from "../../src/engine/policy/names.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { answerText, type StdioSession, stdioSession } from "../support/stdio-session.ts";
import { recallSession, structured } from "./recall-session.ts";

const lines = Array.from({ length: 900 }, (_, index) => `value${index} is one of many lines`).join("\n");
let session: StdioSession;
let keeping: StdioSession;
beforeAll(async () => {
	keeping = await recallSession({ lasts: "file" });
	session = await stdioSession({ lasts: "file" });
});

describe("truncate_output with a strategy, over standard input and output", () => {
	it("cuts a text or a file as requested, within tokens, and reports the details", async () => {
		await session.client.listTools();
		const countTokens = await loadCounter("o200k_base");
		await writeFile(join(session.folder, "out.log"), lines);
		for (const strategy of truncationStrategies) {
			const parameters = { path: "out.log", max_tokens: 400, strategy, focus: "value500" };
			const result = await session.call("truncate_output", parameters);
			expect(result.isError).toBeUndefined();
			expect(JSON.parse(answerText(result))).toEqual(result.structuredContent);
			const { text, ...report } = result.structuredContent as { text: string; omitted_lines: string[] };
			expect(countTokens(text)).toBeLessThanOrEqual(400);
			expect(report).toMatchObject({
				truncated: true,
				tokens: { before: countTokens(lines), after: countTokens(text) },
				lines: { before: 900 },
			});
			expect(report.omitted_lines.length).toBeGreaterThan(0);
			if (strategy === "auto" || strategy === "focus") expect(text).toContain("\nvalue500 is");
		}
	});

	it.each([60, 500])(
		"keeps the complete answer within %i tokens, as structured content and as blocks",
		async (most) => {
			const countTokens = await loadCounter("o200k_base");
			const quoted = Array.from({ length: 900 }, (_, index) => `"value${index}":\t"is one of \\"many\\" lines"`).join(
				"\n",
			);
			for (const { call } of [session, keeping]) {
				const short = await call("truncate_output", { text: "a short text", max_tokens: most });
				expect(short.structuredContent).toMatchObject({ text: "a short text", truncated: false });
				for (const strategy of truncationStrategies) {
					const parameters = { text: quoted, max_tokens: most, strategy, policy: { locale: "en" } };
					const { isError, structuredContent, content } = await call("truncate_output", parameters);
					if (isError) {
						// Where a notice has to name a reference, fewer tokens than that takes are too few.
						expect(most).toBeLessThan(150);
						expect(answerText({ content })).toMatch(/`max_tokens` .* smallest that works here is \d+; got 60\./);
						continue;
					}
					const { text } = structuredContent as { text: string };
					// The notice with its reference, or only the mark in the gap.
					expect(text).toMatch(/left out|not shown|… lines \d+–\d+ (?:alike )?…/);
					const blocks = content as { text?: string }[];
					const forms = [
						JSON.stringify(structuredContent),
						blocks.map((block) => block.text ?? JSON.stringify(block)).join("\n"),
					];
					for (const form of forms) expect(countTokens(form), strategy).toBeLessThanOrEqual(most);
					const fills = strategy === "auto" || strategy === "focus" || strategy === "head_tail";
					if (fills && most >= 500) expect(Math.max(...forms.map(countTokens))).toBeGreaterThan(most * 0.9);
				}
			}
		},
	);

	it("names the original, from which recall_original reads the omitted part", async () => {
		const call = async (name: string, parameters: Record<string, unknown>) =>
			structured(await keeping.call(name, parameters));
		const parameters = { text: lines, max_chars: 3_000, strategy: "auto", policy: { locale: "en" } };
		const { text, ref, omitted_lines } = await call("truncate_output", parameters);
		expect(text).toMatch(/^\[Output shortened: .*, ref=\w+\] Intact, no error: read it with recall_original\.\n/);
		expect(text).toContain(`ref=${ref}]`);
		const [from, to] = String((omitted_lines as string[])[0])
			.split("-")
			.map(Number);
		const recalled = await call("recall_original", { ref, lines: `${from}-${(from ?? 0) + 2}` });
		expect(recalled.text).toContain(`value${from} is one of many lines`);
		expect(to).toBeGreaterThan((from ?? 0) + 100);
	});
});

it("guard_context cuts large results by the aim of their calls with the preset balanced", async () => {
	const output = Array.from({ length: 3_000 }, (_, index) => `value${index} is one of many lines`).join("\n");
	const messages = [
		{ role: "user", content: "Go on." },
		{
			role: "assistant",
			content: null,
			tool_calls: [{ id: "a", type: "function", function: { name: "grep", arguments: '{"pattern":"value1717"}' } }],
		},
		{ role: "tool", tool_call_id: "a", content: output },
	];
	const guarded = async (policy: object) => {
		const { structuredContent } = await session.call("guard_context", { messages, context_window: 200_000, policy });
		return (structuredContent as { messages: { content: string }[] }).messages[2]?.content ?? "";
	};
	const balanced = await guarded({ preset: "balanced" });
	expect(balanced).toMatch(/^\[Output shortened: /);
	expect(balanced).toContain("\nvalue1717 is");
	expect(balanced.length).toBeLessThanOrEqual(16_000);
	const headTail = await guarded({ truncate: { strategy: "head_tail" } });
	expect(headTail).toBe(
		`${output.slice(0, 2_000)}\n\n[... ${output.length - 4_000} caractères omis ...]\n\n${output.slice(-2_000)}`,
	);
});

import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { truncationStrategies } from "../../src/engine/policy/names.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreConversation } from "../../src/storage/restore/restore.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { brokenPromises } from "../support/promise-checker.ts";

const countTokens = await loadCounter("o200k_base");
const seen = { cuts: 0, kept: 0, restored: 0, again: 0 };

const rows = (length: number) =>
	Array.from({ length }, (_, id) => `row ${id}: value${id % 97} ERROR ${id % 13}`).join("\n");
const outputs = fc.oneof(
	fc.integer({ min: 1, max: 160 }).map(rows),
	fc
		.integer({ min: 5, max: 120 })
		.map((length) => JSON.stringify(Array.from({ length }, (_, id) => ({ id, size: id ** 9 })))),
	fc
		.integer({ min: 5, max: 90 })
		.map((length) => `<html><body>${Array.from({ length }, (_, id) => `<p>value${id}</p>`).join("\n")}</body></html>`),
	fc.integer({ min: 20, max: 300 }).map((length) => "\u001b[31mvalue7\u001b[0m is red\n".repeat(length)),
);
const turns = fc.array(fc.tuple(outputs, fc.constantFrom("value7", "value11", "size", "nothing"), fc.boolean()), {
	minLength: 2,
	maxLength: 6,
});

/** A conversation whose calls ask for something, each with its result. */
function conversationOf(script: readonly (readonly [string, string, boolean])[]) {
	return [
		{ role: "user", content: "Look for value3." },
		...script.flatMap(([output, query, speaks], turn) => [
			{
				role: "assistant",
				content: speaks ? `Now ${query}.` : null,
				tool_calls: [
					{ id: `call_${turn}`, type: "function", function: { name: "search", arguments: JSON.stringify({ query }) } },
				],
			},
			{ role: "tool", tool_call_id: `call_${turn}`, content: output },
		]),
	];
}

test.prop(
	[
		turns,
		fc.constantFrom(...truncationStrategies),
		fc.constantFrom(400, 900, 2_000),
		fc.constantFrom("fr", "en", "zh"),
	],
	{ numRuns: numberOfCases(70) },
)(
	"the guard keeps its promises with every strategy: it shrinks, only once, permanently, and everything is restored",
	async (script, strategy, max_tool_result_chars, locale) => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const policy = policyOf({
			locale,
			truncate: { strategy },
			guard: { max_tool_result_chars, truncate_head_chars: 100, truncate_tail_chars: 60, ladder: ["truncate"] },
		});
		const whole = deepFreeze(conversationOf(script));
		const guard = (conversation: unknown, memory?: "none") =>
			guardConversation({ conversation, policy, archive, contextWindow: 1_000_000, ...(memory ? { memory } : {}) });
		let before = new Map<string, unknown>();
		for (let end = 3; end <= whole.length; end += 2) {
			const outcome = await guard(whole.slice(0, end));
			expect(outcome.error).toBeUndefined();
			const now = new Map(outcome.edits.map(({ path, replacement }) => [JSON.stringify(path), replacement]));
			for (const [path, replacement] of before) expect(now.get(path), "what was cut stays so").toBe(replacement);
			seen.kept += before.size;
			before = now;
		}
		const fresh = await guard(whole, "none");
		const { conversation: after, edits } = fresh;
		expect(new Map(edits.map(({ path, replacement }) => [JSON.stringify(path), replacement]))).toEqual(before);
		expect(brokenPromises({ format: "openai-chat", before: whole, after, edits, countTokens })).toEqual([]);
		seen.cuts += edits.length;
		for (const { replacement, ref } of edits) {
			expect(String(replacement).length).toBeLessThanOrEqual(max_tool_result_chars);
			expect(String(replacement)).toContain(ref);
		}
		const again = await guard(after);
		expect(again.edits).toEqual([]);
		seen.again += edits.length > 0 ? 1 : 0;
		const back = await restoreConversation({ conversation: after, archive, policy });
		expect(back.conversation).toEqual(whole);
		seen.restored += back.report.restored;
		await archive.close();
	},
);

afterAll(() => {
	process.stderr.write(`${JSON.stringify(seen)}\n`);
	expect(seen.cuts).toBeGreaterThan(leastOfCases(60));
	expect(seen.kept).toBeGreaterThan(leastOfCases(100));
	expect(seen.again).toBeGreaterThan(leastOfCases(25));
	expect(seen.restored).toBeGreaterThanOrEqual(seen.cuts);
});

import { describe, expect, it } from "vitest";
import { planMask } from "../../../src/engine/masking/mask.ts";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";
import { placeholdersOf } from "../../../src/storage/restore/recognise.ts";
import { policyOf } from "../../support/policy-of.ts";
import { roughCount } from "../../support/rough-count.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

/** A tool turn: the words before the call, the call, and its result. */
type Turn = readonly [words: string, name: string, given: object, output: string];

const code = (name: string, lines: number) =>
	Array.from(
		{ length: lines },
		(_, line) => `export function ${name}Step${line}(input: Order) { return ${line}; }`,
	).join("\n");

/** A session in which files are read, searched, edited and read again, and tests fail until they pass. */
const turns: readonly Turn[] = [
	["Let me look.", "bash", { command: "ls src" }, "src/order.ts\nsrc/price.ts\nsrc/stock.ts\n".repeat(12)],
	["", "read", { path: "src/order.ts" }, code("order", 60)],
	["", "read", { path: "src/price.ts" }, code("price", 40)],
	[
		"I use orderStep7 and priceStep3 here.",
		"bash",
		{ command: "npm test" },
		`Exit code 1\n${"1 failed: orderStep7\n".repeat(40)}`,
	],
	["", "grep", { pattern: "orderStep7" }, "src/order.ts:7: orderStep7\n".repeat(30)],
	["Now orderStep7 again.", "edit", { path: "src/order.ts", old_string: "a", new_string: "b" }, "Edited src/order.ts."],
	["", "bash", { command: "npm test" }, `Exit code 1\n${"1 failed: priceStep3\n".repeat(50)}`],
	["priceStep3 it is.", "read", { path: "src/price.ts", offset: 3, limit: 4 }, code("price", 5)],
	["", "read", { path: "src/stock.ts" }, code("stock", 90)],
	["", "edit", { path: "src/price.ts", old_string: "a", new_string: "b" }, `Edited src/price.ts.\n${code("price", 6)}`],
	["", "bash", { command: "npm test" }, `Exit code 0\n${"ok\n".repeat(200)}`],
	["", "fetch", { url: "https://example.org/a" }, `A page about stockStep5. ${"Words of a page. ".repeat(150)}`],
	["stockStep5 needs work.", "bash", { command: "git diff" }, code("diff", 30)],
	["", "read", { path: "src/stock.ts" }, code("stock", 90)],
	["", "bash", { command: "cat missing.ts" }, "cat: missing.ts: No such file or directory"],
	["", "note", { text: "n" }, "ok"],
	["stockStep9 and stockStep5 and diffStep2.", "bash", { command: "git diff" }, code("diff", 30)],
	["", "fetch", { url: "https://example.org/b" }, "Other words of a page. ".repeat(200)],
	["", "read", { path: "src/late.ts" }, code("late", 70)],
	["lateStep4", "bash", { command: "npm run lint" }, "no problems\n".repeat(80)],
	["", "bash", { command: "npm test" }, "all passed\n".repeat(120)],
	["", "read", { path: "src/end.ts" }, code("end", 50)],
	["endStep1 is last.", "bash", { command: "git status" }, "nothing to commit\n".repeat(30)],
];

const session = [
	{ role: "system", content: "You are an agent." },
	{ role: "user", content: "Make the tests pass." },
	...turns.flatMap(([words, name, given, output], turn) => [
		{
			role: "assistant",
			content: words,
			tool_calls: [{ id: `c${turn}`, type: "function", function: { name, arguments: JSON.stringify(given) } }],
		},
		{ role: "tool", tool_call_id: `c${turn}`, content: output },
	]),
];

describe("results of a session that stay", () => {
	const keptBy = (mask: NonNullable<PolicyLayer["mask"]>) => {
		const policy = policyOf({ mask });
		const { edits, kept } = planMask({
			transcript: transcriptFrom(session),
			policy: policy.mask,
			media: policy.media,
			wording: wordings(policy),
			isPlaceholder: placeholdersOf(policy),
			countTokens: roughCount,
			replaying: { meter: { countTokens: roughCount, messageOverhead: 4 }, prices: policy.prices },
		});
		return { masked: edits.length, ...Object.fromEntries(Object.entries(kept).filter(([, count]) => count > 0)) };
	};

	it.each<[NonNullable<PolicyLayer["mask"]>, object]>([
		[{ window_turns: 3 }, { masked: 17, not_smaller: 3 }],
		[
			{ window_turns: 3, keep_errors: false },
			{ masked: 17, not_smaller: 3 },
		],
		[{ window_turns: 30 }, { masked: 0 }],
		[
			{ window_turns: 2, keep_last_k_per_tool: 3 },
			{ masked: 10, last_of_its_tool: 10, not_smaller: 1 },
		],
		[
			{ window_turns: 2, keep_errors: true, error_detection: "structural" },
			{ masked: 18, not_smaller: 3 },
		],
		[
			{ window_turns: 2, keep_last_k_per_tool: 1, tools: { bash: "always" } },
			{ masked: 15, last_of_its_tool: 4, not_smaller: 2 },
		],
		[{ window_turns: 0 }, { masked: 0 }],
		[{ window_turns: 3, enabled: false }, { masked: 0 }],
	])("%j are counted by their reason", (mask, expected) => {
		expect(keptBy(mask)).toEqual(expected);
	});
});

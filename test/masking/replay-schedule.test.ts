import { describe, expect, it } from "vitest";
import { planMask } from "../../src/masking/mask.ts";
import { replay } from "../../src/masking/replay.ts";
import type { PolicyLayer } from "../../src/policy/schema.ts";
import { wordings } from "../../src/policy/wordings.ts";
import { placeholdersOf } from "../../src/restore/recognise.ts";
import { policyOf } from "../support/policy-of.ts";
import { historyOf } from "../support/replay-history.ts";
import { roughCount } from "../support/rough-count.ts";
import { transcriptFrom } from "../support/transcripts.ts";

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

const session = (more: { readonly words?: boolean; readonly twice?: boolean } = {}) => {
	const all = more.twice ? [...turns, ...turns] : turns;
	return [
		{ role: "system", content: "You are an agent." },
		{ role: "user", content: "Make the tests pass." },
		...all.flatMap(([words, name, given, output], turn) => [
			...(turn % 7 === 3 && more.words ? [{ role: "user", content: "Go on, please." }] : []),
			{
				role: "assistant",
				content: words,
				tool_calls: [{ id: `c${turn}`, type: "function", function: { name, arguments: JSON.stringify(given) } }],
			},
			{ role: "tool", tool_call_id: `c${turn}`, content: output },
		]),
	];
};

interface Case {
	readonly mask: NonNullable<PolicyLayer["mask"]>;
	readonly prices?: NonNullable<PolicyLayer["prices"]>;
	readonly budget?: number;
	readonly slack?: number;
	readonly coldAt?: readonly number[];
	readonly addedToFault?: number;
	readonly twice?: boolean;
	readonly words?: boolean;
}

/** The results that are masked, by the number of messages before the call that first lacks them. */
function scheduleOf({ mask, prices = {}, coldAt, twice = false, words = false, ...how }: Case): string {
	const policy = policyOf({ mask, prices });
	const history = historyOf(transcriptFrom(session({ twice, words })), policy);
	const schedule = replay(history, {
		mask: policy.mask,
		prices: policy.prices,
		...how,
		...(coldAt ? { coldAt: new Set(coldAt) } : {}),
	});
	const byMoment = new Map<number, number[]>();
	for (const [place, moment] of Array.from(schedule).entries()) {
		if (moment !== Number.POSITIVE_INFINITY) byMoment.set(moment, [...(byMoment.get(moment) ?? []), place]);
	}
	return [...byMoment]
		.sort(([a], [b]) => a - b)
		.map(([moment, places]) => `${moment}: ${places.join(" ")}`)
		.join("; ");
}

const age = { selection: "age", keep_errors: false } as const;

describe("when the results of a session are masked", () => {
	it.each<[string, Case, string]>([
		[
			"every turn by age",
			{ mask: { ...age, window_turns: 3 } },
			"10: 0; 12: 1; 14: 2; 16: 3; 18: 4; 22: 6; 24: 7; 26: 8; 28: 9; 30: 10; 32: 11; 34: 12; 36: 13; 42: 16; 44: 17; 46: 18; 48: 19",
		],
		[
			"every turn by age, a window of one",
			{ mask: { ...age, window_turns: 1 } },
			"6: 0; 8: 1; 10: 2; 12: 3; 14: 4; 18: 6; 20: 7; 22: 8; 24: 9; 26: 10; 28: 11; 30: 12; 32: 13; 38: 16; 40: 17; 42: 18; 44: 19; 46: 20; 48: 21",
		],
		[
			"every turn by age, words of the user between",
			{ mask: { ...age, window_turns: 5 }, words: true },
			"15: 0; 17: 1; 19: 2; 21: 3; 23: 4; 28: 6; 30: 7; 32: 8; 34: 9; 36: 10; 38: 11; 41: 12; 43: 13; 49: 16; 51: 17",
		],
		[
			"errors stay by words",
			{ mask: { selection: "age", keep_errors: true, error_detection: "words", window_turns: 2 } },
			"8: 0; 10: 1; 12: 2; 14: 3; 16: 4; 20: 6; 22: 7; 24: 8; 26: 9; 28: 10; 30: 11; 32: 12; 34: 13; 40: 16; 42: 17; 44: 18; 46: 19; 48: 20",
		],
		[
			"errors stay until they are resolved",
			{ mask: { selection: "age", keep_errors: true, error_detection: "structural", window_turns: 2 } },
			"8: 0; 10: 1; 12: 2; 16: 4; 22: 7; 24: 3 6 8; 26: 9; 28: 10; 30: 11; 32: 12; 34: 13; 40: 16; 42: 17; 44: 18; 46: 19; 48: 20",
		],
		[
			"the last of each tool stay",
			{ mask: { ...age, window_turns: 2, keep_last_k_per_tool: 2 } },
			"16: 0; 18: 1; 20: 2; 24: 3; 28: 6; 30: 7; 32: 10; 36: 12; 40: 8; 44: 16; 46: 13; 48: 19",
		],
		[
			"rules for tools",
			{ mask: { ...age, window_turns: 6, tools: { fetch: "never", bash: "always", read: { keep_last: 2 } } } },
			"6: 0; 12: 3; 18: 1 6; 20: 2; 24: 4; 26: 10; 30: 7 12; 34: 9; 38: 16; 40: 8; 44: 19; 46: 13 20",
		],
		[
			"by strides",
			{ mask: { ...age, cadence: "stride", window_turns: 3, stride_turns: 4 } },
			"16: 0 1 2 3; 24: 4 6 7; 32: 8 9 10 11; 40: 12 13; 48: 16 17 18 19",
		],
		[
			"by strides, over a budget",
			{ mask: { ...age, cadence: "stride", window_turns: 2, stride_turns: 9 }, budget: 5_000 },
			"24: 0 1 2 3 4 6 7 8; 40: 9 10 11 12 13 16; 42: 17",
		],
		[
			"where it pays, by age",
			{ mask: { ...age, cadence: "break_even", window_turns: 3 } },
			"14: 0 1 2; 26: 3 4 6 7 8; 36: 9 10 11 12 13; 46: 16 17 18",
		],
		[
			"where it pays, by age, in a long session",
			{ mask: { ...age, cadence: "break_even", window_turns: 3 }, twice: true },
			"14: 0 1 2; 26: 3 4 6 7 8; 36: 9 10 11 12 13; 46: 16 17 18; 52: 19 20 21; 60: 22 23 24 25; 72: 26 27 29 30 31; 82: 32 33 34 35 36; 92: 39 40 41",
		],
		[
			"where it pays, with dear writing",
			{
				mask: { ...age, cadence: "break_even", window_turns: 3 },
				prices: { cache_write: 3, cache_read: 0.2 },
				twice: true,
			},
			"14: 0 1 2; 26: 3 4 6 7 8; 36: 9 10 11 12 13; 46: 16 17 18; 52: 19 20 21; 60: 22 23 24 25; 72: 26 27 29 30 31; 82: 32 33 34 35 36; 92: 39 40 41",
		],
		[
			"where it pays, with cheap writing",
			{
				mask: { ...age, cadence: "break_even", window_turns: 3 },
				prices: { cache_write: 0.5, cache_read: 0.4 },
				twice: true,
			},
			"10: 0; 12: 1; 14: 2; 16: 3; 18: 4; 22: 6; 24: 7; 26: 8; 28: 9; 30: 10; 32: 11; 34: 12; 36: 13; 42: 16; 44: 17; 46: 18; 48: 19; 50: 20; 52: 21; 54: 22; 56: 23; 58: 24; 60: 25; 62: 26; 64: 27; 68: 29; 70: 30; 72: 31; 74: 32; 76: 33; 78: 34; 80: 35; 82: 36; 88: 39; 90: 40; 92: 41; 94: 42",
		],
		[
			"where it pays, after a pause",
			{ mask: { ...age, cadence: "break_even", window_turns: 3 }, coldAt: [14, 30] },
			"14: 0 1 2; 26: 3 4 6 7 8; 30: 9 10; 36: 11 12 13; 46: 16 17 18",
		],
		[
			"where it pays, over a budget",
			{ mask: { ...age, cadence: "break_even", window_turns: 3 }, budget: 6_000 },
			"14: 0 1 2; 26: 3 4 6 7 8; 36: 9 10 11 12 13; 46: 16 17 18",
		],
		["never without a window", { mask: { ...age, window_turns: 0 } }, ""],
		["never if it is off", { mask: { ...age, enabled: false, window_turns: 3 } }, ""],
	])("%s", (_, given, expected) => {
		expect(scheduleOf(given)).toBe(expected);
	});
});

describe("results of a session that stay", () => {
	const keptBy = (mask: NonNullable<PolicyLayer["mask"]>) => {
		const policy = policyOf({ mask });
		const { edits, kept } = planMask({
			transcript: transcriptFrom(session()),
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

import { describe, expect, it } from "vitest";
import { focusWords } from "../../src/engine/truncation/focus.ts";
import { endShares, scoreLines } from "../../src/engine/truncation/line-worth.ts";
import {
	type LineFeatures,
	lineFeatures,
	lineWeights,
	type TextUnits,
	textUnits,
} from "../../src/engine/truncation/lines.ts";
import { selectUnits } from "../../src/engine/truncation/select.ts";
import { kinds, type RecallCase } from "../engine/truncation/recall-cases.ts";
import { shorten } from "../engine/truncation/shorten.ts";
import { fitLineWeights, type LineSample, lineSample } from "../support/fit-line-weights.ts";
import { noticesOf } from "../support/notices-of.ts";
import { hasRealData } from "../support/real-conversations.ts";
import {
	cutByAuto,
	gapClosed,
	measureShares,
	type RecallItem,
	type RecallShares,
	recallRef,
	recallSet,
	showShares,
} from "../support/recall-set.ts";

const leastTokens = 500;
const largeTokens = 2_000;
const budgets = { 2000: 0.1, 4000: 0.2, 8000: 0.25 } as const;
const marks = { wording: noticesOf("en"), ref: recallRef };
const say = (text: string) => process.stderr.write(text);

/** Ways to part the conversations into two halves: by their place in the list, and by chance. */
const splits: readonly ((conversation: number) => number)[] = [
	(conversation) => conversation % 2,
	...[7_919, 104_729, 1_299_709].map((seed) => (conversation: number) => {
		const mixed = Math.imul((conversation + 1) ^ seed, 0x9e3779b1);
		return ((mixed ^ (mixed >>> 15)) >>> 7) & 1;
	}),
];

interface Read {
	readonly strategy: string;
	readonly units: TextUnits;
	readonly features: LineFeatures;
}
const readBefore = new WeakMap<RecallCase, Read>();

/** What stands in a result, read once for all weights. */
function read(one: RecallCase): Read {
	const { text, focus } = one;
	let found = readBefore.get(one);
	if (!found) {
		const units = textUnits(text.toWellFormed());
		const { strategy } = shorten(text, 4_000, { focus });
		found = { strategy, units, features: lineFeatures(units, focusWords(focus)) };
		readBefore.set(one, found);
	}
	return found;
}

/** Cuts results as `auto` does, but for the weights of lines. */
function cutBy(weights: typeof lineWeights) {
	return (one: RecallCase, maxChars: number): string => {
		const { strategy, units, features } = read(one);
		if (strategy !== "focus") return cutByAuto(one, maxChars);
		const priority = scoreLines(units, features, { weights });
		const select = selectUnits({ units, priority, headShare: endShares.head, tailShare: endShares.tail, marks });
		return select(maxChars).text;
	};
}

describe.skipIf(!hasRealData)("line weights fitted on one half of the conversations", async () => {
	const items = await recallSet(leastTokens);
	const samples = new Map<RecallItem, LineSample>();
	const seen = new Set<string>();
	for (const item of items) {
		const { text, focus, shared } = item.found;
		const key = `${item.conversation} ${text}`;
		const isUsed = shared.identifiers.size + shared.lines.size > 0 || item.tokens > largeTokens;
		// What lines of logs, tables and JSON are worth is not found by these signs.
		if (seen.has(key) || !isUsed || shorten(text, text.length - 1, { focus }).strategy !== "focus") continue;
		seen.add(key);
		samples.set(item, lineSample(item.found));
	}
	const fitOn = (isTaken: (item: RecallItem) => boolean) =>
		fitLineWeights([...samples].flatMap(([item, sample]) => (isTaken(item) ? [sample] : [])));
	const large = items.filter(({ tokens }) => tokens > largeTokens);

	it("equal the product's weights when fitted on all", () => {
		const found = fitOn(() => true);
		say(`${JSON.stringify(found)}\n`);
		for (const [name, weight] of Object.entries(lineWeights)) {
			expect(found[name as keyof typeof lineWeights], name).toBeCloseTo(weight, 1);
		}
	});

	const sums = new Map<string, RecallShares>();
	it.each(splits.map((half, place) => ({ half, place })))(
		"close some of the gap on the other half (split $place)",
		({ half, place }) => {
			for (const side of [0, 1]) {
				const cut = cutBy(fitOn((item) => half(item.conversation) !== side));
				const cases = large.filter((item) => half(item.conversation) === side).map(({ found }) => found);
				for (const budget of Object.keys(budgets).map(Number)) {
					for (const kind of kinds) {
						const shares = measureShares({ cases, budget, kind, cut });
						say(showShares(`parting ${place}, half ${side}: ${budget}, ${kind}`, shares));
						expect(shares.kept).toBeGreaterThan(shares.headTail);
						const key = `${budget} ${kind}`;
						const before = sums.get(key) ?? { wanted: 0, headTail: 0, kept: 0, bound: 0 };
						for (const name of ["wanted", "headTail", "kept", "bound"] as const) before[name] += shares[name];
						sums.set(key, before);
					}
				}
			}
		},
		120_000,
	);

	it("close the required share of the gap, over all splits", () => {
		for (const [budget, least] of Object.entries(budgets)) {
			for (const kind of kinds) {
				const shares = sums.get(`${budget} ${kind}`) as RecallShares;
				say(showShares(`held out: ${budget}, ${kind}`, shares));
				expect(gapClosed(shares), `${budget} ${kind}`).toBeGreaterThanOrEqual(least);
			}
		}
	});
});

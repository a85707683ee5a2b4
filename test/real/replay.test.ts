import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import {
	clairvoyantOf,
	type Figures,
	figuresOf,
	ofAsMuchContext,
	optimaOf,
	replayAll,
	showFigures,
	sum,
} from "../support/development-set.ts";
import { policyOf } from "../support/policy-of.ts";
import { hasRealData } from "../support/real-conversations.ts";

const strides = Array.from({ length: 40 }, (_, index) => index + 1);
const raw = replayAll(policyOf({ mask: { enabled: false } }));
const measured = (layer: PolicyLayer) => figuresOf(replayAll(policyOf(layer)), raw);
const say = (text: string) => process.stderr.write(text);

describe.skipIf(!hasRealData)("policies on the development set, at prices of 0.1 and 1.25", () => {
	say(
		"| policy | billed × raw | worst | context × raw | identifiers | lines |\n| --- | --- | --- | --- | --- | --- |\n",
	);
	say(showFigures("raw", figuresOf(raw, raw)));

	it.each([true, false])(
		"break_even:8 bills at most 1.05 × the optimum, and × raw anywhere (errors kept: %s)",
		(kept) => {
			const layer = { mask: { window_turns: 8, keep_errors: kept } };
			const figures = measured({ mask: { ...layer.mask, cadence: "break_even" } });
			const optimum = sum(optimaOf(policyOf(layer)));
			const share = figures.billed / optimum;
			const errors = kept ? "" : ", errors go";
			say(`| optimum:8${errors} | ${(optimum / sum(raw.map(({ billed }) => billed))).toFixed(3)} | | | | |\n`);
			say(showFigures(`break_even:8${errors}`, figures, ` ${share.toFixed(3)} × optimum`));
			expect(share).toBeLessThanOrEqual(1.05);
			expect(figures.worstRatioToRaw).toBeLessThanOrEqual(1.05);
		},
	);

	it("selection by use, every turn, closes half the gap to the clairvoyant in no more context than window:16", () => {
		const policy = policyOf({ mask: { window_turns: 16 } });
		const replayed = replayAll(policy);
		const window = figuresOf(replayed, raw);
		const bound = {
			identifiers: clairvoyantOf(policy, replayed, "identifiers"),
			lines: clairvoyantOf(policy, replayed, "lines"),
		};
		const byUse = policyOf({ preset: "balanced", mask: { cadence: "every_turn" } });
		const ours = figuresOf(replayAll(byUse, { addedToFault: ofAsMuchContext }), raw);
		say(showFigures("window:16", window));
		say(
			`| clairvoyant | | | ${window.context.toFixed(3)} | ${bound.identifiers.toFixed(3)} | ${bound.lines.toFixed(3)} |\n`,
		);
		say(showFigures("by use, every turn", ours));
		expect(ours.context).toBeLessThanOrEqual(window.context);
		for (const kind of ["identifiers", "lines"] as const) {
			expect(ours[kind]).toBeGreaterThanOrEqual((window[kind] + bound[kind]) / 2);
		}
	});

	it("one thrift of balanced bills less and keeps more than each stride and window:8; the default does for most", () => {
		const settings = (["high", "medium", "low"] as const).map((thrift) => {
			const figures = measured({ preset: "balanced", mask: { thrift } });
			say(showFigures(`balanced, thrift ${thrift}`, figures));
			return { thrift, figures };
		});
		const rivals = [
			{ name: "window:8", figures: measured({ mask: { window_turns: 8 } }) },
			...strides.map((stride_turns) => {
				const figures = measured({ mask: { window_turns: 8, cadence: "stride", stride_turns } });
				if ([10, 16, 30, 40].includes(stride_turns)) say(showFigures(`stride:${stride_turns}`, figures));
				return { name: `stride:${stride_turns}`, figures };
			}),
		];
		const isBetter = (ours: Figures, theirs: Figures) =>
			ours.billed < theirs.billed && ours.identifiers > theirs.identifiers && ours.lines > theirs.lines;
		const unbeaten = rivals.filter((rival) => !settings.some(({ figures }) => isBetter(figures, rival.figures)));
		expect(unbeaten.map(({ name }) => name)).toEqual([]);
		const medium = settings[1]?.figures;
		const beaten = rivals.filter((rival) => medium && isBetter(medium, rival.figures)).map(({ name }) => name);
		say(`The default is better than ${beaten.length} of ${rivals.length}.\n`);
		expect(beaten).toContain("window:8");
		expect(beaten.length).toBeGreaterThan(rivals.length / 2);
	});
});

import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { clairvoyantRecall } from "../lab/clairvoyant.ts";
import {
	developmentSet,
	figuresOf,
	historyUnder,
	ofAsMuchContext,
	optimaOf,
	type Replayed,
	replayAll,
	sum,
} from "../support/development-set.ts";
import { policyOf } from "../support/policy-of.ts";
import { hasRealData } from "../support/real-conversations.ts";

const say = (text: string) => process.stderr.write(text);
const all = (layer: PolicyLayer) => replayAll(policyOf(layer));

/** Two halves of so many places, the same at each run: shuffled (Fisher and Yates) by a generator of fixed seed. */
function halvesOf(length: number, seed: number): readonly [ReadonlySet<number>, ReadonlySet<number>] {
	const places = Array.from({ length }, (_, index) => index);
	let state = seed;
	for (let last = length - 1; last > 0; last -= 1) {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		const other = Math.floor((state / 2 ** 32) * (last + 1));
		[places[last], places[other]] = [places[other] as number, places[last] as number];
	}
	return [new Set(places.slice(0, Math.ceil(length / 2))), new Set(places.slice(Math.ceil(length / 2)))];
}

describe.skipIf(!hasRealData)("the same figures on two random halves of the development set", () => {
	const raw = all({ mask: { enabled: false } });
	const window = all({ mask: { window_turns: 8 } });
	/** With about as much context as the selection by use. */
	const wide = all({ mask: { window_turns: 16 } });
	const breakEven = all({ mask: { window_turns: 8, cadence: "break_even" } });
	const optima = hasRealData ? optimaOf(policyOf({ mask: { window_turns: 8 } })) : [];
	const byUse = replayAll(policyOf({ preset: "balanced", mask: { cadence: "every_turn" } }), {
		addedToFault: ofAsMuchContext,
	});
	const balanced = (["high", "medium", "low"] as const).map((thrift) => all({ preset: "balanced", mask: { thrift } }));
	const rivals = [
		window,
		...Array.from({ length: 40 }, (_, index) =>
			all({ mask: { window_turns: 8, cadence: "stride", stride_turns: index + 1 } }),
		),
	];
	const boundsOf = (kind: "identifiers" | "lines") =>
		developmentSet.map((transcript, index) => {
			const history = historyUnder(transcript, policyOf({ mask: { window_turns: 16 } }));
			return clairvoyantRecall(history, { inputTokens: wide[index]?.inputTokens ?? 0, kind });
		});
	const bounds = { identifiers: boundsOf("identifiers"), lines: boundsOf("lines") };
	const halves = [1, 2].flatMap((seed) => halvesOf(raw.length, seed).map((half, which) => ({ seed, which, half })));

	const columns = [
		"half",
		"× optimum",
		"worst × raw",
		"context by use / window:16",
		"gap closed: identifiers",
		"lines",
	];
	const more = ["rivals beaten by some thrift", "by the default", "default × raw, with faults"];
	say(`| ${[...columns, ...more].join(" | ")} |\n`);

	it.each(halves)("split $seed, half $which", ({ seed, which, half }) => {
		const only = <Item>(items: readonly Item[]) => items.filter((_, index) => half.has(index));
		const figures = (replayed: readonly Replayed[]) => figuresOf(only(replayed), only(raw));
		const cadence = figures(breakEven);
		const toOptimum = cadence.billed / sum(only(optima));
		const ours = figures(byUse);
		const theirs = figures(wide);
		const gap = (kind: "identifiers" | "lines") => {
			const bound = sum(only(bounds[kind])) / sum(only(wide).map((one) => one[kind].used));
			return (ours[kind] - theirs[kind]) / (bound - theirs[kind]);
		};
		const settings = balanced.map(figures);
		const better = (mine: typeof ours, other: typeof ours) =>
			mine.withFaults < other.withFaults && mine.faults < other.faults;
		const unbeaten = rivals.filter((rival) => !settings.some((mine) => better(mine, figures(rival)))).length;
		const byDefault = rivals.filter((rival) => better(settings[1] as typeof ours, figures(rival))).length;
		const cells = [
			`${seed}${"ab"[which]}, ${half.size} conversations`,
			toOptimum.toFixed(3),
			cadence.worstRatioToRaw.toFixed(3),
			`${ours.context.toFixed(3)} / ${theirs.context.toFixed(3)}`,
			gap("identifiers").toFixed(2),
			gap("lines").toFixed(2),
			rivals.length - unbeaten,
			byDefault,
			`${settings[1]?.withFaults.toFixed(3)} at ${settings[1]?.faults.toFixed(2)}`,
		];
		say(`| ${cells.join(" | ")} |\n`);
		expect(toOptimum).toBeLessThan(1.08);
		expect(cadence.worstRatioToRaw).toBeLessThanOrEqual(1.05);
		for (const kind of ["identifiers", "lines"] as const) expect(gap(kind)).toBeGreaterThan(0.3);
		expect(better(settings[1] as typeof ours, figures(window))).toBe(true);
		expect(byDefault).toBeGreaterThan(rivals.length / 2);
	});
});

import { describe, expect, it } from "vitest";
import { chooseWithout, leftOut, type Point, type Setting } from "../lab/left-out.ts";
import { type Replayed, replayAll, replayRival, sources, sum } from "../support/development-set.ts";
import { policyOf } from "../support/policy-of.ts";
import { hasRealData } from "../support/real-conversations.ts";

const balanced = policyOf({ preset: "balanced" });
/** Input tokens that a fault counts as, beside its cost. */
const prices = Array.from({ length: 32 }, (_, step) => Math.round(1_000 * 1.17 ** step));
const triggers = [0, 20_000, 30_000, 40_000, 50_000, 60_000, 80_000, 100_000];
const kept = [1, 2, 3, 5, 7, 10, 15, 20];
const leastSizes = [0, 5_000, 10_000, 15_000, 20_000, 30_000, 40_000, 60_000];

/** Faults in 100 calls, at most, for thrift high, medium and low; and how much of that a choice may use up. */
const limits = [2.4, 0.8, 0.4];
const margins = [1, 0.8, 0.7, 0.35];

const names = [...new Set(sources)];
const bySource = (replayed: readonly Replayed[], of: (one: Replayed) => number) =>
	names.map((name) => sum(replayed.filter((_, index) => sources[index] === name).map(of)));
const raw = replayAll(policyOf({ mask: { enabled: false } }));
const rawBills = bySource(raw, ({ billed }) => billed);
const calls = bySource(raw, (one) => one.calls);
const measured = { rawBills, calls };

function settingOf(name: string, replayed: readonly Replayed[]): Setting {
	return {
		name,
		bills: bySource(replayed, (one) => one.billedWithFaults),
		faults: bySource(replayed, (one) => one.faults),
	};
}

/** The least bill at so many faults of any of the points, or of two in turns. */
function atFaults(points: readonly Point[], faults: number): number {
	const below = points.filter((point) => point.faults <= faults);
	const above = points.filter((point) => point.faults > faults);
	const mixed = below.flatMap((one) =>
		above.map((other) => {
			return one.ratio + ((other.ratio - one.ratio) * (faults - one.faults)) / (other.faults - one.faults);
		}),
	);
	return Math.min(...below.map(({ ratio }) => ratio), ...mixed);
}

describe.skipIf(!hasRealData)("the price of a fault, chosen on all sources but one and measured on that", () => {
	const ours = hasRealData
		? prices.map((price) => settingOf(`${price}`, replayAll(balanced, { addedToFault: price })))
		: [];
	const clears = (hasRealData ? triggers : []).flatMap((trigger) =>
		kept.flatMap((keep) =>
			leastSizes.map((atLeast) => {
				const replayed = replayRival({ kind: "clear", trigger, keep, atLeast }, balanced);
				return settingOf(`${trigger}:${keep}:${atLeast}`, replayed);
			}),
		),
	);
	const many = Array.from({ length: 40 }, (_, step) => 0.12 * 1.1 ** step);
	const clearsLeftOut = hasRealData
		? many.map((limit) => leftOut(measured, chooseWithout(measured, clears, limit)))
		: [];
	const shown = ({ ratio, faults }: Point) => `${ratio.toFixed(3)} at ${faults.toFixed(2)}`;
	const say = (...cells: readonly string[]) => process.stderr.write(`| ${cells.join(" | ")} |\n`);
	const titles = ["at most", "share used", "prices chosen", "balanced", "clear-ours, chosen", "at as many faults"];
	say(...titles);
	say(...titles.map(() => "---"));
	const rows = (hasRealData ? limits : []).flatMap((limit) =>
		margins.map((margin) => {
			const chosen = chooseWithout(measured, ours, limit * margin);
			const point = leftOut(measured, chosen);
			const rival = atFaults(clearsLeftOut, point.faults);
			const range = chosen.map(({ name }) => Number(name)).sort((a, b) => a - b);
			const clear = leftOut(measured, chooseWithout(measured, clears, limit * margin));
			const ends = `${range[0]} to ${range.at(-1)}`;
			say(`${limit}`, `${margin}`, ends, shown(point), shown(clear), rival.toFixed(3));
			return { limit, margin, point, rival };
		}),
	);

	it("bills at least 2 points of raw less than the best rule of three numbers at as many faults", () => {
		expect(rows).toHaveLength(limits.length * margins.length);
		for (const { point, rival } of rows) expect(rival - point.ratio).toBeGreaterThanOrEqual(0.02);
	});

	it("keeps within the limit of thrift high, and passes that of medium by one fault at most, where the others use up 0.7 of them", () => {
		const point = (limit: number) => rows.find((row) => row.limit === limit && row.margin === 0.7)?.point;
		expect(point(2.4)?.faults).toBeLessThanOrEqual(2.4);
		expect(point(2.4)?.ratio).toBeLessThanOrEqual(0.72);
		expect(point(0.8)?.faults).toBeLessThanOrEqual(0.83);
		expect(point(0.8)?.ratio).toBeLessThanOrEqual(0.785);
	});

	it("keeps within the limit of thrift low where the others use up 0.35 of it", () => {
		const low = rows.find(({ limit, margin }) => limit === 0.4 && margin === 0.35);
		expect(low?.point.faults).toBeLessThanOrEqual(0.4);
	});
});

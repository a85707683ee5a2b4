import { describe, expect, it } from "vitest";
import { meterFaults } from "../../src/engine/replaying/faults.ts";
import { type Rival, rivalSchedule } from "../../src/engine/replaying/rivals.ts";
import { arrivesWhole } from "../../src/operations/replay-arrival.ts";
import { ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { startArrivalSearch } from "../lab/arrival.ts";
import {
	conversations,
	figuresOf,
	historyArriving,
	pricesOf,
	replayAll,
	replayArrived,
	sources,
} from "../support/development-set.ts";
import { policyOf } from "../support/policy-of.ts";
import { hasRealData } from "../support/real-conversations.ts";

const search = await startArrivalSearch();
conversations.forEach((read, index) => {
	search.add(sources[index] as string, read);
});

describe.skipIf(!hasRealData)(
	"the characters to which results are cut as they arrive, chosen on all sources but one",
	() => {
		it("save two points of raw or more, at each price of a read, where 1 or 2.4 faults in 100 calls are allowed", () => {
			const rows = search.rows();
			process.stderr.write(search.table());
			for (const { price, limit, family, point } of rows) {
				if (family !== "two numbers" || limit < 1) continue;
				const nothing = rows.find((row) => row.price === price && row.limit === limit && row.family === "nothing");
				expect([price, limit, point.ratio < (nothing?.point.ratio ?? 0) - 0.02]).toEqual([price, limit, true]);
			}
		});
	},
);

describe.skipIf(!hasRealData)("balanced at three prices of a read, with and without cutting on arrival", () => {
	const thrifts = ["high", "medium", "low"] as const;
	const cases = [0.1, 0.05, 0.025].flatMap((cache_read) => thrifts.map((thrift) => ({ cache_read, thrift })));
	const titles = ["price of a read", "thrift", "masking alone", "median run", "with cuts", "median run"];
	process.stderr.write([titles, titles.map(() => "---")].map((row) => `| ${row.join(" | ")} |\n`).join(""));

	it.each(cases)(
		"a read at $cache_read, thrift $thrift: the cuts save, also in the median run",
		({ cache_read, thrift }) => {
			const prices = { cache_read };
			const raw = replayAll(policyOf({ mask: { enabled: false }, prices }));
			const policy = policyOf({ preset: "balanced", mask: { thrift }, truncate: { repeats: false }, prices });
			const [alone, cut] = [replayAll(policy), replayArrived(policy)].map((replayed) => {
				const ratios = replayed.map((one, index) => one.billedWithFaults / (raw[index]?.billed ?? 1));
				return { ...figuresOf(replayed, raw), median: medianOf(ratios) };
			});
			if (!alone || !cut) throw new Error("Expected both replays.");
			const cells = [alone, cut].flatMap(({ withFaults, faults, median }) => [
				`${withFaults.toFixed(3)} at ${faults.toFixed(2)}`,
				median.toFixed(3),
			]);
			process.stderr.write(`| ${[cache_read, thrift, ...cells].join(" | ")} |\n`);
			expect(cut.withFaults).toBeLessThan(alone.withFaults - 0.03);
			expect(cut.median).toBeLessThanOrEqual(thrift === "low" ? 1 : 0.93);
			expect(cut.faults).toBeLessThanOrEqual({ high: 2.4, medium: 1.1, low: 0.4 }[thrift]);
		},
	);
});

// Cuts alone, as lines that are in view are left out by no rule of `clear`.
const arrivals = {
	own: { repeats: false },
	of16000: { repeats: false, command_chars: 16_000 },
	whole: arrivesWhole,
};
const reads = [0.1, 0.05, 0.025];
const rules: readonly Rival[] = [0, 20_000, 30_000, 40_000, 50_000, 60_000, 80_000, 100_000].flatMap((trigger) =>
	[0, 1, 2, 3, 5, 7, 10, 15, 20].flatMap((keep) =>
		[0, 5_000, 10_000, 15_000, 20_000, 30_000, 40_000, 60_000].map((atLeast): Rival => {
			return { kind: "clear", trigger, keep, atLeast };
		}),
	),
);

describe.skipIf(!hasRealData)(
	"576 settings of clear with our placeholder, behind our cuts, cuts at 16 000 and none",
	() => {
		/** By price of a read: for each setting, and for each thrift, the bill with faults and the faults. */
		const points = new Map(
			reads.map((read) => [read, { rivals: new Map<string, Sums>(), ours: new Map<string, Sums>() }]),
		);
		for (const conversation of conversations) {
			for (const [name, truncate] of Object.entries(arrivals)) {
				const history = historyArriving(
					conversation,
					policyOf({ preset: "balanced", mask: { keep_errors: false }, truncate }),
				);
				for (const rule of rules) {
					const schedule = rivalSchedule(history, rule);
					for (const cache_read of reads) {
						const prices = pricesOf(conversation.transcript, policyOf({ prices: { cache_read } }));
						const { billed, faults } = meterFaults(history, schedule, ratesOfPrices(prices));
						addTo(points.get(cache_read)?.rivals, `${name} ${JSON.stringify(rule)}`, { billed, faults });
					}
				}
			}
		}
		for (const cache_read of hasRealData ? reads : []) {
			for (const thrift of ["high", "medium", "low"] as const) {
				const policy = policyOf({
					preset: "balanced",
					mask: { thrift },
					truncate: { repeats: false },
					prices: { cache_read },
				});
				for (const { billedWithFaults: billed, faults } of replayArrived(policy)) {
					addTo(points.get(cache_read)?.ours, thrift, { billed, faults });
				}
			}
		}

		it.each(reads)("none is below a thrift both in its bill with faults and in its faults: reads at %d", (read) => {
			const { rivals, ours } = points.get(read) as { rivals: Map<string, Sums>; ours: Map<string, Sums> };
			expect(rivals.size).toBe(3 * 576);
			for (const [thrift, own] of ours) {
				const below = [...rivals].filter(([, one]) => one.billed <= own.billed && one.faults <= own.faults);
				expect([thrift, below.map(([name]) => name)]).toEqual([thrift, []]);
			}
		});
	},
);

interface Sums {
	readonly billed: number;
	readonly faults: number;
}

function addTo(sums: Map<string, Sums> | undefined, name: string, { billed, faults }: Sums): void {
	const before = sums?.get(name) ?? { billed: 0, faults: 0 };
	sums?.set(name, { billed: before.billed + billed, faults: before.faults + faults });
}

function medianOf(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	const half = sorted.length / 2;
	return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
}

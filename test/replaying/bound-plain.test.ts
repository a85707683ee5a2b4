import { describe, expect, it } from "vitest";
import type { ReplayHistory } from "../../src/masking/history.ts";
import { leastBills } from "../../src/replaying/bound.ts";
import { meterFaults } from "../../src/replaying/faults.ts";
import { createDraw } from "../tokens/random-text.ts";
import { answer, type PlainMessage, plainHistory, tool, user } from "./plain-history.ts";

const prices = { read: 0.1, write: 1.25, output: 0.5, fault: 1 };
type Prices = typeof prices;

/** The least bill with a penalty for each fault, of the schedules that mask the only result that can be masked. */
function least(history: ReplayHistory, given: Prices, penalty: number): number {
	const { calls, results } = history;
	const place = results.findIndex(({ saves }) => saves > 0);
	const moments = calls.filter((call) => call > (results[place]?.message ?? 0)).slice(1);
	const bills = [...moments, Number.POSITIVE_INFINITY].map((moment) => {
		const schedule = results.map((_, index) => (index === place ? moment : Number.POSITIVE_INFINITY));
		const costOf = ({ input, cached }: { input: number; cached: number }) =>
			cached * given.read + (input - cached) * given.write;
		const free = meterFaults(history, schedule, { costOf, costOfOutput: (tokens) => tokens * given.output });
		const bare = meterFaults(
			{ ...history, uses: () => ({ identifiers: [], lines: [], touches: [], fresh: [] }) },
			schedule,
			{
				costOf,
				costOfOutput: () => 0,
			},
		);
		return bare.billed + given.fault * (free.billed - bare.billed) + penalty * free.faults;
	});
	return Math.min(...bills);
}

/** Turns of which one has a result that can be masked; the others cannot. A call may come back to it and to the next one. */
function oneResult(seed: number, uses: "identifiers" | "lines" | undefined): ReplayHistory {
	const draw = createDraw(seed);
	const turns = 3 + draw(5);
	const at = draw(turns - 2);
	const tokens = 20 + draw(3_000);
	const back = at + 2 + draw(turns - at - 1);
	const messages = Array.from({ length: turns }, (_, turn): PlainMessage[] => [
		answer({
			tokens: 1 + draw(50),
			cold: draw(6) === 0,
			...(uses && turn === back ? { [uses]: [[at], [at + 1]] } : {}),
		}),
		turn === at ? tool([tokens, 1 + draw(tokens)]) : tool([1 + draw(400), 0]),
		...(draw(4) === 0 ? [user(draw(90))] : []),
	]).flat();
	const last = answer(uses && back === turns ? { [uses]: [[at], [at + 1]] } : {});
	return plainHistory([user(draw(300)), ...messages, last], draw(100));
}

describe("leastBills", () => {
	it.each([
		["without uses", undefined, prices],
		["with a use", "identifiers", prices],
		["with a use of a line", "lines", { ...prices, output: 4 }],
		["with dearer faults", "identifiers", { ...prices, fault: 3 }],
		["where reading costs nearly as much as writing", "lines", { ...prices, read: 1.2 }],
	] as const)("is exact for a single result %s", (_what, uses, given) => {
		for (let seed = 1; seed <= 60; seed++) {
			const history = oneResult(seed, uses);
			const penalties = [0, 100, 1e7];
			const bills = leastBills(history, given, penalties);
			for (const [index, penalty] of penalties.entries()) {
				const exact = least(history, given, penalty);
				expect(bills[index], `${seed} ${penalty}`).toBeGreaterThan(0.999 * exact);
				expect(bills[index], `${seed} ${penalty}`).toBeLessThan(exact + 1e-6);
			}
		}
	});

	/** Many results, to which later calls come back. */
	function manyResults(): ReplayHistory {
		const draw = createDraw(41);
		const turns = Array.from({ length: 30 }, (_, turn): PlainMessage[] => {
			const old = Array.from({ length: turn > 2 && draw(3) === 0 ? 1 + draw(2) : 0 }, () => draw(turn - 1));
			const sizes = Array.from({ length: turn % 4 === 3 ? 2 : 1 }, () => {
				const tokens = 1_000 + draw(5_000);
				return [tokens, tokens - draw(60)] as const;
			});
			const held = old.length > 1 ? [old, [old[0] as number]] : [old];
			return [answer({ identifiers: old.length > 0 ? held : [] }), tool(...sizes)];
		});
		return plainHistory([user(200), ...turns.flat(), answer()], 50);
	}

	it("finds as good a bound as ever where uses compete", () => {
		const bills = leastBills(manyResults(), { ...prices, fault: 0.1 }, [0, 100, 400, 1_600, 1e6]);
		expect(bills.map((bill) => Math.round(bill * 10) / 10)).toEqual([184300.9, 184800.9, 186300.9, 192133.7, 203133.9]);
		const given = { ...prices, read: 0.3, write: 1, fault: 0.3 };
		expect(leastBills(manyResults(), given, [50, 800]).map((bill) => Math.round(bill * 10) / 10)).toEqual([
			182007.3, 185137.2,
		]);
	});
});

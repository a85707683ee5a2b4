import { describe, expect, it } from "vitest";
import type { ReplayHistory } from "../../../src/engine/masking/history.ts";
import { leastBills } from "../../../src/engine/replaying/bound.ts";
import { meterFaults } from "../../../src/engine/replaying/faults.ts";
import { createDraw } from "../../formats/tokens/random-text.ts";
import { answer, type PlainMessage, plainHistory, tool, user } from "./plain-history.ts";

const prices = { read: 0.1, write: 1.25, output: 0.5, fault: 1 };
type Prices = typeof prices;

/** The least bill with a penalty for each fault, of all schedules that show each result to a call. */
function least(history: ReplayHistory, given: Prices, penalty: number): number {
	const { calls, results } = history;
	let schedules: number[][] = [[]];
	for (const { message, saves } of results) {
		const moments = saves > 0 ? calls.filter((call) => call > message).slice(1) : [];
		schedules = [...moments, Number.POSITIVE_INFINITY].flatMap((moment) => schedules.map((some) => [...some, moment]));
	}
	const bills = schedules.map((schedule) => {
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

/**
 * A result of 2,000 tokens in the first turn of so many, and the calls whose answers come back to it, the first as 0: for a
 * line in the first of them, then for identifiers.
 */
function comingBack(turns: number, comesBack: readonly number[], cold: readonly number[]): ReplayHistory {
	const [first] = comesBack;
	const answerAt = (turn: number) =>
		answer({
			cold: cold.includes(turn),
			lines: turn === first ? [[0]] : [],
			identifiers: turn !== first && comesBack.includes(turn) ? [[0]] : [],
		});
	const messages = Array.from({ length: turns }, (_, turn): PlainMessage[] => [
		answerAt(turn),
		turn === 0 ? tool([2_000, 1_900]) : tool([100 + turn, 0]),
	]).flat();
	return plainHistory([user(70), ...messages, answerAt(turns)], 30);
}

function expectExact(history: ReplayHistory, given: Prices, what: string | number): void {
	const penalties = [0, 100, 1e7];
	const bills = leastBills(history, given, penalties);
	for (const [index, penalty] of penalties.entries()) {
		const exact = least(history, given, penalty);
		expect(bills[index], `${what} ${penalty}`).toBeGreaterThan(0.999 * exact);
		expect(bills[index], `${what} ${penalty}`).toBeLessThan(exact + 1e-6);
	}
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
			expectExact(oneResult(seed, uses), given, seed);
		}
	});

	it.each([
		["in one call", [5], []],
		["in two calls", [4, 9], []],
		["in calls before and after a pause", [4, 7, 12], [6, 10]],
		["before a pause, twice", [3, 5, 9], [8]],
		["in calls that one recall serves", [2, 22], []],
		["in calls that two recalls serve", [2, 23], []],
		["in the last call", [3, 26], [20]],
	] as const)("is exact for a single result that is used %s", (_what, comesBack, cold) => {
		for (const turns of [26, 27, 60]) {
			const history = comingBack(turns, comesBack, cold);
			for (const fault of [0.05, 0.3, 1]) {
				expectExact(history, { ...prices, fault }, `${turns} ${fault}`);
				expectExact(history, { read: 1, write: 1.25, output: 4, fault }, `${turns} ${fault}`);
			}
		}
	});

	it("counts no fault of the first call, which sees all that came before it", () => {
		const first = { role: "user", tokens: 20, results: [{ tokens: 900, saves: 800 }] } as const;
		const turns = Array.from({ length: 6 }, () => [answer(), tool([50, 0])]).flat();
		const history = plainHistory([first, answer({ identifiers: [[0]] }), tool([50, 0]), ...turns, answer()]);
		expect(least(history, prices, 1e7)).toBe(least(history, prices, 0));
		expectExact(history, prices, "first");
	});

	it("counts no fault for a string that a result holds too which cannot be masked", () => {
		const turns = Array.from({ length: 6 }, () => [answer(), tool([50, 0])]).flat();
		const held = [answer(), tool([900, 800]), answer(), tool([40, 0]), ...turns, answer({ lines: [[0, 1]] }), ...turns];
		const history = plainHistory([user(10), ...held, answer()]);
		expect(least(history, prices, 1e7)).toBe(least(history, prices, 0));
		expectExact(history, prices, "held");
	});

	it("is as near with a vast result that no call comes back to", () => {
		const vast = { role: "user", tokens: 20, results: [{ tokens: 1e12, saves: 9e11 }] } as const;
		const turns = Array.from({ length: 12 }, (_, turn) => {
			return [answer({ identifiers: turn === 8 ? [[1]] : [] }), turn === 0 ? tool([2_000, 1_900]) : tool([50, 0])];
		}).flat();
		const history = plainHistory([vast, ...turns, answer()]);
		for (const penalty of [0, 300, 1e7]) {
			const [bill] = leastBills(history, prices, [penalty]);
			expect(Math.abs((bill as number) - least(history, prices, penalty)), `${penalty}`).toBeLessThan(1);
		}
	});

	it("is as near with strings of many results that are never worth masking", () => {
		const small = Array.from({ length: 10 }, (_, place) => place);
		const turns = Array.from({ length: 40 }, (_, turn) => {
			const held = turn > 12 ? [small, small.slice(1), small.slice(2)] : [];
			const size = turn < 10 ? ([50, 1] as const) : ([50, 0] as const);
			return [answer({ identifiers: turn === 20 ? [[10]] : held }), tool(turn === 10 ? [2_000, 1_900] : size)];
		}).flat();
		const history = plainHistory([user(70), ...turns, answer()]);
		const worth = history.results.map((one) => (one.saves > 1 ? one : { ...one, saves: 0 }));
		for (const penalty of [0, 300, 1e7]) {
			const [bill] = leastBills(history, prices, [penalty]);
			const exact = least({ ...history, results: worth }, prices, penalty);
			// The least context of a fault has each of the small results masked: 10 tokens less.
			expect(Math.abs((bill as number) - exact), `${penalty}`).toBeLessThan(3);
		}
	});

	it("rewrites the rest of a message once if two of its results are masked together", () => {
		const both = { ...tool([2_000, 1_900], [1_500, 1_450]), tokens: 300 };
		const turns = Array.from({ length: 6 }, () => [answer(), tool([50, 0])]).flat();
		expectExact(plainHistory([user(10), answer(), both, ...turns, answer()]), prices, "both");
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

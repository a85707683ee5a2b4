import { describe, expect, it } from "vitest";
import { smallestOf, startFaultCosts } from "../../src/masking/fault-cost.ts";
import type { ReplayHistory, ReplayResult } from "../../src/masking/history.ts";
import type { Uses } from "../../src/masking/uses.ts";
import { policyOf } from "../support/policy-of.ts";
import { messageOf, transcriptOf } from "../support/transcripts.ts";

const { prices } = policyOf({ prices: { input: 1, cache_write: 2, cache_read: 0.1, output: 5 } });

const how = { prices, learns: false, calls: 8, addedToFault: 1_000 };

interface Given {
	/** Tokens of the result of each turn, and its tool. */
	readonly results: readonly (readonly [tokens: number, tool?: string])[];
	readonly fresh?: readonly number[];
	readonly stale?: readonly (number | undefined)[];
	/** By the turn whose answer makes the use: which results, with what weight. */
	readonly touches?: Readonly<Record<number, Uses["touches"][number]>>;
	readonly identifiers?: Readonly<Record<number, readonly (readonly number[])[]>>;
	readonly lines?: Readonly<Record<number, readonly (readonly number[])[]>>;
}

/** A history of turns, each an answer (message `2t`) and one result (message `2t + 1`). */
function historyOf({
	results,
	fresh = [],
	stale = [],
	touches = {},
	identifiers = {},
	lines = {},
}: Given): ReplayHistory {
	const messages = results.flatMap(() => [messageOf(), messageOf({ role: "tool" })]);
	const byMessage = <One>(given: Readonly<Record<number, readonly One[]>>) =>
		messages.map((_, index) => (index % 2 === 0 ? (given[index / 2] ?? []) : []));
	const taken = (given: Readonly<Record<number, readonly (readonly number[])[]>>) =>
		byMessage(given).map((all) => all.map((holders) => ({ text: "name", holders })));
	return {
		transcript: transcriptOf(...messages),
		messageTokens: messages.map(() => 0),
		surroundingTokens: 0,
		masked: new Set(),
		calls: [],
		cold: new Uint8Array(),
		firstResult: Int32Array.from({ length: messages.length + 1 }, (_, index) => Math.floor(index / 2)),
		opensTurn: Uint8Array.from(messages, (_, index) => 1 - (index % 2)),
		results: results.map(([tokens, toolName], turn): ReplayResult => {
			return {
				message: 2 * turn + 1,
				turn,
				toolName,
				tokens,
				saves: tokens,
				outcome: [],
				digest: [],
				staysUntil: -1,
				usedUntil: -1,
			};
		}),
		uses: () => ({
			identifiers: taken(identifiers),
			lines: taken(lines),
			touches: byMessage(touches),
			fresh: results.map((_, place) => fresh[place] ?? 0),
		}),
		stale: () => results.map((_, place) => stale[place]),
	};
}

function costsAfter(given: Given, turns: number, more: Partial<typeof how> = {}, dropped: readonly number[] = []) {
	const costs = startFaultCosts(historyOf(given), { ...how, ...more });
	for (let message = 0; message < 2 * turns; message += 1) {
		if (message === 2 * turns - 2) costs.drop(dropped);
		costs.append(message);
	}
	return given.results.slice(0, turns).map((_, place) => costs.costOf(place));
}

/** 120 tokens of output to recall it, writing it again, and what a fault counts besides. */
const price = (tokens: number) => 5 * 120 + 2 * tokens + 1_000;

const likelihood = (age: number, calls = 8) => Math.log(1 + calls / Math.max(1, age));

const rounded = (numbers: readonly number[]) => numbers.map((one) => Number(one.toPrecision(9)));

describe("the expected cost of a fault", () => {
	const three = [[100], [200], [300]] as const;

	it("is rate × price × likelihood by age", () => {
		const expected = [price(100) * likelihood(2), price(200) * likelihood(1), price(300) * likelihood(0)];
		expect(rounded(costsAfter({ results: three }, 3))).toEqual(rounded(expected.map((one) => 0.1 * one)));
		const patient = expected.map((_, place) => 0.1 * price(100 * (place + 1)) * likelihood(2 - place, 3));
		expect(rounded(costsAfter({ results: three }, 3, { calls: 3 }))).toEqual(rounded(patient));
	});

	it("grows with the fresh identifiers", () => {
		const [plain = 0, rich = 0] = costsAfter({ results: [[100], [100]], fresh: [31, 0] }, 2);
		expect(plain / (0.1 * price(100) * likelihood(1))).toBeCloseTo(2, 9);
		expect(rich).toBeCloseTo(0.1 * price(100) * likelihood(0), 9);
	});

	it("counts the age from the last use that weighs enough", () => {
		const used = (weight: number) => ({ results: three, touches: { 2: [{ result: 0, weight }] } });
		expect(costsAfter(used(0.3), 3)[0]).toBeCloseTo(0.1 * price(100) * likelihood(0), 9);
		expect(costsAfter(used(0.29), 3)[0]).toBeCloseTo(0.1 * price(100) * likelihood(2), 9);
	});

	it("is nothing for a result that is out of date, unless its file was edited", () => {
		const costOfStale = (from: number) => costsAfter({ results: three, stale: [from] }, 3)[0];
		expect([costOfStale(0), costOfStale(5)]).toEqual([0, 0]);
		expect(costOfStale(6)).toBeGreaterThan(0);
	});
});

describe("a history that is learnt from", () => {
	const learns = { learns: true };
	const four = [
		[100, "a"],
		[200, "b"],
		[300, "a"],
		[400, "a"],
	] as const;
	/** Every result older than the turn under way counts once a turn, by one over its age. */
	const rateOf = (needs: number, exposure: number) => (0.1 * 100 + needs) / (100 + exposure);

	it("lowers the rate of a tool if its results are not needed", () => {
		// Result 0 at the answers of turns 2 and 3; result 2 is too young at turn 3.
		const exposure = 1 / 1 + 1 / 2;
		const [first = 0, second = 0] = costsAfter({ results: four }, 4, learns);
		expect(first).toBeCloseTo(rateOf(0, exposure) * price(100) * likelihood(3), 6);
		expect(second).toBeCloseTo(rateOf(0, 1) * price(200) * likelihood(2), 6);
	});

	it("raises the rate of a tool if its results are needed, by identifiers or lines", () => {
		const needed = { results: four, identifiers: { 3: [[0], [0, 1]] }, lines: { 2: [[0]] } };
		const [first = 0, second = 0] = costsAfter(needed, 4, learns);
		expect(first).toBeCloseTo(rateOf(2, 1.5) * price(100) * likelihood(3), 6);
		expect(second).toBeCloseTo(rateOf(0, 1) * price(200) * likelihood(2), 6);
		expect(costsAfter(needed, 4)[0]).toBeCloseTo(0.1 * price(100) * likelihood(3), 6);
	});

	it("counts no need of a result that is too young to be masked", () => {
		const [, , third = 0] = costsAfter({ results: four, identifiers: { 3: [[2]] } }, 4, learns);
		expect(third).toBeCloseTo(rateOf(0, 1.5) * price(300) * likelihood(1), 6);
	});

	it("counts richer results for more", () => {
		const [first = 0] = costsAfter({ results: four, fresh: [31] }, 4, learns);
		expect(first).toBeCloseTo(rateOf(0, 2 * 1.5) * 2 * price(100) * likelihood(3), 6);
	});

	it("counts the age from the last use", () => {
		const [first = 0] = costsAfter({ results: four, touches: { 2: [{ result: 0, weight: 1 }] } }, 4, learns);
		expect(first).toBeCloseTo(rateOf(0, 1 + 1) * price(100) * likelihood(1), 6);
	});

	it("counts nothing for results that are gone, or that cannot be masked", () => {
		const [first = 0] = costsAfter({ results: four }, 4, learns, [0]);
		expect(first).toBeCloseTo(rateOf(0, 1) * price(100) * likelihood(3), 6);
		const other = costsAfter({ results: four }, 4, learns, [1]);
		expect(other[0]).toBeCloseTo(rateOf(0, 1.5) * price(100) * likelihood(3), 6);
		const history = historyOf({ results: four });
		const kept = { ...history, results: history.results.map((one) => ({ ...one, saves: 0 })) };
		const costs = startFaultCosts(kept, { ...how, ...learns });
		for (let message = 0; message < 8; message += 1) costs.append(message);
		expect(costs.costOf(0)).toBeCloseTo(0.1 * price(100) * likelihood(3), 6);
	});
});

describe("smallestOf", () => {
	it("is the result with the fewest tokens, the latest of several", () => {
		const { results } = historyOf({ results: [[5], [3], [3], [9]] });
		expect(smallestOf([0, 1, 2, 3], results)).toBe(2);
		expect(smallestOf([0, 3], results)).toBe(0);
		expect(smallestOf([3, 0], results)).toBe(0);
		expect(smallestOf([3], results)).toBe(3);
	});
});

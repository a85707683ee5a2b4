import { describe, expect, it } from "vitest";
import { callsAfter, measureRecall } from "../../../src/engine/replaying/recall.ts";
import { answer, sampleHistory as history, plainHistory, tool, user } from "./plain-history.ts";

const never = Number.POSITIVE_INFINITY;

describe("callsAfter", () => {
	it("has the first call that shows each result, or the number of calls", () => {
		expect(callsAfter(history)).toEqual([1, 2, 3, 4]);
		expect(callsAfter(plainHistory([user(1), answer(), tool([9, 8], [7, 6])]))).toEqual([1, 1]);
		expect(callsAfter(plainHistory([tool([9, 8]), answer(), user(1), answer()]))).toEqual([0]);
		const holding = answer({ results: [{ tokens: 9, saves: 8 }] });
		expect(callsAfter(plainHistory([user(1), holding, answer()]))).toEqual([1]);
		expect(callsAfter(plainHistory([user(1), answer()]))).toEqual([]);
	});
});

describe("measureRecall", () => {
	it("counts the strings that a call sees, by kind", () => {
		const all = measureRecall(history, [never, never, never, never]);
		expect(all).toEqual({
			identifiers: { used: 7, inView: 7, inDigest: 0 },
			lines: { used: 1, inView: 1, inDigest: 0 },
		});
	});

	it("counts a result as gone from the call at which it is masked", () => {
		const countOf = (...schedule: number[]) => {
			const { identifiers, lines } = measureRecall(history, schedule);
			return [identifiers.inView, lines.inView];
		};
		expect(countOf(5, never, never, never)).toEqual([5, 1]);
		expect(countOf(6, never, never, never)).toEqual([6, 1]);
		expect(countOf(7, never, never, never)).toEqual([6, 1]);
		expect(countOf(9, never, never, never)).toEqual([7, 1]);
		expect(countOf(never, 5, never, never)).toEqual([5, 0]);
		expect(countOf(5, 5, 5, never)).toEqual([1, 0]);
		expect(countOf(5, 5, 5, 9)).toEqual([0, 0]);
	});

	it("counts strings that only a digest names separately", () => {
		const digests = [["0", "0,1"], ["x"], [], []];
		const results = history.results.map((one, place) => ({ ...one, digest: digests[place] ?? [] }));
		expect(measureRecall({ ...history, results }, [5, 5, never, never]).identifiers).toEqual({
			used: 7,
			inView: 2,
			inDigest: 3,
		});
	});

	it("takes a string before the first call for one that is in view", () => {
		const early = plainHistory([{ role: "user", tokens: 5, identifiers: [[0]] }, tool([9, 8]), answer()]);
		expect(measureRecall(early, [never]).identifiers).toEqual({ used: 1, inView: 1, inDigest: 0 });
	});
});

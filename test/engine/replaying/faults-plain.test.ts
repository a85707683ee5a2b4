import { describe, expect, it } from "vitest";
import { callsInView } from "../../../src/engine/masking/in-use.ts";
import { type CallCosts, meterFaults } from "../../../src/engine/replaying/faults.ts";
import { answer, type PlainMessage, plainHistory, tool, user } from "./plain-history.ts";

const never = Number.POSITIVE_INFINITY;

/** Of each call the input and what is cached, and of each recall the output and its call's input. */
function paid() {
	const calls: unknown[] = [];
	const costs: CallCosts = {
		costOf({ input, cached }) {
			calls.push([input, cached]);
			return 1;
		},
		costOfOutput(tokens, input) {
			calls.push(`${tokens} of ${input}`);
			return 100;
		},
	};
	return { calls, costs };
}

describe("the cost of faults", () => {
	it("includes one more call that recalls the smallest holder of each string, once, the latest of equals", () => {
		const history = plainHistory([
			user(10),
			answer(),
			tool([100, 90], [60, 50], [60, 50], [70, 60]),
			answer({ identifiers: [[0, 1, 2], [1, 2], [3]], lines: [[3], [0, 3]] }),
		]);
		const { calls, costs } = paid();
		expect(meterFaults(history, [3, 3, 3, 3], costs)).toEqual({ faults: 1, billed: 103 });
		expect(calls).toEqual([[10, 0], [55, 10], "120 of 55", [55 + 60 + 70, 55]]);
		const kept = paid();
		expect(meterFaults(history, [3, 3, never, 3], kept.costs)).toEqual({ faults: 1, billed: 103 });
		expect(kept.calls.at(-1)).toEqual([105 + 70, 105]);
		expect(meterFaults(history, [3, 3, never, never], paid().costs)).toEqual({ faults: 0, billed: 2 });
		expect(meterFaults(history, [4, 4, 4, 4], paid().costs)).toEqual({ faults: 0, billed: 2 });
	});

	it("includes reads by the next twenty calls, which need no other recall of it", () => {
		const gap = (): PlainMessage[] => [tool([1, 0]), answer()];
		const callsBetween = (calls: number) =>
			plainHistory([
				user(10),
				answer(),
				tool([100, 90]),
				answer({ identifiers: [[0]] }),
				...Array.from({ length: calls - 1 }, gap).flat(),
				tool([1, 0]),
				answer({ identifiers: [[0]] }),
			]);
		const schedule = (history: ReturnType<typeof callsBetween>) =>
			history.results.map((_, place) => (place === 0 ? 3 : never));
		expect(callsInView).toBe(20);
		const last = callsBetween(callsInView);
		const carried = paid();
		expect(meterFaults(last, schedule(last), carried.costs).faults).toBe(1);
		const plain = 10 + 5 + 10 + callsInView * 6;
		expect(carried.calls.at(-1)).toEqual([plain + 100, plain - 6 + 100]);
		const later = callsBetween(callsInView + 1);
		const gone = paid();
		expect(meterFaults(later, schedule(later), gone.costs).faults).toBe(2);
		expect(gone.calls.at(-1)).toEqual([plain + 6 + 100, plain + 6]);
	});

	it("has no fault for a string before the first call", () => {
		const history = plainHistory([{ ...user(1), identifiers: [[0]] }, tool([9, 8]), answer(), user(1), answer()]);
		expect(meterFaults(history, [4], paid().costs)).toEqual({ faults: 0, billed: 2 });
	});
});

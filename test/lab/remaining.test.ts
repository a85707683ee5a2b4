import { describe, expect, it } from "vitest";
import { remainingLeftOut, remainingRows } from "./remaining.ts";

const sessions = [
	...[20, 44, 46, 48, 60].map((calls) => ({ source: "one", calls })),
	...[41, 45, 70, 90].map((calls) => ({ source: "two", calls })),
];

describe("how many calls follow", () => {
	it("counts the sessions that passed a mark, and those that then go on for a share of it", () => {
		// At 40: 44, 46, 48, 60, 41, 45, 70, 90; five calls more are made by 46, 48, 60, 45, 70 and 90.
		expect(remainingRows(sessions, 7)[2]).toEqual({ mark: 40, sessions: 8, quartile: 5, goesOn: 0.75 });
		expect(remainingRows(sessions, 7).map(({ mark }) => mark)).toEqual([20, 30, 40, 50, 60, 80]);
	});

	it("chooses the share without a source, and measures it there", () => {
		const chosen = remainingLeftOut(sessions);
		expect(chosen.map(({ source }) => source)).toEqual(["one", "two"]);
		// Without "two", one session of 44 calls still has 40 / 9 of them after 40, and not 40 / 8.
		expect(chosen[1]).toEqual({ source: "two", part: 9, goesOn: 8 / 9 });
	});
});

import { describe, expect, it } from "vitest";
import { runOrder } from "../../../src/engine/trials/run.ts";

describe("runOrder", () => {
	it("has each task in all arms before the next, and each arm first as often as the others", () => {
		const arms = ["raw", "palimpsest", "high"];
		const order = runOrder({ tasks: ["a", "b"], arms, trials: 3 });
		expect(order.length).toBe(18);
		const turns = Array.from({ length: 6 }, (_, turn) => order.slice(3 * turn, 3 * turn + 3));
		expect(turns.map(([one]) => [one?.task, one?.trial])).toEqual([
			["a", 1],
			["b", 1],
			["a", 2],
			["b", 2],
			["a", 3],
			["b", 3],
		]);
		for (const turn of turns) {
			expect(new Set(turn.map(({ task, trial }) => `${task} ${trial}`)).size).toBe(1);
			expect(turn.map(({ arm }) => arm).toSorted()).toEqual(arms.toSorted());
		}
		for (const arm of arms) expect(turns.filter(([one]) => one?.arm === arm).length).toBe(2);
	});
});

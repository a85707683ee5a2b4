import { expect, it } from "vitest";
import { firstReaching, groupBy, once } from "../../../src/engine/conversation/lists.ts";

it("the first index that reaches is found, or the end", () => {
	for (let first = 3; first <= 11; first += 1) {
		expect(firstReaching(3, 10, (index) => index >= first)).toBe(Math.min(first, 10));
	}
});

it("items are grouped by their keys, in their order", () => {
	expect([...groupBy([1, 2, 3, 4, 5], (item) => item % 2)]).toEqual([
		[1, [1, 3, 5]],
		[0, [2, 4]],
	]);
});

it("a value is made once, on demand, even if it is undefined", () => {
	let made = 0;
	const value = once(() => {
		made += 1;
	});
	expect([made, value(), value(), made]).toEqual([0, undefined, undefined, 1]);
});

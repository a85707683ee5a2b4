import { describe, expect, it } from "vitest";
import { budgetOf } from "../../src/operations/context-window.ts";
import { policyOf } from "../support/policy-of.ts";

const budget = (window: number, ratio: number, reserve: number) =>
	budgetOf(window, policyOf({ guard: { budget_ratio: ratio, reserve_tokens: reserve } }).guard);

describe("the budget of a window", () => {
	it.each([
		[200_000, 1, 8_192, 191_808],
		[128_000, 0.8, 0, 102_400],
		[999, 0.8, 0, 799],
		[1_000, 0.5, 100, 400],
		[4_000, 1, 8_192, -4_192],
		[8_192, 1, 8_192, 0],
	])("window %i × %f − reserve %i = %i", (window, ratio, reserve, expected) => {
		expect(budget(window, ratio, reserve)).toBe(expected);
	});
});

import { expect, it } from "vitest";
import { cutOfCall } from "../../src/operations/truncation-limit.ts";
import { policyOf } from "../support/policy-of.ts";

const preset = policyOf();

const balanced = policyOf({ preset: "balanced" });

it("uses the policy's strategy and limit by default", () => {
	expect(cutOfCall(preset, {})).toEqual({ limit: { kind: "head_tail", maxChars: 50_000 }, strategy: "head_tail" });
	expect(cutOfCall(preset, { maxChars: 9 })).toEqual({
		limit: { kind: "head_tail", maxChars: 9 },
		strategy: "head_tail",
	});
	expect(cutOfCall(balanced, {})).toEqual({ limit: { kind: "chars", most: 16_000 }, strategy: "auto" });
	expect(cutOfCall(balanced, { strategy: "head_tail" })).toEqual({
		limit: { kind: "head_tail", maxChars: 16_000 },
		strategy: "head_tail",
	});
});

it("uses `auto` when head and tail does not apply: for a limit in tokens or a focus", () => {
	expect(cutOfCall(preset, { maxTokens: 9 })).toEqual({ limit: { kind: "tokens", most: 9 }, strategy: "auto" });
	expect(cutOfCall(preset, { focus: "x" })).toEqual({ limit: { kind: "chars", most: 50_000 }, strategy: "auto" });
	expect(cutOfCall(preset, { maxTokens: 9, strategy: "head_tail" }).strategy).toBe("head_tail");
	expect(cutOfCall(policyOf({ truncate: { strategy: "log" } }), { maxTokens: 9 }).strategy).toBe("log");
	const inTokens = policyOf({ truncate: { max_tokens: 700 } });
	expect(cutOfCall(inTokens, {})).toEqual({ limit: { kind: "tokens", most: 700 }, strategy: "auto" });
	expect(cutOfCall(inTokens, { maxChars: 9 }).limit).toEqual({ kind: "head_tail", maxChars: 9 });
});

it("refuses an invalid limit, and two limits", () => {
	const code = "invalid_argument";
	expect(() => cutOfCall(preset, { maxChars: 1, maxTokens: 1 })).toThrow(expect.objectContaining({ code }));
	for (const wrong of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
		expect(() => cutOfCall(preset, { maxTokens: wrong })).toThrow(/max_tokens/);
		expect(() => cutOfCall(preset, { maxChars: wrong })).toThrow(/max_chars/);
	}
	expect(() => cutOfCall(preset, { maxTokens: 0 })).toThrow(/`max_tokens` to be a whole number, 1 or more; got 0/);
	expect(cutOfCall(preset, { maxTokens: 1 }).limit).toEqual({ kind: "tokens", most: 1 });
});

it("refuses an unknown strategy, which types cannot prevent in JavaScript", () => {
	const expected = {
		code: "invalid_argument",
		message: expect.stringMatching(/`strategy` to be head_tail, auto, json/),
	};
	for (const wrong of ["Log", "tail", "", null]) {
		expect(() => cutOfCall(preset, { strategy: wrong as never })).toThrow(expect.objectContaining(expected));
	}
});

import { describe, expect, it } from "vitest";
import { isSummarised } from "../../../src/proxy/sending/summary.ts";
import { policyOf } from "../../support/policy-of.ts";

describe("whether the provider's summaries take the place of maskings", () => {
	const policy = policyOf({ preset: "balanced", compaction: { by: "provider" } });
	const is = (body: object, more: { readonly model?: string; readonly refusesBlocks?: boolean } = {}) => {
		const { model = "claude-opus-5-5", refusesBlocks = false } = more;
		return isSummarised({ body, model, takesBetas: true }, policy, { refusesBlocks });
	};

	it("is so where the policy asks for it and the model can", () => {
		expect(is({})).toBe(true);
		expect(is({ context_management: { edits: [{ type: "clear_thinking_20251015" }] } })).toBe(true);
		expect(is({}, { model: "claude-opus-4-5" })).toBe(false);
		expect(is({}, { refusesBlocks: true })).toBe(false);
		const host = policyOf({ preset: "balanced" });
		expect(isSummarised({ body: {}, model: "claude-opus-5-5", takesBetas: true }, host, { refusesBlocks: false })).toBe(
			false,
		);
	});

	it.each(["compact_20260112", "clear_tool_uses_20250919", "compact_20270101"])(
		"is not so where the program lets the provider edit itself: %s",
		(type) => {
			expect(is({ context_management: { edits: [{ type }] } })).toBe(false);
		},
	);
});

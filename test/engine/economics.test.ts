import { describe, expect, it } from "vitest";
import { economicsOf } from "../../src/engine/economics.ts";
import type { ReplaceEdit } from "../../src/engine/edit.ts";
import { exactScale } from "../../src/engine/token-scale.ts";

const prices = { input: 1, cache_read: 0.1, cache_write: 1.25, output: 5 };
const size = (tokens: number) => ({ chars: 4 * tokens, tokens });
const messages = [100, 1_000, 50, 800, 50].map(size);
const measurement = { messages, surroundingTokens: 200, total: size(2_200) };
const edit = (message: number, before: number, after: number): ReplaceEdit => ({
	kind: "replace",
	reason: "mask",
	path: [message],
	message,
	replacement: "",
	before: size(before),
	after: size(after),
});

describe("economicsOf", () => {
	it("says what is kept, rewritten and saved, and when that has paid", () => {
		const plan = [edit(1, 1_000, 20), edit(3, 800, 20)];
		expect(economicsOf(plan, { measurement, prices, scale: exactScale })).toEqual({
			first_changed_message: 1,
			prefix_kept_tokens: 300,
			rewritten_tokens: 140,
			saved_tokens_per_call: 1_760,
			// 140 × 1.15 = 161, at 176 a call.
			calls_to_break_even: 1,
		});
		expect(economicsOf([edit(1, 1_000, 980)], { measurement, prices, scale: exactScale })).toMatchObject({
			rewritten_tokens: 1_880,
			calls_to_break_even: 1_081,
		});
	});

	it("has nothing to say of a plan that changes nothing that is sent", () => {
		const none = { first_changed_message: null, saved_tokens_per_call: 0, calls_to_break_even: null };
		const context = { measurement, prices, scale: exactScale };
		expect(economicsOf([], context)).toMatchObject({ ...none, prefix_kept_tokens: 2_200, rewritten_tokens: 0 });
		expect(economicsOf([{ ...edit(1, 1_000, 0), unsent: true }], context)).toMatchObject(none);
	});

	it("costs nothing where writing to the cache is no dearer than reading, and never pays where nothing is saved", () => {
		const flat = { ...prices, cache_read: 1, cache_write: 1 };
		const context = { measurement, scale: exactScale };
		expect(economicsOf([edit(1, 100, 20)], { ...context, prices: flat }).calls_to_break_even).toBe(0);
		expect(economicsOf([edit(1, 20, 20)], { ...context, prices }).calls_to_break_even).toBeNull();
	});
});

import { describe, expect, it } from "vitest";
import { claudePrices } from "./claude-models.ts";
import { bindingBeta } from "./preserved-thinking.ts";
import { acceptedOf, bound, drops, refusalOf, request, startSession, withResult } from "./thinking-session.ts";

describe("who checks", () => {
	const cases: readonly [string, "older" | "newer", boolean][] = [
		["claude-fable-5-2", "older", true],
		["claude-mythos-5-2", "older", true],
		["anthropic/claude-fable-5.3", "older", true],
		["us.anthropic.claude-fable-5-2-v1:0", "older", true],
		["claude-fable-5-1", "older", false],
		["claude-fable-5-1", "newer", true],
		["claude-mythos-5-1", "newer", false],
		["claude-opus-5-5", "older", false],
		["claude-opus-5-5", "newer", true],
		["claude-opus-6", "newer", true],
		["claude-sonnet-5-5-20261001", "newer", true],
		["claude-haiku-5-5", "newer", true],
		["claude-opus-5", "newer", false],
		["claude-opus-5-20260501", "newer", false],
		["claude-sonnet-5", "newer", false],
		["claude-sonnet-4-5", "newer", false],
		["claude-3-5-sonnet-20241022", "newer", false],
	];

	it.each(cases)("The model %s, on an account that is %s, refuses: %s", (name, account, refuses) => {
		const { check, play } = startSession(account, { model: name });
		const messages = withResult(play(2), 1, "[cut]");
		expect(refusalOf(check, messages, { model: name }) !== undefined).toBe(refuses);
	});

	it("is every account that sets the field, with the value `error` as with `drop_block`", () => {
		const { check, play } = startSession("older");
		const messages = withResult(play(3), 1, "[cut]");
		const strict = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "error" } };
		expect(refusalOf(check, messages, { thinking: strict })?.message).toBe(bound("messages.3.content.0"));
		expect(refusalOf(check, messages, { thinking: { type: "adaptive", block_binding: {} } })).toBeUndefined();
		expect(acceptedOf(check.check(request(messages, drops), [bindingBeta])).dropped).toBe(2);
	});

	it("accepts and lists what fails on an older account", () => {
		const { check, play } = startSession("older");
		const messages = withResult(play(3), 1, "[cut]");
		const { transformations, dropped, body } = acceptedOf(check.check(request(messages), [bindingBeta]));
		const listed = (path: string) => {
			return { type: "thinking_mismatch_allowed", path, reason: "prefix_binding_mismatch" };
		};
		expect(transformations).toEqual([listed("messages.3.content.0"), listed("messages.5.content.0")]);
		expect([dropped, body]).toEqual([0, request(messages)]);
		expect(acceptedOf(check.check(request(messages), [])).transformations).toBeUndefined();
	});
});

describe("another model", () => {
	it("is not shown thinking that it may not read, and nothing is refused", () => {
		const { check, play } = startSession("newer", { model: "claude-fable-5-1" });
		const checked = check.check(request(play(2), { model: "claude-opus-5-5" }), [bindingBeta]);
		expect(acceptedOf(checked).transformations).toEqual([
			{ type: "thinking_dropped", path: "messages.1.content.0", reason: "model_binding_mismatch" },
			{ type: "thinking_dropped", path: "messages.3.content.0", reason: "model_binding_mismatch" },
		]);
	});

	it("is asked before the conversation is compared", () => {
		const { check, play } = startSession("newer", { model: "claude-fable-5-1" });
		const messages = withResult(play(2), 1, "[cut]");
		expect(refusalOf(check, messages, { model: "claude-opus-5-5" })).toBeUndefined();
	});

	it("reads thinking of those that it may read", () => {
		for (const [producer, reader] of [
			["claude-opus-5-5", "claude-fable-5-1"],
			["claude-haiku-5-5", "claude-opus-5-5"],
			["claude-opus-5-5-20260901", "claude-opus-5-5"],
		] as const) {
			const { check, play } = startSession("newer", { model: producer });
			const checked = check.check(request(play(2), { model: reader }), [bindingBeta]);
			expect(acceptedOf(checked).dropped).toBe(0);
		}
	});
});

describe("prices", () => {
	it("of a read come from the model's family and version", () => {
		const reads = (model: string) => claudePrices(model).cacheRead;
		expect(["claude-fable-5-2", "claude-mythos-5-1"].map(reads)).toEqual([0.025, 0.025]);
		expect(["claude-opus-5-5", "claude-sonnet-5-5"].map(reads)).toEqual([0.05, 0.05]);
		expect(["claude-opus-5", "claude-haiku-5-5", "m"].map(reads)).toEqual([0.1, 0.1, 0.1]);
		expect(claudePrices("claude-haiku-5-5").step).toEqual({ over: 100_000, factor: 5 });
		expect(claudePrices("claude-opus-5-5").step).toBeUndefined();
	});
});

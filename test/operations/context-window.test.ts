import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import {
	checkGivenTokens,
	contextWindowOfCall,
	knownContextWindow,
	mostUserTokens,
	openBudget,
} from "../../src/operations/context-window.ts";
import { policyOf } from "../support/policy-of.ts";

const conversation = [{ role: "user", content: "Go." }];
const open = (layer: PolicyLayer, given: object = {}) =>
	openBudget({ conversation, policy: policyOf(layer), ...given });

describe("the tokens that a caller gives", () => {
	it.each([
		[{ contextWindow: 0 }, /`context_window` to be a whole number of tokens, 1 or more; got 0/],
		[{ contextWindow: 1.5 }, /`context_window`/],
		[{ reserveTokens: -1 }, /`reserve_tokens` to be a whole number of tokens, 0 or more; got -1/],
	])("are whole numbers: %j", (given, message) => {
		expect(() => checkGivenTokens(given)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
		expect(() => checkGivenTokens(given)).toThrow(message);
	});

	it("have the input tokens of a usage, if one is given", () => {
		expect(checkGivenTokens({ contextWindow: 1, reserveTokens: 0 })).toBeUndefined();
		expect(checkGivenTokens({ usage: { input_tokens: 12 } })).toBe(12);
	});
});

describe("the window", () => {
	it("comes from the caller, else the policy, else the model, else it is assumed", async () => {
		const known = (layer: PolicyLayer, contextWindow?: number, model?: string) =>
			knownContextWindow({ policy: policyOf(layer), contextWindow, model });
		const override = { guard: { context_window_override: 5_000 } };
		expect(await known(override, 3_000, "gpt-4o")).toEqual({ tokens: 3_000, notes: [] });
		expect(await known(override, undefined, "gpt-4o")).toEqual({ tokens: 5_000, notes: [] });
		expect(await known({}, undefined, "gpt-4o")).toMatchObject({ tokens: 128_000 });
		expect(await known({})).toBeUndefined();
		const assumed = { policy: policyOf({ guard: { unknown_window: 7_000 } }), model: "mine-1" };
		expect(await contextWindowOfCall(assumed)).toEqual({
			tokens: 7_000,
			notes: [
				'No context window is known for "mine-1", so 7000 tokens are assumed, as guard.unknown_window in the policy says.',
			],
		});
		expect((await contextWindowOfCall({ ...assumed, model: undefined }))?.notes[0]).toMatch(
			/^No model is named and no context window is given, so 7000 tokens/,
		);
		expect((await contextWindowOfCall({ ...assumed, model: "gpt-4o" }))?.tokens).toBe(128_000);
		expect(await contextWindowOfCall({ policy: policyOf(), model: undefined })).toBeUndefined();
	});

	it("that is unknown is an error, unless the policy leaves such conversations or has no guard", async () => {
		await expect(open({})).rejects.toMatchObject({ code: "context_window_unknown" });
		const long = `m${"x".repeat(200)}`;
		await expect(open({}, { model: long })).rejects.toThrow(`"m${"x".repeat(79)}":`);
		for (const guard of [{ unknown_window: "leave" }, { enabled: false }] as const) {
			const { window, budget, policy } = await open({ guard }, { model: "mine-1" });
			expect(window.tokens).toBeUndefined();
			expect(window.notes[0]).toMatch(/^No context window is known for "mine-1", so nothing was removed/);
			expect(budget).toBe(Number.POSITIVE_INFINITY);
			expect(policy.guard.ladder).toEqual([]);
		}
	});
});

describe("the budget", () => {
	it("is the window less the reserve of the call, or of the policy", async () => {
		const layer: PolicyLayer = { guard: { reserve_tokens: 1_000, budget_ratio: 1 } };
		const ofPolicy = await open(layer, { contextWindow: 9_000 });
		expect(ofPolicy).toMatchObject({ budget: 8_000, window: { tokens: 9_000 } });
		expect(ofPolicy.policy.guard.ladder.length).toBeGreaterThan(0);
		const ofCall = await open(layer, { contextWindow: 9_000, reserveTokens: 0 });
		expect(ofCall).toMatchObject({ budget: 9_000, policy: { guard: { reserve_tokens: 0 } } });
		expect((await open(layer, { contextWindow: 1_001 })).budget).toBe(1);
		const off = await open({ guard: { ...layer.guard, enabled: false } }, { contextWindow: 900 });
		expect(off).toMatchObject({ budget: -100, policy: { guard: { ladder: [] } } });
	});

	it("of no token is refused, with advice that fits", async () => {
		const refused = (layer: PolicyLayer, message: RegExp) => {
			const opened = open(layer, { contextWindow: 1_000 });
			return expect(opened).rejects.toMatchObject({ code: "no_budget", message: expect.stringMatching(message) });
		};
		await refused(
			{ guard: { reserve_tokens: 1_000, budget_ratio: 1 } },
			/^The reserve \(1000\) is as large as the window \(1000\)\. .* Give a smaller `reserve_tokens`/,
		);
		await refused(
			{ guard: { reserve_tokens: 900, budget_ratio: 0.8 } },
			/^The reserve \(900\) is larger than 0\.8 of the window \(1000\)\./,
		);
		await refused(
			{ guard: { reserve_tokens: 0, budget_ratio: 0.0001 } },
			/^guard\.budget_ratio \(0\.0001\) leaves no tokens of the window \(1000\)\. .* Set a larger guard\.budget_ratio/,
		);
	});
});

it("leaves the words of people four hundredths of the window, unless the policy says how much", () => {
	const most = (layer: PolicyLayer, window?: number) => mostUserTokens(policyOf(layer), window);
	expect([most({}, 100_024), most({}), most({ compaction: { keep_user_tokens: 7 } }, 100_000)]).toEqual([
		...[4_000, 8_000, 7],
	]);
});

it("leaves room for the answer in a window that includes it", async () => {
	const { budget, window } = await open({}, { model: "gpt-5", reserveTokens: 0 });
	expect([window.tokens, budget]).toEqual([400_000, 272_000]);
	expect((await open({}, { model: "gpt-5", contextWindow: 300_000, reserveTokens: 0 })).budget).toBe(300_000);
});

it("refuses a model that is far ahead of the catalogue, unless the policy gives a window to assume", async () => {
	await expect(open({ guard: { unknown_window: "refuse" } }, { model: "gpt-99" })).rejects.toMatchObject({
		code: "context_window_unknown",
	});
	const { window } = await open({ guard: { unknown_window: 50_000 } }, { model: "gpt-99", reserveTokens: 0 });
	expect(window.tokens).toBe(50_000);
});

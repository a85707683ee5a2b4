import { describe, expect, it } from "vitest";
import { stepFactors } from "../../../src/engine/masking/price-steps.ts";
import { nothingObserved } from "../../../src/proxy/billing/observed-caching.ts";
import { cacheTerms } from "../../../src/proxy/billing/terms.ts";
import { policyOf } from "../../support/policy-of.ts";

const { prices } = policyOf();
const marked = (ttl?: string) => ({
	type: "text",
	text: "a",
	cache_control: { type: "ephemeral", ...(ttl && { ttl }) },
});
const plain = { type: "text", text: "a" };
const minute = 60_000;

describe("the terms of a provider's cache", () => {
	it.each([
		["a breakpoint of 5 minutes", { messages: [{ role: "user", content: [marked()] }] }, 5, 1.25],
		["a breakpoint of an hour", { messages: [{ role: "user", content: [marked("1h")] }] }, 60, 2],
		["the last of several", { system: [marked("1h")], messages: [{ role: "user", content: [marked("5m")] }] }, 5, 1.25],
		["one of the system prompt alone", { system: [marked("1h")], messages: [{ role: "user", content: "a" }] }, 60, 2],
		["one of a tool alone", { tools: [marked("1h")], messages: [{ role: "user", content: [plain] }] }, 60, 2],
		["one of the whole request", { cache_control: { type: "ephemeral", ttl: "1h" }, messages: [] }, 60, 2],
	])("of Anthropic follow %s", (_, body, minutes, write) => {
		const terms = cacheTerms(body, "anthropic", prices);
		expect(terms.lifetime).toBe(minutes * minute);
		expect(terms.prices).toMatchObject({ cache_read: 0.1, cache_write: write });
	});

	it("of Anthropic without a breakpoint: nothing is cached, so that masking costs nothing", () => {
		const terms = cacheTerms({ messages: [{ role: "user", content: [plain] }] }, "anthropic", prices);
		expect(terms.lifetime).toBe(0);
		expect(terms.prices).toMatchObject({ cache_read: 1, cache_write: 1 });
	});

	it.each(["openai", "gemini"] as const)("of %s: 5 minutes, and writing costs no more than reading again", (api) => {
		const terms = cacheTerms({ input: [] }, api, prices);
		expect(terms.lifetime).toBe(5 * minute);
		expect(terms.prices).toMatchObject({ cache_read: 0.1, cache_write: 1 });
	});

	it.each([undefined, null, [], { messages: [null, 1, { content: [null] }] }])("are found in any body: %j", (body) => {
		expect(cacheTerms(body, "anthropic", prices).lifetime).toBe(0);
	});

	it("have the prices that the policy sets itself", () => {
		const own = policyOf({ prices: { cache_write: 3 } }).prices;
		for (const api of ["anthropic", "openai"] as const) {
			expect(cacheTerms({ messages: [{ content: [marked("1h")] }] }, api, own).prices).toEqual(own);
		}
	});

	it("have a price that the policy sets, also where it is the default", () => {
		const own = policyOf({ prices: { cache_read: 0.1 } }).prices;
		const { prices: found, reads } = cacheTerms({ model: "gpt-4o" }, "openai", own);
		expect([found.cache_read, reads, found.cache_write, found.output]).toEqual([0.1, 0.1, 1, 4]);
	});

	it("have the price of an hour that the policy sets", () => {
		const own = policyOf({ prices: { cache_write: 3, cache_write_hour: 7 } }).prices;
		const terms = cacheTerms({ messages: [{ content: [marked("1h")] }] }, "anthropic", own);
		expect(terms.prices.cache_write).toBe(7);
		expect(terms.writes).toEqual({ minutes: 3, hour: 7 });
	});

	it("are in proportion to the price of an input token", () => {
		const terms = cacheTerms(
			{ messages: [{ content: [marked()] }] },
			"anthropic",
			policyOf({ prices: { input: 4 } }).prices,
		);
		expect(terms.prices).toMatchObject({ input: 4, cache_read: 0.4, cache_write: 5 });
	});
});

describe("the terms of a model", () => {
	const conversation = (ttl?: string) => [{ role: "user", content: [marked(ttl)] }];

	it.each([
		["claude-fable-5-2", undefined, 5, 0.025, 1.25],
		["claude-opus-5-5", "1h", 60, 0.05, 2],
		["us.anthropic.claude-haiku-5-5-v1:0", "5m", 5, 0.1, 1.25],
		["claude-sonnet-5-5@20261101", undefined, 5, 0.05, 1.25],
		["claude-opus-4-8[1m]", undefined, 5, 0.1, 1.25],
		["a-model-of-ours", "1h", 60, 0.1, 2],
	])("of %s with a breakpoint (%s)", (model, ttl, minutes, read, write) => {
		const terms = cacheTerms({ model, messages: conversation(ttl) }, "anthropic", prices);
		expect(terms).toMatchObject({ model, caching: "asked", lifetime: minutes * minute, reads: read });
		expect(terms.prices).toMatchObject({ cache_read: read, cache_write: write });
	});

	it.each([
		["gpt-4o", 5, 0.5, 1],
		["gpt-4.1-mini", 5, 0.25, 1],
		["o3", 5, 0.25, 1],
		["gpt-5", 5, 0.1, 1],
		["gpt-5.6-sol", 30, 0.1, 1.25],
		["deepseek-chat", 5, 0.1, 1],
		["a-model-of-ours", 5, 0.1, 1],
	])("of %s, whose provider caches by itself", (model, minutes, read, write) => {
		const terms = cacheTerms({ model, messages: [] }, "openai", prices);
		expect(terms).toMatchObject({ caching: "automatic", lifetime: minutes * minute, reads: read });
		expect(terms.prices).toMatchObject({ cache_read: read, cache_write: write });
	});

	it("of Gemini, which names it in the path", () => {
		const terms = cacheTerms({ contents: [] }, "gemini", prices, { model: "gemini-3.1-pro-preview" });
		expect(terms).toMatchObject({ reads: 0.1, dollars: { input: 2, output: 12 } });
		expect(stepFactors(terms.prices, 200_000)).toMatchObject({ input: 1, output: 1 });
		expect(stepFactors(terms.prices, 200_001)).toMatchObject({ input: 2, output: 1.5 });
	});

	it("of Haiku 5.5 cost five times as much over 100 000 tokens, output too", () => {
		const terms = cacheTerms({ model: "claude-haiku-5-5", messages: conversation() }, "anthropic", prices);
		expect(stepFactors(terms.prices, 100_000)).toMatchObject({ input: 1, output: 1 });
		expect(stepFactors(terms.prices, 100_001)).toMatchObject({ input: 5, output: 5 });
		expect(terms.prices.output).toBeCloseTo(5, 9);
	});

	it("of OpenAI last for a day where the request asks for it", () => {
		const terms = cacheTerms({ model: "gpt-5.1", prompt_cache_retention: "24h" }, "openai", prices);
		expect(terms.lifetime).toBe(24 * 60 * minute);
	});

	it("of Claude with an API of OpenAI follow its breakpoints, which a gateway may set by itself", () => {
		const model = "anthropic/claude-opus-5.5";
		const asked = cacheTerms({ model, messages: conversation("1h") }, "openai", prices);
		expect(asked).toMatchObject({ lifetime: 60 * minute, prices: { cache_read: 0.05, cache_write: 2 } });
		const plainly = cacheTerms({ model, messages: [] }, "openai", prices);
		expect(plainly).toMatchObject({ lifetime: 5 * minute, prices: { cache_read: 0.05, cache_write: 1 } });
	});
});

describe("the terms of an upstream that was observed", () => {
	const unmarked = { model: "claude-opus-5", messages: [] };

	it("are those of a cache if it reads without a `cache_control`", () => {
		const observed = { ...nothingObserved, reads: true, readsUnasked: true };
		const terms = cacheTerms(unmarked, "anthropic", prices, { observed });
		expect(terms).toMatchObject({ caching: "automatic", lifetime: 5 * minute, prices: { cache_read: 0.1 } });
	});

	it.each(["deepseek-chat", "glm-5.2", "kimi-k2.5"])("are those of a cache from the start for %s", (model) => {
		const terms = cacheTerms({ model, messages: [{ content: [marked("1h")] }] }, "anthropic", prices);
		expect(terms).toMatchObject({ caching: "automatic", lifetime: 5 * minute, prices: { cache_write: 1 } });
		expect(cacheTerms({ model, messages: [] }, "anthropic", prices).caching).toBe("automatic");
	});

	it("are those without a cache where it never reads, though it was asked to", () => {
		const observed = { ...nothingObserved, misses: 5 };
		for (const [body, api] of [
			[{ messages: [{ content: [marked()] }] }, "anthropic"],
			[{ model: "gpt-5" }, "openai"],
		] as const) {
			const terms = cacheTerms(body, api, prices, { observed });
			expect(terms).toMatchObject({ caching: "never_read", lifetime: 0, prices: { cache_read: 1, cache_write: 1 } });
			// What an answer reports one day is billed all the same.
			expect(terms.reads).toBe(0.1);
		}
		const own = policyOf({ prices: { cache_read: 0.2 } }).prices;
		expect(cacheTerms({ model: "gpt-5" }, "openai", own, { observed }).prices.cache_read).toBe(0.2);
	});
});

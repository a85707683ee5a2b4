import { describe, expect, it } from "vitest";
import { cacheTerms } from "../../src/proxy/terms.ts";
import { policyOf } from "../support/policy-of.ts";

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

	it.each(["openai", "gemini"] as const)("of %s: 5 minutes, and writing costs no more than reading anew", (api) => {
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

	it("are in proportion to the price of an input token", () => {
		const terms = cacheTerms(
			{ messages: [{ content: [marked()] }] },
			"anthropic",
			policyOf({ prices: { input: 4 } }).prices,
		);
		expect(terms.prices).toMatchObject({ input: 4, cache_read: 0.4, cache_write: 5 });
	});
});

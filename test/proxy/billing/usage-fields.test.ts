import { describe, expect, it } from "vitest";
import { readableEncodings, readUsage } from "../../../src/proxy/billing/read-usage.ts";
import { cacheTerms, servedTerms } from "../../../src/proxy/billing/terms.ts";
import { dollarsOfAnswer, inputBill, type Usage } from "../../../src/proxy/billing/usage.ts";
import { usageIn, usageOf } from "../../../src/proxy/billing/usage-fields.ts";
import { policyOf } from "../../support/policy-of.ts";

const { prices } = policyOf();
const pass = (type: string, input: number, output: number, cacheRead = 0, more = {}) => ({
	type,
	input_tokens: input,
	output_tokens: output,
	cache_read_input_tokens: cacheRead,
	cache_creation_input_tokens: 0,
	...more,
});
const top = (input: number, output: number, cacheRead: number, iterations: readonly object[]) => {
	const { type: _, ...counts } = pass("", input, output, cacheRead);
	return { ...counts, iterations };
};
const termsOf = (model: string, at?: number) =>
	cacheTerms({ model, messages: [] }, "anthropic", prices, at ? { at } : {});

it("the usage of an answer is the one named so, not that of its tools before it", () => {
	const usage = { input_tokens: 50_000, output_tokens: 20 };
	const tools = {
		tool_usage: { image_gen: { input_tokens: 300, output_tokens: 5_000 } },
		copilot_usage: { tokens: 1 },
	};
	expect(usageIn({ type: "response.completed", response: { ...tools, usage } })).toEqual(usage);
	expect(usageIn({ ...tools, usage })).toEqual(usage);
	expect(usageIn({ token_usage: usage })).toEqual(usage);
});

describe("the passes of an answer of Anthropic's API", () => {
	it("are all of an answer that is a compaction alone", () => {
		const iterations = [{ type: "compaction", input_tokens: 180_000, output_tokens: 3_500 }];
		const usage = usageOf({ input_tokens: 0, output_tokens: 0, iterations }, "anthropic");
		expect(usage && inputBill(usage, cacheTerms({ model: "claude-opus-5-5", messages: [] }, "anthropic", prices))).toBe(
			180_000,
		);
	});

	it("are added where the usage beside them leaves them out, with a price step each", () => {
		const usage = usageOf(
			top(60_000, 700, 0, [pass("compaction", 90_000, 3_000), pass("message", 60_000, 700)]),
			"anthropic",
		) as Usage;
		expect(usage).toMatchObject({ input: 150_000, output: 3_700 });
		expect(usage.passes?.map(({ input }) => input)).toEqual([90_000, 60_000]);
		// Neither prompt is over the step at 100 000.
		expect(inputBill(usage, termsOf("claude-haiku-5-5"))).toBe(150_000);
	});

	it("are not added twice where the usage sums them", () => {
		const usage = usageOf(top(5, 90, 300, [pass("message", 2, 40, 100), pass("message", 3, 50, 200)]), "anthropic");
		expect(usage).toMatchObject({ input: 5, cacheRead: 300, output: 90 });
		expect(usage?.passes).toHaveLength(2);
	});

	it("of an advisor have the prices of its model", () => {
		const advisor = pass("advisor_message", 100_000, 2_000, 0, { model: "claude-opus-5-5" });
		const usage = usageOf(top(1_000, 100, 0, [pass("message", 1_000, 100), advisor]), "anthropic") as Usage;
		expect(usage.input).toBe(1_000);
		const dollars = (1_000 * 2 + 100 * 10 + 100_000 * 4 + 2_000 * 20) / 1e6;
		expect(dollarsOfAnswer(usage, termsOf("claude-sonnet-5"))).toBeCloseTo(dollars, 9);
		const unpriced = { ...usage, beside: [{ model: "a-model-of-ours", counts: { ...usage, input: 1 } }] };
		expect(dollarsOfAnswer(unpriced, termsOf("claude-sonnet-5"))).toBeUndefined();
	});

	it("of a model that declined are not billed", () => {
		const declined = pass("message", 900, 1, 0, { model: "claude-fable-5" });
		const served = pass("fallback_message", 1_000, 100, 0, { model: "claude-opus-4-8" });
		expect(usageOf(top(1_000, 100, 0, [declined, served]), "anthropic")).toEqual({
			input: 1_000,
			cacheRead: 0,
			cacheWrite: 0,
			output: 100,
		});
	});

	it("of an unknown type count, and are named", () => {
		const usage = usageOf(top(10, 5, 0, [pass("message", 10, 5), pass("review", 700, 50)]), "anthropic");
		expect(usage).toMatchObject({ input: 710, output: 55, unknownFields: ["iterations.review"] });
	});
});

it("a prompt without its cached tokens is recognised by the sum of all, or by the fields of Anthropic", () => {
	const split = { input: 5, cacheRead: 100, cacheWrite: 20, output: 3 };
	const portkey = {
		...{ prompt_tokens: 5, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 100 } },
		...{ cache_read_input_tokens: 100, cache_creation_input_tokens: 20 },
	};
	expect(usageOf({ ...portkey, total_tokens: 128 }, "openai")).toEqual(split);
	expect(usageOf(portkey, "openai")).toEqual(split);
	const larger = { prompt_tokens: 500, prompt_tokens_details: { cached_tokens: 100 }, completion_tokens: 3 };
	expect(usageOf({ ...larger, total_tokens: 603 }, "openai")).toMatchObject({ input: 500, cacheRead: 100 });
	expect(usageOf({ ...larger, total_tokens: 503 }, "openai")).toMatchObject({ input: 400, cacheRead: 100 });
});

const prompt = { prompt_tokens: 10_000, completion_tokens: 10 };

it.each([
	[{ ...prompt, num_cached_tokens: 9_000 }, 9_000, 0],
	[{ ...prompt, prompt_tokens_details: { cached_content_tokens: 9_000 } }, 9_000, 0],
	[{ ...prompt, cache_hit_tokens: 9_000, cache_miss_tokens: 1_000, cached_tokens_cost: 9_500 }, 9_000, 0],
	[{ ...prompt, prompt_tokens_details: { cacheReadTokens: 6_000, cacheWriteTokens: 3_000 } }, 6_000, 3_000],
	[
		{ ...prompt, cached_prompt_text_tokens: 4_000, cached_prompt_tokens: 6_000, cache_written_tokens: 3_000 },
		6_000,
		3_000,
	],
	[
		{ input_tokens: 10_000, output_tokens: 10, input_token_details: { cache_read: 6_000, cache_creation: 3_000 } },
		6_000,
		3_000,
	],
	[
		{
			billed_units: { input_tokens: 10_000, output_tokens: 10 },
			tokens: { input_tokens: 10_000 },
			cached_tokens: 9_000,
		},
		9_000,
		0,
	],
])("tokens of a cache are found by the words of their names: %j", (found, cacheRead, cacheWrite) => {
	const counts = { input: 10_000 - cacheRead - cacheWrite, cacheRead, cacheWrite, output: 10 };
	expect(usageOf(found, "openai")).toMatchObject(counts);
});

it("whatever hours a prefix was written for cost as an hour, and an unknown kind of input is named", () => {
	const creation = { ephemeral_5m_input_tokens: 100, ephemeral_24h_input_tokens: 3_000 };
	const written = { input_tokens: 5, output_tokens: 3, cache_creation_input_tokens: 3_100, cache_creation: creation };
	expect(usageOf(written, "anthropic")).toMatchObject({ cacheWrite: 3_100, cacheWriteForHour: 3_000 });
	const details = { input_token_details: { tactile: 70 } };
	expect(usageOf({ ...prompt, ...details }, "openai")?.unknownFields).toEqual(["input_token_details.tactile"]);
});

it("what the sum of all has beside prompt and output is reasoning, unless a field says input", () => {
	const chat = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 170 };
	expect(usageOf({ ...chat, completion_tokens_details: { reasoning_tokens: 50 } }, "openai")).toMatchObject({
		output: 70,
	});
	expect(usageOf({ ...chat, tool_input_tokens: 50 }, "openai")).toMatchObject({ input: 150, output: 20 });
});

it.each([
	[{ usage: { input_tokens: 7 } }],
	[{ data: { result: { usage: { input_tokens: 7 } } } }],
	[{ message: { usage: { tokens: { input_tokens: 7 } } } }],
	[{ x_gateway: [{ token_usage: { input_tokens: 7 } }] }],
])("a usage is found by its shape: %j", async (answer) => {
	const reader = readUsage({ headers: { "content-type": "application/json" } }, "anthropic");
	reader.push(Buffer.from(JSON.stringify(answer)));
	expect(await reader.end()).toMatchObject({ input: 7 });
});

it.each(["content", "output", "candidates", "arguments"])(
	"a usage that a model wrote in %s is none",
	async (member) => {
		const reader = readUsage({ headers: { "content-type": "application/json" } }, "anthropic");
		reader.push(Buffer.from(JSON.stringify({ [member]: [{ input: { usage: { input_tokens: 7 } } }] })));
		expect(await reader.end()).toBeUndefined();
	},
);

it.each([
	["gzip, deflate, br, zstd", "gzip, deflate, br"],
	["zstd", "identity"],
	["zstd;q=1.0, gzip;q=0.5", "gzip;q=0.5"],
	["*", "identity"],
	["identity;q=1, *;q=0", "identity;q=1, *;q=0"],
	["gzip", "gzip"],
])("only encodings that are read are offered: %s", (offered, kept) => {
	expect(readableEncodings(offered)).toBe(kept);
});

describe("the terms of an answer", () => {
	const dollars = (served: Parameters<typeof servedTerms>[1], model = "claude-opus-5-5", isRegional = false) => {
		const asked = cacheTerms({ model, messages: [] }, "anthropic", prices, { isRegional });
		return servedTerms(asked, served).dollars?.input;
	};

	it.each([
		["claude-opus-5-5", {}, 4],
		["claude-opus-5-5", { tier: "fast" }, 8],
		["claude-opus-4-6", { tier: "fast" }, 30],
		["claude-opus-5-5", { tier: "batch" }, 2],
		["claude-opus-5-5", { geo: "us" }, 4.4],
		["claude-opus-5-5", { tier: "batch", geo: "us" }, 2.2],
		["claude-opus-5-5", { geo: "not_available", tier: "standard" }, 4],
		["claude-opus-5-5", { tier: "priority" }, undefined],
		["claude-opus-5-5", { tier: "constructor" }, undefined],
		["claude-opus-5-5", { geo: "mars" }, undefined],
		["claude-sonnet-5", { tier: "fast" }, undefined],
		["gpt-5.4", { tier: "flex" }, 1.25],
		["gpt-5.5", { tier: "priority" }, 12.5],
		["gpt-5.4", { tier: "default" }, 2.5],
		["gpt-5.4", { tier: "scale" }, undefined],
		["gpt-5.4", { model: "gpt-5.4-2026-03-05" }, 2.5],
		["gemini-4-carbon", { tier: "priority" }, 3.6],
		["claude-fable-5.2", { model: "claude-opus-4-8" }, 5],
		["claude-opus-5-5", { model: "a-name-of-a-router" }, 4],
	] as const)("have the price of %s as served: %j", (model, served, expected) => {
		const found = dollars(served, model);
		if (expected === undefined) expect(found).toBeUndefined();
		else expect(found).toBeCloseTo(expected, 9);
	});

	it("count a region of a cloud once", () => {
		expect(dollars({ geo: "us" }, "claude-opus-5-5", true)).toBeCloseTo(4.4, 9);
		expect(dollars({}, "claude-sonnet-4", true)).toBe(3);
	});
});

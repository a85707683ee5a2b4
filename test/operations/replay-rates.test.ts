import { calcPrice } from "@pydantic/genai-prices";
import { describe, expect, it } from "vitest";
import { parsePrices, ratesOfModel, ratesOfPrices, ratesOfSession } from "../../src/operations/replay-rates.ts";
import { policyOf } from "../support/policy-of.ts";

const { prices } = policyOf();

describe("prices by ratio", () => {
	it("are read as multiples of the input price", () => {
		expect(parsePrices("0.1,1.25", prices)).toEqual(prices);
		expect(parsePrices(" 0 , 1 ", prices)).toMatchObject({ cache_read: 0, cache_write: 1 });
	});

	it("take output as a third price, which is otherwise as configured", () => {
		expect(parsePrices("0.1,1.25,8", prices)).toEqual({ ...prices, cache_read: 0.1, cache_write: 1.25, output: 8 });
		const inDollars = { ...prices, input: 3, cache_read: 0.3, cache_write: 3.75, output: 15 };
		expect(parsePrices("0.1,1.25", inDollars).output).toBe(5);
		expect(parsePrices("0,1", { ...inDollars, input: 0 }).output).toBe(15);
	});

	it.each([
		"",
		"0.1",
		"0.1,",
		",1",
		"0.1,1.25,",
		"0.1,1.25,2,3",
		"0.1,1.25,x",
		"a,b",
		"-0.1,1",
		"0.1,Infinity",
		"0.1,NaN",
		"0.1;1.25",
		"0,1000001",
	])("%j is refused", (text) => {
		expect(() => parsePrices(text, prices)).toThrow(
			expect.objectContaining({
				code: "invalid_argument",
				message: expect.stringContaining("Expected prices as READ,WRITE"),
			}),
		);
	});

	it("bill cached tokens at the read price, others at the write price, in units of the input price", () => {
		const { dollars, costOf, costOfOutput } = ratesOfPrices({
			...prices,
			input: 4,
			cache_read: 1,
			cache_write: 5,
			output: 10,
		});
		expect(dollars).toBeUndefined();
		expect(costOfOutput(1_000, 500_000)).toBe((1_000 * 10) / 4);
		expect(costOf({ input: 1_000, cached: 600 })).toBe((600 * 1 + 400 * 5) / 4);
	});

	it("are prices of one token when input is free", () => {
		const { costOf } = ratesOfPrices({ ...prices, input: 0, cache_read: 1, cache_write: 2 });
		expect(costOf({ input: 10, cached: 4 })).toBe(16);
	});
});

describe("the prices of a cache that lasts an hour", () => {
	const call = { input: 1_000, cached: 600 };

	it.each([
		[{}, 0.1 * 600 + 2 * 400],
		[{ cache_write: 1 }, 0.1 * 600 + 400],
		[{ cache_write: 1, cache_write_hour: 3 }, 0.1 * 600 + 3 * 400],
	])("%o: from the write price, unless they name their own", (given, cost) => {
		const rates = ratesOfPrices({ ...prices, ...given });
		expect(rates.lasting(3_600).costOf(call)).toBeCloseTo(cost, 9);
		expect(rates.lasting(3_600).lasting(300).costOf(call)).toBeCloseTo(rates.costOf(call), 9);
		expect(ratesOfPrices({ ...prices, ...given, cache_seconds: 3_600 }).costOf(call)).toBeCloseTo(cost, 9);
	});

	it("of a model have its price for an hour", async () => {
		const rates = await ratesOfModel("claude-sonnet-4-5", prices);
		expect(rates.lasting(3_600).costOf(call)).toBeCloseTo(600 * 0.1 + 400 * 2, 12);
		expect((await ratesOfModel("gpt-4o", prices)).lasting(3_600).costOf(call)).toBeCloseTo(
			(await ratesOfModel("gpt-4o", prices)).costOf(call),
			12,
		);
	});
});

describe("a model's prices", () => {
	const calls = [
		{ input: 1_000, cached: 0 },
		{ input: 150_000, cached: 149_000 },
		{ input: 200_000, cached: 150_000 },
		{ input: 200_001, cached: 150_000 },
		{ input: 900_000, cached: 10_000 },
	];

	it.each([
		["claude-sonnet-4-5", true],
		["anthropic/claude-sonnet-4.5", true],
		["claude-opus-4-5-20251101", true],
		["gpt-4o", false],
		["gemini-2.5-pro", false],
	])("%s: a call costs the catalogue price", async (model, hasWritePrice) => {
		const { dollars = 0, prices: priced, costOf, costOfOutput } = await ratesOfModel(model, prices);
		expect(dollars).toBeGreaterThan(0);
		expect(priced.cache_read).toBeLessThan(priced.input);
		expect(priced.cache_write > priced.input).toBe(hasWritePrice);
		for (const { input, cached } of calls) {
			const written = hasWritePrice ? { cache_write_tokens: input - cached } : {};
			const usage = { input_tokens: input, cache_read_tokens: cached, ...written };
			const spoken = { ...usage, output_tokens: 2_000 };
			const plain = model.split("/").at(-1)?.replaceAll(".", "-") ?? "";
			const priceOf = (used: typeof usage) => calcPrice(used, model) ?? calcPrice(used, plain);
			const expected = priceOf(usage);
			expect(expected?.total_price).toBeGreaterThan(0);
			expect(dollars * costOf({ input, cached })).toBeCloseTo(expected?.total_price ?? 0, 9);
			const withOutput = priceOf(spoken)?.total_price ?? 0;
			expect(withOutput).toBeGreaterThan(expected?.total_price ?? 0);
			expect(dollars * (costOf({ input, cached }) + costOfOutput(2_000, input))).toBeCloseTo(withOutput, 9);
		}
	});

	it("come from the table before the catalogue, as in the proxy", async () => {
		const haiku = await ratesOfModel("claude-haiku-5-5", prices);
		expect(haiku.model).toBe("claude-haiku-5.5");
		expect(haiku.dollars).toBeCloseTo(1e-7, 15);
		const [below, above] = [100_000, 100_001].map((input) => haiku.costOf({ input, cached: 100_000 }));
		expect(below).toBeCloseTo(10_000, 9);
		expect(above).toBeCloseTo(5 * 10_001.25, 9);
		expect(haiku.costOfOutput(10, 100_001)).toBe(250);
		expect((await ratesOfModel("claude-sonnet-5-5", prices)).prices).toMatchObject({ cache_read: 0.05, output: 5 });
		expect((await ratesOfModel("gpt-5.6", prices)).prices).toMatchObject({ cache_write: 1.25, cache_seconds: 1_800 });
	});

	it("give way to those that the policy sets", async () => {
		const own = policyOf({ prices: { cache_read: 0.3 } }).prices;
		expect((await ratesOfModel("claude-opus-5-5", own)).prices).toMatchObject({ cache_read: 0.3, cache_write: 1.25 });
	});

	it("of a session are those at the times of its calls", async () => {
		const [before, after] = [Date.UTC(2026, 11, 31), Date.UTC(2027, 0, 1)];
		const dollarsAt = async (...times: number[]) => {
			const { dollars = 0 } = await ratesOfSession("gemini-3.6-flash", prices, times);
			return dollars * 1_000_000;
		};
		expect([await dollarsAt(before), await dollarsAt(after)]).toEqual([0.75, 1.5].map((one) => expect.closeTo(one, 9)));
		expect(await dollarsAt(before, before, after)).toBeCloseTo(1, 9);
	});

	it("of an unknown session come from the policy", async () => {
		for (const model of [undefined, "nope-9"]) {
			const { model: found, prices: used, dollars } = await ratesOfSession(model, prices);
			expect([found, used, dollars]).toEqual([undefined, prices, undefined]);
		}
	});

	it("rise per token in a call above the size threshold", async () => {
		const { costOf } = await ratesOfModel("claude-sonnet-4-5", prices);
		const below = costOf({ input: 200_000, cached: 0 });
		expect(costOf({ input: 200_001, cached: 0 })).toBeGreaterThan(1.9 * below);
	});

	it("are refused for an unknown model", async () => {
		await expect(ratesOfModel("nope-9", prices)).rejects.toMatchObject({ code: "invalid_argument" });
		await expect(ratesOfModel("", prices)).rejects.toThrow(/No prices are known for ""/);
	});
});

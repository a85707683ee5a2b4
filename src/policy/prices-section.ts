import { z } from "zod";

const price = z.number().min(0).max(1_000_000);

/** What a provider charges for a token: the `[prices]` of a policy. Only their ratios matter. */
export const pricesSection = z.strictObject({
	input: price.default(1).describe("Price of an input token."),
	cache_read: price.default(0.1).describe("Price of one that the provider reads from its prompt cache."),
	cache_write: price
		.default(1.25)
		.describe("Price of one that it writes to it. With the price of reading as high, `break_even` acts every turn."),
	output: price.default(5).describe("Price of an output token."),
});

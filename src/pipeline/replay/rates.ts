import type { CallTokens } from "../../engine/replay/view.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Prices } from "../../policy/schema.ts";

/** What the input of LLM calls is billed at. Output is not counted: masking does not change it. */
export interface Rates {
	/** What policies decide by: the ratios, or a model's prices below any size from which they rise. */
	readonly prices: Prices;
	readonly unit: "input_tokens" | "us_dollars";
	/** What a call costs, in the unit. */
	readonly costOf: (call: CallTokens) => number;
}

/** Rates in prices of one input token, as a policy has them; of one token where an input token costs nothing. */
export function ratesOfPrices(prices: Prices): Rates {
	const { cache_read, cache_write } = prices;
	const one = prices.input > 0 ? prices.input : 1;
	return {
		prices,
		unit: "input_tokens",
		costOf: ({ input, cached }) => (cached * cache_read + (input - cached) * cache_write) / one,
	};
}

const highest = 1_000_000;

/**
 * Prices from `READ,WRITE`, such as `0.1,1.25`: what reading a token from the provider's cache and writing it there cost,
 * each as a multiple of the input price.
 *
 * @throws PalimpsestError `invalid_argument`.
 */
export function parsePrices(text: string, { output }: Prices): Prices {
	const numbers = text.split(",").map((one) => (one.trim() === "" ? Number.NaN : Number(one)));
	const [cache_read, cache_write] = numbers;
	const isUsable = (price: number | undefined): price is number =>
		price !== undefined && price >= 0 && price <= highest;
	if (numbers.length !== 2 || !isUsable(cache_read) || !isUsable(cache_write)) {
		throw new PalimpsestError(
			"invalid_argument",
			`Expected prices as READ,WRITE, two numbers of 0 or more such as 0.1,1.25; got ${JSON.stringify(text.slice(0, 80))}.`,
		);
	}
	return { input: 1, cache_read, cache_write, output };
}

import { PalimpsestError } from "../errors.ts";
import { pricesFor } from "../masking/cache-time.ts";
import type { Prices } from "../policy/schema.ts";
import type { CallCosts } from "../replaying/faults.ts";
import { type CataloguedPrice, findInCatalogue } from "../tokens/models.ts";

/** Returns rates in US dollars, from the bundled catalogue. Throws PalimpsestError `invalid_argument` for an unknown model. */
export async function ratesOfModel(model: string, configured: Prices): Promise<Rates> {
	const listed = (await findInCatalogue(model))?.prices;
	const input = listed?.input_mtok;
	if (listed === undefined || input === undefined) {
		const message = `The model catalogue knows no prices for ${JSON.stringify(model.slice(0, 80))}: give --prices READ,WRITE, such as 0.1,1.25.`;
		throw new PalimpsestError("invalid_argument", message);
	}
	const { cache_read_mtok: read = input, cache_write_mtok: write = input, output_mtok: output = 0 } = listed;
	const prices = {
		...configured,
		input: at(input),
		cache_read: at(read),
		cache_write: at(write),
		output: at(output),
		cache_write_hour: null,
	};
	const ratesFor = (seconds: number): Rates => {
		const applied = pricesFor(prices, seconds);
		// The catalogue has no price of a cache that lasts an hour.
		const surcharge = prices.cache_write === 0 ? 1 : applied.cache_write / prices.cache_write;
		return {
			prices: applied,
			unit: "us_dollars",
			costOf: ({ input, cached }) =>
				(cached * at(read, input) + (input - cached) * at(write, input) * surcharge) / 1_000_000,
			costOfOutput: (tokens, input) => (tokens * at(output, input)) / 1_000_000,
			lasting: ratesFor,
		};
	};
	return ratesFor(configured.cache_seconds);
}

/** For a call of `input` tokens. */
function at(price: CataloguedPrice, input = 0): number {
	if (typeof price === "number") return price;
	return price.tiers.reduce((found, tier) => (input > tier.start && tier.start >= found.start ? tier : found), {
		start: 0,
		price: price.base,
	}).price;
}

export interface Rates extends CallCosts {
	/** The ratios, or the lowest tier of a model's prices. Policies decide by them. */
	readonly prices: Prices;
	readonly unit: "input_tokens" | "us_dollars";
	/** The same for a cache that lasts so many seconds. */
	readonly lasting: (cacheSeconds: number) => Rates;
}

/** Relative to the price of an input token; absolute if that is 0. */
export function ratesOfPrices(given: Prices, cacheSeconds = given.cache_seconds): Rates {
	const prices = pricesFor(given, cacheSeconds);
	const { cache_read, cache_write, output } = prices;
	const one = prices.input > 0 ? prices.input : 1;
	return {
		prices,
		lasting: (seconds) => ratesOfPrices(given, seconds),
		unit: "input_tokens",
		costOf: ({ input, cached }) => (cached * cache_read + (input - cached) * cache_write) / one,
		costOfOutput: (tokens) => (tokens * output) / one,
	};
}

const highest = 1_000_000;

/**
 * `READ,WRITE` or `READ,WRITE,OUTPUT`, multiples of the input price such as `0.1,1.25,5`; output is as configured if it is
 * not given. Throws PalimpsestError `invalid_argument`.
 */
export function parsePrices(text: string, configured: Prices): Prices {
	const numbers = text.split(",").map((one) => (one.trim() === "" ? Number.NaN : Number(one)));
	const [cache_read, cache_write, output = configured.output / (configured.input || 1)] = numbers;
	const areUsable = numbers.every((price) => price >= 0 && price <= highest);
	if (!areUsable || cache_read === undefined || cache_write === undefined || numbers.length > 3) {
		const message = `Expected prices as READ,WRITE or READ,WRITE,OUTPUT, numbers of 0 or more such as 0.1,1.25 or 0.1,1.25,5; got ${JSON.stringify(text.slice(0, 80))}.`;
		throw new PalimpsestError("invalid_argument", message);
	}
	return { ...configured, input: 1, cache_read, cache_write, output };
}

import { PalimpsestError } from "../../errors.ts";
import { type CataloguedPrice, findInCatalogue } from "../../tokens/model-catalogue.ts";
import type { Rates } from "./rates.ts";

/**
 * What a model's provider charges in US dollars, as the bundled catalogue has it (no network). Where it lists no price of
 * its own for reading from the cache or writing to it, that costs what input costs.
 *
 * @throws PalimpsestError `invalid_argument` where the catalogue has no prices for the model.
 */
export async function ratesOfModel(model: string): Promise<Rates> {
	const listed = (await findInCatalogue(model))?.prices;
	const input = listed?.input_mtok;
	if (listed === undefined || input === undefined) {
		throw new PalimpsestError(
			"invalid_argument",
			`The model catalogue knows no prices for ${JSON.stringify(model.slice(0, 80))}: give --prices READ,WRITE, such as 0.1,1.25.`,
		);
	}
	const { cache_read_mtok: read = input, cache_write_mtok: write = input, output_mtok: output = 0 } = listed;
	return {
		prices: { input: at(input), cache_read: at(read), cache_write: at(write), output: at(output) },
		unit: "us_dollars",
		costOf: ({ input, cached }) => (cached * at(read, input) + (input - cached) * at(write, input)) / 1_000_000,
	};
}

/** The price in a call with so much input. */
function at(price: CataloguedPrice, input = 0): number {
	if (typeof price === "number") return price;
	return price.tiers.reduce((found, tier) => (input > tier.start && tier.start >= found.start ? tier : found), {
		start: 0,
		price: price.base,
	}).price;
}

import { pricesSetIn } from "../../engine/policy/layers.ts";
import type { Prices } from "../../engine/policy/schema.ts";
import { type CataloguedPrice, loadCatalogue, withoutProvider } from "./models.ts";
import { type ModelPrices, pricesInTable, usualOutput, usualRead } from "./price-table.ts";

/**
 * Finds prices without waiting: in our table, else in the catalogue once `openCatalogue` is done; `undefined` for an unknown model. A
 * version or tier that both lack has the factors of the latest version of its family in the table that is not later, those of the first if
 * all are, and no dollars. A name without a version, such as `opus`, has the prices of the latest. `at` is when the request is answered, in
 * ms since 1970.
 */
export function pricesOfModel(model: string, at?: number): ModelPrices | undefined {
	if (model.length > longestName) return undefined;
	const name = withoutProvider(/(?:^|\/)ft:([^:/]+)/i.exec(model.trim())?.[1] ?? model);
	const own = pricesInTable(name, at);
	const found = own && !own.isOfRelative ? own : ofRelative(own, catalogued(model, name, at));
	if (!found || !isOtherwisePriced.test(model)) return found;
	const { dollars: _, ...factors } = found;
	return factors;
}

/** How a relative is cached, and the prices of the catalogue. Without those, only the factors of the relative are taken. */
function ofRelative(relative: ModelPrices | undefined, listed: ModelPrices | undefined): ModelPrices | undefined {
	if (!relative) return listed;
	const { dollars: _, isOfRelative: __, ...factors } = relative;
	if (!listed) return factors;
	const { name, read, output, steps, dollars } = listed;
	return { ...factors, name, read, output, steps, ...(dollars && { dollars }) };
}

/** `[prices]` with those of a model. Prices that the policy sets itself stay. */
export function withPricesOf(
	{ read, write, writeForHour, output, steps, minutes }: ModelPrices,
	prices: Prices,
): Prices {
	const own = ownPrices(prices);
	const at = (factor: number) => factor * prices.input;
	return {
		...prices,
		cache_read: own.cache_read ?? at(read),
		cache_write: own.cache_write ?? at(write),
		cache_write_hour:
			own.cache_write === undefined ? (own.cache_write_hour ?? at(writeForHour)) : prices.cache_write_hour,
		output: own.output ?? at(output),
		steps: own.steps ?? steps,
		cache_seconds: own.cache_seconds ?? minutes * 60,
	};
}

/** The prices that the policy sets, unlike the defaults. */
export function ownPrices(prices: Prices): { readonly [Key in keyof Prices]?: NonNullable<Prices[Key]> } {
	const set = pricesSetIn(prices);
	return Object.fromEntries(Object.entries(prices).filter(([key, value]) => set.has(key) && value !== null));
}

/** Names come from requests. */
const longestName = 200;

/** A free variant on OpenRouter, or a fine-tuned model: the dollars of its model do not apply. */
const isOtherwisePriced = /:free$|(?:^|\/)ft:/i;

type Search = Awaited<ReturnType<typeof loadCatalogue>>;

let catalogue: Search | undefined;
let opening: Promise<void> | undefined;

/** From then on `pricesOfModel` reads the catalogue as well. */
export function openCatalogue(): Promise<void> {
	opening ??= loadCatalogue().then((search) => {
		catalogue = search;
	});
	return opening;
}

function catalogued(model: string, name: string, at: number | undefined): ModelPrices | undefined {
	if (!catalogue || name === "") return undefined;
	const found = catalogue(model, at);
	return found && pricesFromCatalogue(name, found.prices);
}

/** A model without a price of reads may still be cached: its reports decide. */
function pricesFromCatalogue(name: string, prices: NonNullable<ReturnType<Search>>["prices"]): ModelPrices | undefined {
	const { input_mtok: listed, output_mtok: listedOutput, cache_read_mtok, cache_write_mtok } = prices;
	const input = baseOf(listed);
	if (!input || listed === undefined) return undefined;
	const output = baseOf(listedOutput) ?? usualOutput * input;
	const write = (baseOf(cache_write_mtok) ?? input) / input;
	const hour = baseOf(prices.cache_write_1h_mtok);
	const steps = typeof listed === "number" ? [] : listed.tiers;
	return {
		name,
		read: (baseOf(cache_read_mtok) ?? usualRead * input) / input,
		write,
		writeForHour: hour === undefined ? write : hour / input,
		output: output / input,
		steps: steps.map(({ start, price }) => ({
			over: start,
			input: price / input,
			output: (priceOver(listedOutput, start) ?? output) / output,
		})),
		minutes: 5,
		isAsked: false,
		dollars: { input, output },
		tiers: {},
		regional: 1,
	};
}

function baseOf(price: CataloguedPrice | undefined): number | undefined {
	return typeof price === "object" ? price.base : price;
}

function priceOver(price: CataloguedPrice | undefined, start: number): number | undefined {
	return typeof price === "object" ? price.tiers.find((tier) => tier.start === start)?.price : price;
}

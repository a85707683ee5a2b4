import { pricesSetIn } from "../../engine/policy/layers.js";
import { loadCatalogue, withoutProvider } from "./models.js";
import { pricesInTable, usualOutput, usualRead } from "./price-table.js";
/**
 * Finds prices without waiting: in our table, else in the catalogue once `openCatalogue` is done; `undefined` for an unknown model. A
 * version has the prices of the latest version of its family in the table that is not later, and those of the first if all
 * are. A name without a version, such as `opus`, has those of the latest. `at` is when the request is answered, in ms since 1970.
 */
export function pricesOfModel(model, at) {
	if (model.length > longestName) return undefined;
	const name = withoutProvider(/(?:^|\/)ft:([^:/]+)/i.exec(model.trim())?.[1] ?? model);
	const found = pricesInTable(name, at) ?? catalogued(model, name, at);
	if (!found || !isFree.test(model)) return found;
	const { dollars: _, ...factors } = found;
	return factors;
}
/** `[prices]` with those of a model. Prices that the policy sets itself stay. */
export function withPricesOf({ read, write, writeForHour, output, steps, minutes }, prices) {
	const own = ownPrices(prices);
	const at = (factor) => factor * prices.input;
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
export function ownPrices(prices) {
	const set = pricesSetIn(prices);
	return Object.fromEntries(Object.entries(prices).filter(([key, value]) => set.has(key) && value !== null));
}
/** Names come from requests. */
const longestName = 200;
/** A free variant on OpenRouter: the dollars of its model do not apply. */
const isFree = /:free$/i;
let catalogue;
let opening;
/** From then on `pricesOfModel` reads the catalogue as well. */
export function openCatalogue() {
	opening ??= loadCatalogue().then((search) => {
		catalogue = search;
	});
	return opening;
}
function catalogued(model, name, at) {
	if (!catalogue || name === "") return undefined;
	const found = catalogue(model, at);
	return found && pricesFromCatalogue(name, found.prices);
}
/** A model without a price of reads may still be cached: its reports decide. */
function pricesFromCatalogue(name, prices) {
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
function baseOf(price) {
	return typeof price === "object" ? price.base : price;
}
function priceOver(price, start) {
	return typeof price === "object" ? price.tiers.find((tier) => tier.start === start)?.price : price;
}

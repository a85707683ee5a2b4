import { pricesFor } from "../engine/masking/cache-time.js";
import { stepFactors } from "../engine/masking/price-steps.js";
import { PalimpsestError } from "../errors.js";
import { openCatalogue, pricesOfModel, withPricesOf } from "../formats/tokens/model-prices.js";
/** Relative to the price of an input token; absolute if that is 0. */
export function ratesOfPrices(given, { model, dollars } = {}, cacheSeconds = given.cache_seconds) {
	const prices = pricesFor(given, cacheSeconds);
	const { cache_read, cache_write, output } = prices;
	const one = prices.input > 0 ? prices.input : 1;
	return {
		prices,
		dollars,
		model,
		lasting: (seconds) => ratesOfPrices(given, { model, dollars }, seconds),
		costOf: ({ input, cached }) =>
			((cached * cache_read + (input - cached) * cache_write) / one) * stepFactors(prices, input).input,
		costOfOutput: (tokens, input) => ((tokens * output) / one) * stepFactors(prices, input).output,
	};
}
/** The rates of a model that a call names. Throws PalimpsestError `invalid_argument` for an unknown model. */
export async function ratesOfModel(model, configured) {
	const rates = await ratesOfSession(model, configured);
	if (rates.model !== undefined) return rates;
	const message = `No prices are known for ${JSON.stringify(model.slice(0, 80))}: give --prices READ,WRITE, such as 0.1,1.25.`;
	throw new PalimpsestError("invalid_argument", message);
}
/**
 * The rates of the model that a session names; the policy's rates for an unknown one. The dollars are the mean of those at
 * the times of its calls, in ms since 1970; without any, those of today's table.
 */
export async function ratesOfSession(model, configured, times = []) {
	await openCatalogue();
	if (model === undefined) return ratesOfPrices(configured);
	const inForce = (times.length > 0 ? times : [undefined]).map((at) => pricesOfModel(model, at));
	const known = inForce.at(-1);
	if (!known) return ratesOfPrices(configured);
	const inputs = inForce.flatMap((prices) => prices?.dollars?.input ?? []);
	const dollars = known.dollars && inputs.reduce((sum, one) => sum + one, 0) / inputs.length / 1_000_000;
	return ratesOfPrices(withPricesOf(known, configured), { model: known.name, dollars });
}
/** When the calls of a session were made, in ms since 1970, as far as its record says. */
export function timesOfCalls({ messages }) {
	return messages.flatMap(({ role, time }) => (role === "assistant" && time !== undefined ? [time] : []));
}
export function pricingFigures({ model, prices }) {
	const one = prices.input > 0 ? prices.input : 1;
	return {
		model: model ?? null,
		cache_read: prices.cache_read / one,
		cache_write: prices.cache_write / one,
		output: prices.output / one,
		steps: prices.steps,
	};
}
const highest = 1_000_000;
/**
 * `READ,WRITE` or `READ,WRITE,OUTPUT`, multiples of the input price such as `0.1,1.25,5`; output is as configured if it is
 * not given. Throws PalimpsestError `invalid_argument`.
 */
export function parsePrices(text, configured) {
	const numbers = text.split(",").map((one) => (one.trim() === "" ? Number.NaN : Number(one)));
	const [cache_read, cache_write, output = configured.output / (configured.input || 1)] = numbers;
	const areUsable = numbers.every((price) => price >= 0 && price <= highest);
	if (!areUsable || cache_read === undefined || cache_write === undefined || numbers.length > 3) {
		const message = `Expected prices as READ,WRITE or READ,WRITE,OUTPUT, numbers of 0 or more such as 0.1,1.25 or 0.1,1.25,5; got ${JSON.stringify(text.slice(0, 80))}.`;
		throw new PalimpsestError("invalid_argument", message);
	}
	return { ...configured, input: 1, cache_read, cache_write, output };
}

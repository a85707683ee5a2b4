import { stepFactors } from "../../engine/masking/price-steps.ts";
import { type CacheTerms, termsOfOther } from "./terms.ts";

/** Tokens that a provider says it has billed. */
export interface TokenCounts {
	/** Neither read from its cache nor written to it. */
	readonly input: number;
	readonly cacheRead: number;
	readonly cacheWrite: number;
	/** Among those written, the ones written for an hour. */
	readonly cacheWriteForHour?: number;
	readonly output: number;
}

/** The usage of an answer: the sums of all that its model did, and how they came about. */
export interface Usage extends TokenCounts {
	/** What the provider ran one after the other, if more than once: each has a prompt of its own, the first that of the request. */
	readonly passes?: readonly TokenCounts[];
	/** What other models did, in no other sum. They have prices of their own. */
	readonly beside?: readonly { readonly model: string; readonly counts: TokenCounts }[];
	/** The answer ended before it told the output, so that more was billed. */
	readonly isCut?: true;
	/** Names of fields with counts of tokens that are not known, and so in no sum. */
	readonly unknownFields?: readonly string[];
}

/** The usage of the request as it was sent, without later passes. */
export function firstPass(usage: Usage): TokenCounts {
	return usage.passes?.[0] ?? usage;
}

export function promptTokens({ input, cacheRead, cacheWrite }: TokenCounts): number {
	return input + cacheRead + cacheWrite;
}

/** The output of an answer, in prices of an input token; without `beside`. `prompt` is the size of another first prompt. */
export function outputBill(usage: Usage, { prices }: CacheTerms, prompt?: number): number {
	const bills = (usage.passes ?? [usage]).map((one, index) => {
		const size = index === 0 && prompt !== undefined ? prompt : promptTokens(one);
		return one.output * prices.output * stepFactors(prices, size).output;
	});
	return bills.reduce((sum, one) => sum + one, 0);
}

/** US dollars for a bill in prices of an input token. */
export function dollarsOf(billed: number, { dollars, prices }: CacheTerms): number | undefined {
	return dollars && ((billed / prices.input) * dollars.input) / 1_000_000;
}

/** US dollars of an answer; `undefined` if a price is unknown. */
export function dollarsOfAnswer(usage: Usage, terms: CacheTerms): number | undefined {
	const own = dollarsOf(inputBill(usage, terms) + outputBill(usage, terms), terms);
	return (usage.beside ?? []).reduce<number | undefined>((sum, { model, counts }) => {
		const ofOther = termsOfOther(terms, model);
		const more = ofOther && dollarsOfAnswer(counts, ofOther);
		return sum === undefined || more === undefined ? undefined : sum + more;
	}, own);
}

/**
 * The bill of the input, in prices of an input token; without `beside`. An answer may tell for how long tokens were written. Each pass
 * has the price step of its own prompt.
 */
export function inputBill(usage: Usage, terms: CacheTerms): number {
	return (usage.passes ?? [usage]).reduce((sum, one) => sum + inputBillOfPass(one, terms), 0);
}

function inputBillOfPass(counts: TokenCounts, { prices, writes, reads }: CacheTerms): number {
	const { input, cacheRead, cacheWrite, cacheWriteForHour: forHour } = counts;
	const written =
		forHour === undefined
			? cacheWrite * Math.max(prices.cache_write, writes.minutes)
			: forHour * writes.hour + (cacheWrite - forHour) * writes.minutes;
	const { input: factor } = stepFactors(prices, promptTokens(counts));
	return (input * prices.input + cacheRead * reads + written) * factor;
}

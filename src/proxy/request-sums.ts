/** The sums of some requests, all zero. Bills are those of the input, in prices of an input token; `usd` has the output. */
export const newSums = () => ({
	requests: 0,
	tokens_sent: 0,
	tokens_left_out: 0,
	output_tokens: 0,
	cache_read_tokens: 0,
	cache_write_tokens: 0,
	billed: 0,
	billed_unedited: 0,
	/** The requests whose unedited bill is unknown, and their bill. */
	untold_requests: 0,
	untold_billed: 0,
	/** US dollars of the requests, and the requests of models whose price is unknown. */
	usd: 0,
	unpriced_requests: 0,
	/** US dollars of the unedited requests, less those of the requests; and the requests without one of the two. */
	usd_saved: 0,
	usd_untold_requests: 0,
	/** Requests whose answer told no usage that can be read: tokens and bill are estimates, the output is in neither. */
	estimated_requests: 0,
	/** Requests whose answer was cut before it told its output, which is in no figure. */
	cut_requests: 0,
	/** Requests priced without a cache, since the upstream never tells of tokens read from one. */
	uncached_requests: 0,
	/** Tokens of reasoning that was left out, counted in each request. */
	reasoning_left_out: 0,
	/** What the provider has cleared itself, as its answers say, counted in each request. */
	provider_cleared_results: 0,
	provider_cleared_tokens: 0,
});

export type Sums = ReturnType<typeof newSums>;

export function addTo(sums: Sums, more: Sums): void {
	for (const key of Object.keys(sums) as (keyof Sums)[]) sums[key] += more[key];
}

/** `billed_unedited`, `ratio` and dollars cover the requests with known values; null if there are none. */
export function figuresOf(sums: Sums) {
	const { requests, billed, billed_unedited: unedited, untold_requests: untold, untold_billed: billedUntold } = sums;
	const isKnown = (unknown: number) => requests === 0 || unknown < requests;
	const isTold = isKnown(untold);
	const ratio = unedited > 0 ? (billed - billedUntold) / unedited : 1;
	return {
		...sums,
		billed: Math.round(billed),
		untold_billed: Math.round(billedUntold),
		billed_unedited: isTold ? Math.round(unedited) : null,
		ratio: isTold ? Math.round(ratio * 1_000) / 1_000 : null,
		usd: isKnown(sums.unpriced_requests) ? shownDollars(sums.usd) : null,
		usd_saved: isKnown(sums.usd_untold_requests) ? shownDollars(sums.usd_saved) : null,
	};
}

/** To a millionth. */
export const shownDollars = (usd: number): number => Math.round(usd * 1_000_000) / 1_000_000;

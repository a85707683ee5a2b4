/** The multiples of the price for all tokens of a request, by the size of its prompt, with tokens read and written. */
export function stepFactors({ steps }, promptTokens) {
	return steps.reduce((found, step) => (promptTokens > step.over && step.over >= found.over ? step : found), {
		over: 0,
		input: 1,
		output: 1,
	});
}
/** The prices with steps in other tokens, `tokens` of them for each token of the provider. */
export function withStepsIn(prices, tokens) {
	if (tokens === 1 || prices.steps.length === 0) return prices;
	return { ...prices, steps: prices.steps.map((step) => ({ ...step, over: step.over * tokens })) };
}

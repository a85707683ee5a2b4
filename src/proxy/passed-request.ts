import type { CacheTerms } from "../billing/terms.ts";
import { dollarsOf, inputBill, outputBill, type Usage } from "../billing/usage.ts";
import { type Figure, modelName } from "../figures/line.ts";

/** A request for an answer that passed as the program sent it, without a look at its conversation. */
export interface PassedRequest {
	readonly usage: Usage;
	readonly terms: CacheTerms;
	readonly program: string | undefined;
	/** Why nothing was decided, if it has a conversation. */
	readonly undecided: "signed" | "thread" | "large" | undefined;
}

/** The unedited bill of such a request is its own. */
export function lineOfPassed({ usage, terms, undecided }: PassedRequest): Figure {
	const { input, cacheRead: read, cacheWrite: write, output } = usage;
	const billed = inputBill(usage, terms);
	const usd = dollarsOf(billed + outputBill(usage, terms), terms);
	return {
		kind: "request",
		model: terms.model === undefined ? undefined : modelName(terms.model),
		input,
		read,
		write,
		output,
		left_out: 0,
		billed,
		unedited: billed,
		usd,
		usd_unedited: usd,
		undecided,
	};
}

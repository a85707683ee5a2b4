import { type Figure, modelName } from "../storage/figures/line.ts";
import type { CacheTerms } from "./billing/terms.ts";
import { dollarsOfAnswer, inputBill, type Usage } from "./billing/usage.ts";

/** A request for an answer that passed as the program sent it, without a look at its conversation. */
export interface PassedRequest {
	/** `undefined` if its answer told none that can be read. */
	readonly usage: Usage | undefined;
	readonly terms: CacheTerms;
	readonly program: string | undefined;
	/** The project that the caller of a proxy with several names. */
	readonly project?: string | undefined;
	/** Why nothing was decided, if it has a conversation. */
	readonly undecided: "signed" | "thread" | "large" | "no_room" | "no_format" | undefined;
}

/** The unedited bill of such a request is its own. */
export function lineOfPassed({ usage, terms, undecided }: PassedRequest): Figure {
	const model = terms.model === undefined ? undefined : modelName(terms.model);
	const none = { input: 0, read: 0, write: 0, output: 0, left_out: 0, billed: 0 };
	if (!usage) return { kind: "request", model, ...none, unknown: true, undecided };
	const { input, cacheRead: read, cacheWrite: write, output } = usage;
	const billed = inputBill(usage, terms);
	const usd = dollarsOfAnswer(usage, terms);
	return {
		kind: "request",
		model,
		input,
		read,
		write,
		output,
		left_out: 0,
		billed,
		unedited: billed,
		usd,
		usd_unedited: usd,
		cut: usage.isCut,
		undecided,
	};
}

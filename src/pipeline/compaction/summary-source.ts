import type { Summariser } from "../../summariser/summariser.ts";

/** Where the summary of a compaction comes from. */
export type SummarySource =
	/** A model is asked. */
	| { readonly kind: "summariser"; readonly summariser: Summariser }
	/** The caller has written it; `token` names the range that it was asked for. */
	| { readonly kind: "given"; readonly summary: string; readonly token?: string | undefined }
	/** The caller is asked: the answer is the request. */
	| { readonly kind: "caller" }
	/** Nobody is asked: the guard's ladder takes the place of the summary. */
	| { readonly kind: "none" };

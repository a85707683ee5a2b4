import type { Unasked } from "./billing/unasked-cache.ts";
import { addTo, newSums, type Sums } from "./request-sums.ts";
import type { NoDecision } from "./sending/decisions.ts";
import type { Fault } from "./sending/editing.ts";

/** Sums over all requests whose conversation may be edited. Bills are those of the input, in prices of an input token. */
export interface ProxyTotals {
	readonly requests: number;
	readonly tokensSent: number;
	readonly tokensLeftOut: number;
	readonly billed: number;
	/** The bill of the same requests unedited, without requests whose unedited bill is unknown. */
	readonly billedUnedited: number;
	/** The conversations whose unedited bill is unknown, and their bill. */
	readonly untoldRequests: number;
	readonly untoldBilled: number;
	/** US dollars, with the output, and what the unedited requests would have cost more; pings are in neither. */
	readonly usd: number;
	readonly usdSaved: number;
	/** The requests of models without a known price, and those whose saving in dollars is unknown. */
	readonly unpricedRequests: number;
	readonly usdUntoldRequests: number;
	/** Priced without a cache, since the upstream never tells of tokens read from one. */
	readonly uncachedRequests: number;
	/** Tokens of reasoning that was left out of requests, counted in each of them. */
	readonly reasoningLeftOut: number;
	/** Requests that got no new decisions, by the reason. */
	readonly undecided: Readonly<Partial<Record<Undecided, number>>>;
	/** Conversations that once got no new decisions after a refusal. */
	readonly frozen: number;
	readonly unasked: Unasked;
	readonly keptWarm: KeptWarm;
	/** The number of all requests, of those that got no good answer, and the last such failure. */
	readonly asked: number;
	readonly failed: number;
	readonly failure: Failure | undefined;
	/** Answered in place of an edited request. */
	readonly edited: number;
	/** Answered without a usage that can be read. */
	readonly estimated: number;
	/** Answered without the end that tells the output. */
	readonly cut: number;
	/** Passed unread, and answered without a usage that can be read. */
	readonly unknownUsage: number;
	readonly unknownFields: readonly string[];
	/** In an encoding that cannot be read, and so unedited. */
	readonly unread: number;
	/** With new messages alone, and so unedited. */
	readonly threads: number;
}

/** An upstream that could not be reached, or answered with an error. `address` is its origin. */
export type Failure =
	| { readonly kind: "unreached"; readonly address: string; readonly code: string }
	| { readonly kind: "refused"; readonly address: string; readonly status: number };

/**
 * `signed`: with a signature or a digest of its body, it passed unread. `large`: it is too large to be edited. `no_room`: the
 * bodies of others leave no memory for it. `kept_by_provider`: it holds new items alone.
 * `no_format`: its messages fit none.
 */
export type Undecided = NoDecision | "signed" | "large" | "no_room" | "kept_by_provider" | "no_format";

/** Pings that keep caches warm. They are in no other figure. */
export interface KeptWarm {
	/** Answered, with their bill. */
	readonly pings: number;
	readonly billed: number;
	/** US dollars of those whose model has a known price. */
	readonly usd: number;
	/** Without an answer that tells what they cost. */
	readonly failed: number;
}

/** What a ledger has counted over all conversations. */
export interface Books {
	/** In ms since 1970. */
	readonly started: number;
	readonly counts: Readonly<Record<"requests" | "edited" | "passed" | "sent_again" | "threads" | "failed", number>>;
	readonly faults: Readonly<Record<Fault, number>>;
	/** Requests that got no new decisions, by the reason; and when the latest was, in ms since 1970. */
	readonly undecided: Readonly<Partial<Record<Undecided, number>>>;
	readonly undecidedLast: Readonly<Partial<Record<Undecided, number>>>;
	readonly frozen: number;
	readonly failure: Failure | undefined;
	readonly all: Readonly<Record<"edited" | "held_out" | "subagents", Sums>>;
	readonly unasked: Unasked;
	readonly keptWarm: KeptWarm;
	readonly unknownUsage: number;
	readonly unknownFields: readonly string[];
}

/** Adds the sums of the requests that may be edited and of those that are held out. */
export function totalsOf(books: Books): ProxyTotals {
	const all = newSums();
	for (const sums of [books.all.edited, books.all.held_out]) addTo(all, sums);
	return {
		undecided: books.undecided,
		frozen: books.frozen,
		unasked: books.unasked,
		keptWarm: books.keptWarm,
		asked: books.counts.requests,
		failed: books.counts.failed,
		failure: books.failure,
		edited: books.counts.edited,
		unknownUsage: books.unknownUsage,
		unknownFields: books.unknownFields,
		unread: books.faults.encoding,
		threads: books.counts.threads,
		requests: all.requests,
		tokensSent: all.tokens_sent,
		tokensLeftOut: all.tokens_left_out,
		billed: all.billed,
		billedUnedited: all.billed_unedited,
		untoldRequests: all.untold_requests,
		untoldBilled: all.untold_billed,
		usd: all.usd,
		usdSaved: all.usd_saved,
		unpricedRequests: all.unpriced_requests,
		usdUntoldRequests: all.usd_untold_requests,
		uncachedRequests: all.uncached_requests,
		reasoningLeftOut: all.reasoning_left_out,
		estimated: all.estimated_requests,
		cut: all.cut_requests,
	};
}

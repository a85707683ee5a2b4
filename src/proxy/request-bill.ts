import { type Figure, modelName } from "../storage/figures/line.ts";

import type { Cleared } from "./billing/read-usage.ts";
import { withAdded } from "./billing/ruler.ts";
import { billUnedited, estimatedBill, type RequestParts, tokensOf } from "./billing/unedited-bill.ts";
import {
	dollarsOf,
	dollarsOfAnswer,
	firstPass,
	inputBill,
	outputBill,
	promptTokens,
	type Usage,
} from "./billing/usage.ts";
import type { Account } from "./ledger-account.ts";
import type { Sums } from "./request-sums.ts";
import type { NoDecision } from "./sending/decisions.ts";
import type { RequestFacts } from "./sending/facts.ts";
import { sessionName } from "./tool-record.ts";

/** A request whose answer has ended. */
export interface EnteredRequest {
	/** The name of its API. */
	readonly api: string;
	readonly wasEdited: boolean;
	/** The provider's; without it, the bill is estimated. */
	readonly usage: Usage | undefined;
	readonly cleared?: Cleared | undefined;
	/** For the figures: the program of the request, and its decisions. */
	readonly program?: string | undefined;
	readonly project?: string | undefined;
	/** The subagent that sent it, as the program names it. */
	readonly agent?: string | undefined;
	readonly decisions?: number | undefined;
	readonly noDecision?: NoDecision | undefined;
	/** Why the cache could not be read, as the provider tells it. */
	readonly missReason?: string | undefined;
}

export interface RequestBill {
	readonly sums: Sums;
	/** The request as it was counted, without what answers add to it. */
	readonly parts: RequestParts;
	/** The same with it. */
	readonly measured: RequestParts;
	/** The part of the usage that reads the request. */
	readonly prompt: Usage | undefined;
	/** The bill of the same request unedited; 0 if it is not told. */
	readonly billedUnedited: number;
	/** Tokens that were sent before and again. */
	readonly repeated: number;
	/** Whether the unedited bill of the conversation cannot be told from now on. */
	readonly isUntold: boolean;
	readonly line: Figure;
}

/** The bill of a request as it was sent, and of the same request unedited. The account learns from it how tokens are counted. */
export function billOf(account: Account, facts: RequestFacts, given: EnteredRequest): RequestBill {
	const { wasEdited, usage } = given;
	const { terms, isCold, isResumed } = facts;
	const { unedited, sent: edited } = facts.parts();
	const parts = { unedited, sent: wasEdited ? edited : unedited };
	const counted = tokensOf(parts.sent);
	const prompt = usage && firstPass(usage);
	const cleared = given.cleared?.tokens ?? 0;
	const real = prompt && promptTokens(prompt);
	// What it clears because we ask for that is in no count of ours; what the host asks for is in ours alone.
	const unseen = wasEdited && facts.results.some(({ reason }) => reason === "cleared") ? 0 : cleared;
	const messages = cleared > 0 ? undefined : parts.sent.length;
	if (real) account.ruler.learn({ model: facts.model, counted, messages, real: real + unseen });
	const { scale, added } = account.ruler.measure(counted, real && real + unseen);
	const measured = withAdded(parts, added);
	const request = { parts: measured, before: account.before, usage: prompt, scale, terms, isCold, isResumed };
	const billed = usage ? inputBill(usage, terms) : estimatedBill(request);
	const raw = billUnedited(request);
	const isOnceEdited = account.wasEdited || wasEdited;
	const isUntold = !account.isTold || (isOnceEdited && raw.isUnexplained);
	// A saving is claimed by what the provider reports.
	const isTold = !isUntold && usage !== undefined;
	const later = prompt ? billed - inputBill(prompt, terms) : 0;
	const billedUnedited = isOnceEdited ? raw.billed + later : billed;
	const leftOut = (tokensOf(unedited) - counted) * scale;
	const output = account.outputs.of(usage) * terms.prices.output;
	const usd = usage ? dollarsOfAnswer(usage, terms) : dollarsOf(billed + output, terms);
	const moreOutput =
		usage && prompt ? outputBill(usage, terms, promptTokens(prompt) + leftOut) - outputBill(usage, terms) : 0;
	const saved = dollarsOf(billedUnedited - billed + moreOutput, terms);
	const usdUnedited = isTold && usd !== undefined && saved !== undefined ? usd + saved : undefined;
	const sums: Sums = {
		requests: 1,
		tokens_sent: Math.round(usage ? promptTokens(usage) : (counted + added) * scale),
		tokens_left_out: wasEdited ? Math.max(0, Math.round(leftOut)) : 0,
		output_tokens: usage?.output ?? 0,
		cache_read_tokens: usage?.cacheRead ?? 0,
		cache_write_tokens: usage?.cacheWrite ?? 0,
		billed,
		billed_unedited: isTold ? billedUnedited : 0,
		untold_requests: isTold ? 0 : 1,
		untold_billed: isTold ? 0 : billed,
		usd: usd ?? 0,
		unpriced_requests: usd === undefined ? 1 : 0,
		usd_saved: usd === undefined || usdUnedited === undefined ? 0 : usdUnedited - usd,
		usd_untold_requests: usd === undefined || usdUnedited === undefined ? 1 : 0,
		estimated_requests: usage ? 0 : 1,
		cut_requests: usage?.isCut ? 1 : 0,
		uncached_requests: terms.caching === "never_read" && !terms.isUnmarked ? 1 : 0,
		reasoning_left_out: wasEdited ? facts.reasoningLeftOut : 0,
		provider_cleared_results: given.cleared?.results ?? 0,
		provider_cleared_tokens: cleared,
	};
	const line: Figure = {
		kind: "request",
		model: facts.model === undefined ? undefined : modelName(facts.model),
		...(usage
			? { input: usage.input, read: usage.cacheRead, write: usage.cacheWrite, output: usage.output }
			: { input: sums.tokens_sent, read: 0, write: 0, output: 0, estimated: true }),
		left_out: sums.tokens_left_out,
		billed,
		unedited: isTold ? billedUnedited : undefined,
		usd,
		usd_unedited: usdUnedited,
		agent: account.agent,
		session: facts.conversation === undefined ? undefined : sessionName(facts.conversation),
		decisions: given.decisions ?? 0,
		held_out: facts.why === "held_out" ? true : undefined,
		cut: usage?.isCut,
		undecided: given.noDecision,
	};
	return { sums, parts, measured, prompt, billedUnedited, repeated: raw.repeated, isUntold, line };
}

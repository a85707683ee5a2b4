import type { LostIdentifier } from "../compaction/lost-identifiers.ts";
import type { CompactionStrategy } from "../compaction/strategy.ts";
import { type Measurement, measure, scaleTokens, type TokenScale } from "../conversation/measure.ts";
import type { Edit } from "../conversation/plan.ts";
import type { Transcript } from "../conversation/transcript.ts";
import type { BuiltInStrategy } from "../policy/names.ts";
import type { Summariser, SummaryProgress } from "../summariser/summariser.ts";
import { calibrate, checkGivenTokens, contextWindowOfCall, type GivenTokens } from "./context-window.ts";
import { type ChangeReport, type ConversationRequest, type Outcome, openConversation } from "./conversation.ts";
import { sentMessages } from "./guard.ts";

/** A conversation read and counted, with the context window and the trigger. */
export type OpenedCompaction = Awaited<ReturnType<typeof openCompaction>>;

/**
 * Reads and counts a conversation that may be compacted.
 *
 * @throws PalimpsestError as `compactConversation` does.
 */
export async function openCompaction(request: CompactRequest) {
	const { policy } = request;
	const inputTokens = checkGivenTokens(request);
	const opened = await openConversation(request);
	const { transcript, meter, model } = opened;
	const measurement = measure(transcript, meter, opened.requestOverhead(meter.countTokens));
	const estimate = calibrate(opened.estimate, { transcript, measurement, inputTokens });
	const window = await contextWindowOfCall(request.contextWindow, policy, model);
	const facts = {
		...opened,
		measurement,
		estimate,
		scale: estimate.scale,
		contextWindow: window?.tokens,
		windowNotes: window?.notes ?? [],
		reserveTokens: request.reserveTokens ?? policy.guard.reserve_tokens,
	};
	return { ...facts, trigger: compactionTrigger(request, facts) };
}

/**
 * A compaction is due if it is forced, if the tokens (at the upper end of their band) and the reserve fill the window
 * (docs/specs/compaction-strategies.md#trigger), or if there are as many messages as the policy allows
 * (docs/specs/robustness.md#message-limit).
 */
function compactionTrigger(
	{ force = false, policy }: CompactRequest,
	counted: {
		readonly transcript: Transcript;
		readonly measurement: Measurement;
		readonly scale: TokenScale;
		readonly contextWindow: number | undefined;
		readonly reserveTokens: number;
	},
): CompactionTrigger {
	const { transcript, measurement, scale, contextWindow, reserveTokens } = counted;
	const { at_messages: most } = policy.compaction;
	// With neither a window nor a number of messages to decide by, the call itself decides.
	if (force || (contextWindow === undefined && most === null)) return "forced";
	const tokens = scaleTokens(measurement.total, scale).high;
	if (contextWindow !== undefined && tokens + reserveTokens >= contextWindow) return "tokens";
	return most !== null && sentMessages(transcript) >= most ? "messages" : "not_due";
}

/** A strategy that comes with the product, or one of the user's own. */
export type StrategyOfCall =
	| { readonly kind: "built_in"; readonly name: BuiltInStrategy }
	| { readonly kind: "external"; readonly name: string; readonly strategy: CompactionStrategy };

/** A conversation to compact. */
export interface CompactRequest extends ConversationRequest, GivenTokens {
	readonly strategy: StrategyOfCall;
	/** Where a summary comes from, if one is needed. */
	readonly answer: SummarySource;
	/** Whether to compact although it is not due. */
	readonly force?: boolean | undefined;
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}

/** A conversation after a compaction, or the request for a summary that comes first. */
export interface CompactOutcome extends Outcome<CompactReport> {
	/** Present if the caller is asked for a summary; the conversation is then as it was. */
	readonly request?: CallerRequest;
}

/** The plan of a strategy. */
export type PlannedCompaction =
	| { readonly kind: "unchanged" }
	| {
			readonly kind: "edits";
			readonly edits: readonly Edit[];
			readonly result: Extract<CompactionResult, "hidden" | "summarised" | "rewritten">;
			readonly summary?: SummaryReport;
	  }
	| { readonly kind: "request"; readonly request: CallerRequest }
	| { readonly kind: "guard" };

/** Why a conversation was compacted. */
type CompactionTrigger =
	/** By the caller, or because there is neither a context window nor a number of messages to decide by. */
	| "forced"
	/** Its tokens and the reserve fill the context window (docs/specs/compaction-strategies.md#trigger). */
	| "tokens"
	/** It has as many messages as the policy allows (docs/specs/robustness.md#message-limit). */
	| "messages"
	| "not_due";

/** The result of a compaction. */
export type CompactionResult =
	/** Old tool results were hidden. */
	| "hidden"
	/** A summary replaces old messages. */
	| "summarised"
	/** A strategy of the user's own has rewritten it. */
	| "rewritten"
	/** Nobody could be asked for a summary, so the guard made the conversation fit. */
	| "guarded"
	/** The caller is asked for a summary; nothing is changed yet. */
	| "summary_requested"
	/** It was not due, or there was nothing to compact. */
	| "unchanged";

/** Report of a compaction. */
export interface CompactReport extends ChangeReport {
	/** The strategy asked for. */
	readonly strategy: string;
	readonly trigger: CompactionTrigger;
	readonly result: CompactionResult;
	/** In tokens; absent if it is neither known nor needed. */
	readonly context_window?: number;
	readonly reserve_tokens: number;
	/** Present if a summary was put in. */
	readonly summary?: SummaryReport;
}

/** The messages that a summary replaced, and the identifiers that it lost. */
export interface SummaryReport {
	/** The author: `sampling`, a model's name, `caller`. */
	readonly by: string;
	/** Number of messages that it replaces. */
	readonly messages: number;
	readonly tokens: { readonly before: number; readonly after: number };
	/** Reference of these messages, archived as one JSON list; absent without an archive. */
	readonly ref?: string;
	/** Number of parts in which the model was asked, because together they did not fit its window. */
	readonly parts: number;
	/** Of the model calls, as the endpoint counted them. */
	readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
	/** Identifiers that the summary does not name, the likeliest to be needed first. */
	readonly lost_identifiers: readonly Pick<LostIdentifier, "text" | "kind">[];
	/** Number of different identifiers in the messages, and of those lost. */
	readonly identifiers: { readonly found: number; readonly lost: number };
}

/** A request to the caller for a summary. */
export interface CallerRequest {
	/** To be passed back with the summary. */
	readonly summary_token: string;
	readonly prompt: string;
	readonly max_summary_tokens: number;
	/** The messages that the summary will replace: first and last index, number, tokens. */
	readonly messages: { readonly first: number; readonly last: number; readonly count: number; readonly tokens: number };
}

/** The source of a summary. */
export type SummarySource =
	| { readonly kind: "summariser"; readonly summariser: Summariser }
	/** The caller has written it; `token` names the range that it was asked for. */
	| { readonly kind: "given"; readonly summary: string; readonly token?: string | undefined }
	/** The caller is asked to write it. */
	| { readonly kind: "caller" }
	/** Nobody is asked: the guard runs instead. */
	| { readonly kind: "none" };

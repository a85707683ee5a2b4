import type { LostIdentifier } from "../compaction/lost-identifiers.ts";
import type { CompactionStrategy } from "../compaction/strategy.ts";
import { measure, scaleTokens, type TokenScale } from "../conversation/measure.ts";
import type { Edit, Size } from "../conversation/plan.ts";
import type { Transcript } from "../conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import { requireWholeNumber } from "../policy/errors.ts";
import type { BuiltInStrategy } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import type { Summariser, SummaryAnswer, SummaryProgress } from "../summariser/summariser.ts";
import type { ModelWindow } from "../tokens/models.ts";
import { inputTokensOf } from "../tokens/request.ts";
import { type ChangeReport, type ConversationRequest, type Outcome, openConversation } from "./conversation.ts";
import { calibrate, contextWindowOfCall, sentMessages } from "./guard.ts";

/** Remembers the answers of the model, so that the same prompt is not sent twice. */
export function askOnce(source: SummarySource): SummarySource {
	if (source.kind !== "summariser") return source;
	const { summariser } = source;
	const answers = new Map<string, SummaryAnswer>();
	return {
		kind: "summariser",
		summariser: {
			...summariser,
			async summarise(request) {
				const answer = answers.get(request.prompt) ?? (await summariser.summarise(request));
				answers.set(request.prompt, answer);
				return answer;
			},
		},
	};
}

/** A conversation after a compaction, or what is asked of the caller first. */
export interface CompactOutcome extends Outcome<CompactReport> {
	/** Present where the caller is asked for a summary; the conversation is then as it was. */
	readonly request?: CallerRequest;
}

/** A conversation read and counted, with the context window and the trigger. */
export type OpenedCompaction = Awaited<ReturnType<typeof openCompaction>>;

/**
 * Reads and counts a conversation that may be compacted.
 *
 * @throws PalimpsestError as `compactConversation` does.
 */
export async function openCompaction(request: CompactRequest) {
	const { policy, force = false } = request;
	requireWholeNumber("context_window", request.contextWindow, { least: 1, unit: "tokens" });
	requireWholeNumber("reserve_tokens", request.reserveTokens, { least: 0, unit: "tokens" });
	const inputTokens = request.usage === undefined ? undefined : inputTokensOf(request.usage);
	const opened = await openConversation(request);
	const { transcript, meter, model } = opened;
	const measurement = measure(transcript, meter, opened.requestOverhead(meter.countTokens));
	const estimate =
		inputTokens === undefined ? opened.estimate : calibrate(opened.estimate, { transcript, measurement, inputTokens });
	const window = await windowOf(request, model);
	const contextWindow = window?.tokens;
	const reserveTokens = request.reserveTokens ?? policy.guard.reserve_tokens;
	const { scale } = estimate;
	const { total } = measurement;
	const trigger = compactionTrigger({ force, transcript, total, scale, policy, contextWindow, reserveTokens });
	return {
		...opened,
		measurement,
		estimate,
		scale,
		contextWindow,
		windowNotes: window?.notes ?? [],
		reserveTokens,
		trigger,
	};
}

/** The window where one is known. */
async function windowOf(
	{ contextWindow, policy }: CompactRequest,
	model: string | undefined,
): Promise<ModelWindow | undefined> {
	try {
		return await contextWindowOfCall(contextWindow, policy, model);
	} catch (error) {
		if (error instanceof PalimpsestError && error.code === "context_window_unknown") return undefined;
		throw error;
	}
}

/** How a conversation is compacted: by a strategy that comes with the product, or by one of the user's own. */
export type StrategyOfCall =
	| { readonly kind: "built_in"; readonly name: BuiltInStrategy }
	| { readonly kind: "external"; readonly name: string; readonly strategy: CompactionStrategy };

/** A conversation to compact. */
export interface CompactRequest extends ConversationRequest {
	readonly strategy: StrategyOfCall;
	/** Where a summary comes from, if one is needed. */
	readonly answer: SummarySource;
	/** Whether to compact though it is not due. */
	readonly force?: boolean | undefined;
	/** The usage that the provider reported with the last answer of the conversation, to calibrate the counts by. */
	readonly usage?: unknown;
	/** Context window in tokens; by default the model's. */
	readonly contextWindow?: number | undefined;
	/** Tokens left free for the answer; by default the policy's. */
	readonly reserveTokens?: number | undefined;
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}

/**
 * Whether a compaction is due: if it is forced, if the tokens (at the upper end of their band) and the reserve fill the
 * window (docs/specs/compaction-strategies.md#trigger), or if there are as many messages as the policy allows
 * (docs/specs/robustness.md#message-limit).
 */
function compactionTrigger(facts: {
	readonly force: boolean;
	readonly transcript: Transcript;
	readonly total: Size;
	readonly scale: TokenScale;
	readonly policy: Policy;
	readonly contextWindow: number | undefined;
	readonly reserveTokens: number;
}): CompactionTrigger {
	const { force, transcript, total, scale, policy, contextWindow, reserveTokens } = facts;
	const { at_messages: most } = policy.compaction;
	// Without a window or a number of messages to decide by, the call itself is the decision.
	if (force || (contextWindow === undefined && most === null)) return "forced";
	if (contextWindow !== undefined && scaleTokens(total, scale).high + reserveTokens >= contextWindow) return "tokens";
	return most !== null && sentMessages(transcript) >= most ? "messages" : "not_due";
}

/** What a strategy wants done. */
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

/** Why a conversation was compacted, or that it need not be. */
export type CompactionTrigger =
	/** The caller said so, or there was neither a context window nor a number of messages to decide by. */
	| "forced"
	/** Its tokens and the reserve fill the context window (docs/specs/compaction-strategies.md#trigger). */
	| "tokens"
	/** It has as many messages as the policy allows (docs/specs/robustness.md#message-limit). */
	| "messages"
	| "not_due";

/** What came of it. */
export type CompactionResult =
	/** Old tool results were hidden. */
	| "hidden"
	/** A summary stands in the place of old messages. */
	| "summarised"
	/** A strategy of the user's own has rewritten it. */
	| "rewritten"
	/** The guard has brought it within the context window, since nobody could be asked for a summary. */
	| "guarded"
	/** The caller is asked for a summary; nothing was changed yet. */
	| "summary_requested"
	/** It was not due, or nothing was there to be compacted. */
	| "unchanged";

/** What a compaction did. */
export interface CompactReport extends ChangeReport {
	/** The strategy asked for. */
	readonly strategy: string;
	readonly trigger: CompactionTrigger;
	readonly result: CompactionResult;
	/** Context window in tokens; absent where it is not known and was not needed. */
	readonly context_window?: number;
	readonly reserve_tokens: number;
	/** Present where a summary was put in. */
	readonly summary?: SummaryReport;
}

/** What a summary took the place of, and what it lost. */
export interface SummaryReport {
	/** Who wrote it: `sampling`, a model's name, `caller`. */
	readonly by: string;
	/** Messages that it stands for. */
	readonly messages: number;
	readonly tokens: { readonly before: number; readonly after: number };
	/** Where those messages are archived, as one list of JSON; absent without an archive. */
	readonly ref?: string;
	/** In how many parts the model was asked, where they did not fit its window together. */
	readonly parts: number;
	/** Tokens of the model calls, as the endpoint counted them. */
	readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
	/** Identifiers of those messages that the summary does not name, the likeliest to be needed first. */
	readonly lost_identifiers: readonly Pick<LostIdentifier, "text" | "kind">[];
	/** How many different ones they hold, and how many of these the summary does not name. */
	readonly identifiers: { readonly found: number; readonly lost: number };
}

/** A request to the caller for a summary. */
export interface CallerRequest {
	/** Given back with the summary. */
	readonly summary_token: string;
	/** What is to be written, and from what. */
	readonly prompt: string;
	readonly max_summary_tokens: number;
	/** The messages that the summary will stand for, by their indexes, and their tokens. */
	readonly messages: { readonly first: number; readonly last: number; readonly count: number; readonly tokens: number };
}

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

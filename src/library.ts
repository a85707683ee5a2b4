import type { Archive } from "./archive/archive.ts";
import { NotJsonError } from "./engine/stringify.ts";
import type { TruncationStrategy } from "./engine/truncate/truncation-types.ts";
import { PalimpsestError } from "./errors.ts";
import { compactConversation } from "./pipeline/compaction/compact-conversation.ts";
import type { CompactOutcome } from "./pipeline/compaction/compact-outcome.ts";
import { type CompactionOptions, compactionOfOptions } from "./pipeline/compaction/compaction-of-options.ts";
import { type GuardWithCompactionReport, guardWithCompaction } from "./pipeline/compaction/guard-with-compaction.ts";
import { countText, type TextCount } from "./pipeline/count-text.ts";
import type { Log } from "./pipeline/log-event.ts";
import { type MaskReport, maskConversation, type Outcome } from "./pipeline/mask-conversation.ts";
import type { RestoreReport } from "./pipeline/restore-conversation.ts";
import { restoreWhole } from "./pipeline/restore-whole.ts";
import { type TruncateReport, truncateText } from "./pipeline/truncate-text.ts";
import { checkPolicyLayer } from "./policy/check-policy.ts";
import type { PolicyLayer } from "./policy/policy-layer.ts";
import { resolvePolicy } from "./policy/resolve-policy.ts";
import type { Policy } from "./policy/schema.ts";
import type { EncodingName } from "./tokens/encoding.ts";

/** What every library call takes. */
export interface CallOptions {
	/** Fields of the policy that differ from its preset's: `{ preset: "context-guard", guard: { reserve_tokens: 4096 } }`. */
	readonly policy?: PolicyLayer;
	/**
	 * Keeps what is taken out, opened by `openArchive`; placeholders then name it. Without one nothing is kept beside the
	 * conversation that was passed in.
	 */
	readonly archive?: Archive | undefined;
	/** Takes the log events of the call; without it nothing is logged. */
	readonly log?: Log;
}

/** What `guard` takes beside the conversation. */
export interface GuardOptions extends CallOptions, CompactionOptions {
	/** Model whose context window and token encoding count; by default the request body's own `model`. */
	readonly model?: string;
	/** Context window in tokens, where the model's own is not meant or not known. */
	readonly contextWindow?: number;
	/** Tokens of the window left free for the answer; by default the policy's. */
	readonly reserveTokens?: number;
	/** Tool schemas that are sent along, where the conversation does not hold them itself. Counted, never changed. */
	readonly tools?: unknown;
	/**
	 * The usage that the provider reported with the conversation's last answer, whole or as `{ input_tokens }`, to
	 * calibrate the counts by; see `docs/tokens.md`.
	 */
	readonly usage?: unknown;
	/**
	 * What the provider answered to the conversation's last call, whole. Where it was cut off with no usable call, the
	 * answer as far as it came and a request for a more concise one are appended.
	 */
	readonly lastResponse?: unknown;
}

/** What `compact` takes beside the conversation. */
export interface CompactOptions extends Omit<GuardOptions, "lastResponse"> {
	/** Compact also where it is not due. Without a window and a policy's `at_messages` there is nothing to decide by, and it is. */
	readonly force?: boolean;
	/** The summary, where the caller brings one; it is put in whether or not compaction is due. */
	readonly summary?: string;
	/** The token of the request that the summary answers; without it the summary is of what would be summarised now. */
	readonly summaryToken?: string;
}

/** What `count` takes beside the text. */
export interface CountOptions extends Pick<CallOptions, "policy"> {
	/** Model whose tokenizer counts; without one, numbers are in o200k_base. */
	readonly model?: string;
	/** Encoding to count in, whatever the model. */
	readonly encoding?: EncodingName;
}

/** What `truncate` takes beside the text. */
export interface TruncateOptions extends CallOptions {
	/** Characters (UTF-16 code units) up to which the text is left whole; by default the policy's. */
	readonly maxChars?: number;
	/** Tokens up to which it is left whole, and that what is left of it has at most, notices included. */
	readonly maxTokens?: number;
	/** How it is cut; by default as the policy says, and with `maxTokens` by `auto` where that says `head_tail`. */
	readonly strategy?: TruncationStrategy;
	/** What whoever reads it is after, in any words; names and identifiers count most. */
	readonly focus?: string;
}

let standard: Policy | undefined;

function policyOf({ policy }: CallOptions): Policy {
	if (policy !== undefined) return resolvePolicy([checkPolicyLayer(policy, "the `policy` option")]);
	standard ??= resolvePolicy([]);
	return standard;
}

function shellOf({ archive, log }: CallOptions) {
	return { archive, ...(log === undefined ? {} : { log }) };
}

/** An object of the caller's own making may hold what JSON can't, and is found out only where it is written. */
async function refusingOtherThanJson<Value>(work: () => Promise<Value>): Promise<Value> {
	try {
		return await work();
	} catch (error) {
		if (!(error instanceof NotJsonError)) throw error;
		throw new PalimpsestError("invalid_argument", error.message, { cause: error });
	}
}

/**
 * Masks the old tool results of a conversation: a list of messages, or any object that holds `messages`, in a format of
 * `docs/formats.md`. The input is never changed; parts without edits are shared with it.
 *
 * @throws PalimpsestError `not_a_conversation`, `invalid_policy`, `invalid_argument` for values that JSON can't hold.
 */
export async function mask<Conversation>(
	conversation: Conversation,
	options: CallOptions = {},
): Promise<Outcome<MaskReport> & { readonly conversation: Conversation }> {
	const request = { conversation, policy: policyOf(options), ...shellOf(options) };
	const outcome = await refusingOtherThanJson(() => maskConversation(request));
	return outcome as typeof outcome & { conversation: Conversation };
}

/**
 * Brings a conversation within its model's context window; `report.fits` says whether it is.
 *
 * @throws PalimpsestError `not_a_conversation`, `invalid_policy`, `context_window_unknown`, `invalid_argument`.
 */
export async function guard<Conversation>(
	conversation: Conversation,
	options: GuardOptions = {},
): Promise<Outcome<GuardWithCompactionReport> & { readonly conversation: Conversation }> {
	const { model, contextWindow, reserveTokens, tools, usage, lastResponse, signal, onProgress } = options;
	const given = { model, contextWindow, reserveTokens, tools, usage, lastResponse, signal, onProgress };
	const policy = policyOf(options);
	const compaction = async () => compactionOfOptions(options, policy);
	const request = { conversation, policy, ...given, ...shellOf(options), compaction };
	const outcome = await refusingOtherThanJson(() => guardWithCompaction(request));
	return outcome as typeof outcome & { conversation: Conversation };
}

/**
 * Compacts a conversation by a strategy of the policy's or one of your own. Where a summary is needed and there is neither
 * a `summariser` nor a `summary`, the outcome holds a `request` for one: answer it by a second call with `summary` and
 * `summaryToken`.
 *
 * @throws PalimpsestError `not_a_conversation`, `invalid_policy`, `invalid_argument`, `summary_refused`, `stale_edit`,
 * `strategy_failed`; SummariserError where the model could not be asked. The conversation is never half done.
 */
export async function compact<Conversation>(
	conversation: Conversation,
	options: CompactOptions = {},
): Promise<CompactOutcome & { readonly conversation: Conversation }> {
	const { model, contextWindow, reserveTokens, tools, usage, force, signal, onProgress } = options;
	// Who brings a summary was asked for one, or has decided by itself.
	const isForced = force === true || options.summary !== undefined;
	const given = { model, contextWindow, reserveTokens, tools, usage, force: isForced, signal, onProgress };
	const policy = policyOf(options);
	const how = compactionOfOptions(options, policy);
	const request = { conversation, policy, ...given, ...shellOf(options), ...how };
	const outcome = await refusingOtherThanJson(() => compactConversation(request));
	return outcome as typeof outcome & { conversation: Conversation };
}

/**
 * Puts what an archive keeps back in the place of placeholders and cut results: `restore(mask(x))` is `x`. Dropped groups
 * stay dropped; `report.dropped_groups` of the guarding names where each can be read.
 *
 * @throws PalimpsestError `not_a_conversation`, `archive_unavailable`, `invalid_policy`, `invalid_argument` for values that
 * JSON can't hold.
 */
export async function restore<Conversation>(
	conversation: Conversation,
	archive: Archive,
	options: Pick<CallOptions, "policy"> = {},
): Promise<{ readonly conversation: Conversation; readonly report: RestoreReport }> {
	const request = { conversation, archive, policy: policyOf(options) };
	const restored = await refusingOtherThanJson(() => restoreWhole(request));
	return restored as typeof restored & { conversation: Conversation };
}

/**
 * Cuts one large text: to its head and tail, or by a strategy to what matters in it.
 *
 * @throws PalimpsestError `invalid_policy`, `invalid_argument`.
 */
export async function truncate(
	text: string,
	options: TruncateOptions = {},
): Promise<{ readonly text: string; readonly report: TruncateReport }> {
	const { maxChars, maxTokens, strategy, focus } = options;
	return truncateText({ text, policy: policyOf(options), maxChars, maxTokens, strategy, focus, ...shellOf(options) });
}

/**
 * Counts the tokens of a text, or estimates them where the model's tokenizer is not public.
 *
 * @throws PalimpsestError `invalid_policy`, `invalid_argument`.
 */
export async function count(text: string, options: CountOptions = {}): Promise<TextCount> {
	const { model, encoding } = options;
	return countText({ text, policy: policyOf(options), model, encoding });
}

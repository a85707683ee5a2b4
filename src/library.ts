import type { Archive } from "./archive/archive.ts";
import { NotJsonError } from "./engine/stringify.ts";
import { PalimpsestError, spelledFor } from "./errors.ts";
import {
	type CallOptions,
	type CompactOptions,
	type CountOptions,
	callKinds,
	compactKinds,
	countKinds,
	type GuardOptions,
	guardKinds,
	type RestoreOptions,
	restoreKinds,
	type TruncateOptions,
	truncateKinds,
} from "./library-options.ts";
import { compactConversation } from "./pipeline/compaction/compact-conversation.ts";
import type { CompactOutcome } from "./pipeline/compaction/compact-outcome.ts";
import { compactionOfOptions } from "./pipeline/compaction/compaction-of-options.ts";
import { type GuardWithCompactionReport, guardWithCompaction } from "./pipeline/compaction/guard-with-compaction.ts";
import { countText, type TextCount } from "./pipeline/count-text.ts";
import { type MaskReport, maskConversation, type Outcome } from "./pipeline/mask-conversation.ts";
import type { RestoreReport } from "./pipeline/restore-conversation.ts";
import { restoreWhole } from "./pipeline/restore-whole.ts";
import { type TruncateReport, truncateText } from "./pipeline/truncate-text.ts";
import { checkArgument, checkOptions } from "./policy/check-options.ts";
import { checkPolicyLayer } from "./policy/check-policy.ts";
import { optionKinds } from "./policy/option-kinds.ts";
import { resolvePolicy } from "./policy/resolve-policy.ts";
import type { Policy } from "./policy/schema.ts";

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
		if (error instanceof PalimpsestError) error.message = spelledFor("library", error);
		if (!(error instanceof NotJsonError)) throw error;
		throw new PalimpsestError("invalid_argument", error.message, { cause: error });
	}
}

/**
 * Masks the old tool results of a conversation: a list of messages, or any object that holds `messages`, in a format of
 * `docs/formats.md`. The input is never changed; parts without edits are shared with it.
 *
 * @throws PalimpsestError `not_a_conversation`, `invalid_policy`, `invalid_argument` for options that are none and for
 * values that JSON can't hold.
 */
export async function mask<Conversation>(
	conversation: Conversation,
	options: CallOptions = {},
): Promise<Outcome<MaskReport> & { readonly conversation: Conversation }> {
	checkOptions<CallOptions>(options, "mask", callKinds);
	const request = { conversation, policy: policyOf(options), ...shellOf(options) };
	const outcome = await refusingOtherThanJson(() => maskConversation(request));
	return outcome as typeof outcome & { conversation: Conversation };
}

/**
 * Brings a conversation within its model's context window; `report.fits` says whether it is (`null` where no window is known
 * and the policy says to leave the conversation alone then).
 *
 * @throws PalimpsestError `not_a_conversation`, `invalid_policy`, `context_window_unknown`, `no_budget`, `invalid_argument`.
 */
export async function guard<Conversation>(
	conversation: Conversation,
	options: GuardOptions = {},
): Promise<Outcome<GuardWithCompactionReport> & { readonly conversation: Conversation }> {
	checkOptions<GuardOptions>(options, "guard", guardKinds);
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
	checkOptions<CompactOptions>(options, "compact", compactKinds);
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
 * Puts what an archive keeps back in the place of placeholders and cut results: `restore(mask(x))` is `x`. The report names
 * what stays cut or masked: what is missing, ambiguous, or names no reference (see `byCallId`). Dropped groups stay dropped; `report.dropped_groups` of the guarding names where each can be read.
 *
 * @throws PalimpsestError `not_a_conversation`, `archive_unavailable`, `invalid_policy`, `invalid_argument` for values that
 * JSON can't hold.
 */
export async function restore<Conversation>(
	conversation: Conversation,
	archive: Archive,
	options: RestoreOptions = {},
): Promise<{ readonly conversation: Conversation; readonly report: RestoreReport }> {
	checkArgument(archive, "the archive of `restore`", optionKinds.archive);
	checkOptions<RestoreOptions & CallOptions>(options, "restore", restoreKinds);
	const request = { conversation, archive, policy: policyOf(options), byCallId: options.byCallId };
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
	checkOptions<TruncateOptions>(options, "truncate", truncateKinds);
	const { maxChars, maxTokens, strategy, focus } = options;
	if (maxChars !== undefined && maxTokens !== undefined) {
		throw new PalimpsestError("invalid_argument", "Expected either `maxChars` or `maxTokens`, and not both.");
	}
	return truncateText({ text, policy: policyOf(options), maxChars, maxTokens, strategy, focus, ...shellOf(options) });
}

/**
 * Counts the tokens of a text, or estimates them where the model's tokenizer is not public.
 *
 * @throws PalimpsestError `invalid_policy`, `invalid_argument`.
 */
export async function count(text: string, options: CountOptions = {}): Promise<TextCount> {
	checkOptions<CountOptions & CallOptions>(options, "count", countKinds);
	const { model, encoding } = options;
	return countText({ text, policy: policyOf(options), model, encoding });
}

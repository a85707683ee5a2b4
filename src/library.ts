import type { Archive } from "./archive/archive.ts";
import { isPlainJson, NotJsonError, requireJson } from "./engine/stringify.ts";
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
	if (policy !== undefined) {
		requireJson(policy);
		return resolvePolicy([checkPolicyLayer(policy, "the `policy` option")]);
	}
	standard ??= resolvePolicy([]);
	return standard;
}

function shellOf({ archive, log }: CallOptions) {
	return { archive, ...(log === undefined ? {} : { log: withoutThrowing("log", log) }) };
}

/** A callback of the caller's, of which an error is told as such: it would else be taken for one of ours. */
function withoutThrowing<Given>(name: string, callback: (given: Given) => void): (given: Given) => void {
	return (given) => {
		try {
			callback(given);
		} catch (cause) {
			throw new PalimpsestError("invalid_argument", `The option \`${name}\` threw an error, which stopped the call.`, {
				cause,
			});
		}
	};
}

/**
 * Runs a call so that whatever goes wrong is a typed error in the library's words: options have the library's names, values
 * that JSON can't hold are told as such, and a defect of ours is `internal`. The reason of an aborted signal is thrown as it
 * is, as everywhere.
 */
async function inLibraryWords<Value>(
	{ options, given }: { readonly options: CallOptions; readonly given: unknown },
	work: () => Promise<Value>,
): Promise<Value> {
	try {
		return await work();
	} catch (error) {
		if (error instanceof PalimpsestError) {
			error.message = spelledFor("library", error);
			throw error;
		}
		if (error instanceof NotJsonError) throw new PalimpsestError("invalid_argument", error.message, { cause: error });
		if (isAbortReason(error, options)) throw error;
		// Holes, accessors and instances may read otherwise each time, which nothing could be prepared for.
		if (!isPlainJson(given)) {
			throw new PalimpsestError("invalid_argument", new NotJsonError().message, { cause: error });
		}
		throw new PalimpsestError("internal", "The call failed by a defect of Palimpsest; its cause is beside.", {
			cause: error,
		});
	}
}

function isAbortReason(error: unknown, options: unknown): boolean {
	try {
		const { signal } = options as { readonly signal?: AbortSignal };
		return signal?.aborted === true && error === signal.reason;
	} catch {
		return false;
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
	const outcome = await inLibraryWords({ options, given: conversation }, async () => {
		checkOptions<CallOptions>(options, "mask", callKinds);
		requireJson(conversation);
		return maskConversation({ conversation, policy: policyOf(options), ...shellOf(options) });
	});
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
	const outcome = await inLibraryWords({ options, given: conversation }, async () => {
		checkOptions<GuardOptions>(options, "guard", guardKinds);
		const { model, contextWindow, reserveTokens, tools, usage, lastResponse, signal } = options;
		const onProgress = options.onProgress && withoutThrowing("onProgress", options.onProgress);
		requireJson([conversation, tools, usage, lastResponse]);
		const given = { model, contextWindow, reserveTokens, tools, usage, lastResponse, signal, onProgress };
		const policy = policyOf(options);
		const compaction = async () => compactionOfOptions(options, policy);
		return guardWithCompaction({ conversation, policy, ...given, ...shellOf(options), compaction });
	});
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
	const outcome = await inLibraryWords({ options, given: conversation }, async () => {
		checkOptions<CompactOptions>(options, "compact", compactKinds);
		const { model, contextWindow, reserveTokens, tools, usage, force, signal } = options;
		const onProgress = options.onProgress && withoutThrowing("onProgress", options.onProgress);
		requireJson([conversation, tools, usage]);
		// Who brings a summary was asked for one, or has decided by itself.
		const isForced = force === true || options.summary !== undefined;
		const given = { model, contextWindow, reserveTokens, tools, usage, force: isForced, signal, onProgress };
		const policy = policyOf(options);
		const how = compactionOfOptions(options, policy);
		return compactConversation({ conversation, policy, ...given, ...shellOf(options), ...how });
	});
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
	const restored = await inLibraryWords({ options, given: conversation }, async () => {
		checkArgument(archive, "the archive of `restore`", optionKinds.archive);
		checkOptions<RestoreOptions & CallOptions>(options, "restore", restoreKinds);
		requireJson(conversation);
		return restoreWhole({ conversation, archive, policy: policyOf(options), byCallId: options.byCallId });
	});
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
	return inLibraryWords({ options, given: text }, async () => {
		checkOptions<TruncateOptions>(options, "truncate", truncateKinds);
		const { maxChars, maxTokens, strategy, focus } = options;
		const limitNames = { chars: "maxChars", tokens: "maxTokens" };
		const asked = { maxChars, maxTokens, strategy, focus, limitNames };
		return truncateText({ text, policy: policyOf(options), ...asked, ...shellOf(options) });
	});
}

/**
 * Counts the tokens of a text, or estimates them where the model's tokenizer is not public.
 *
 * @throws PalimpsestError `invalid_policy`, `invalid_argument`.
 */
export async function count(text: string, options: CountOptions = {}): Promise<TextCount> {
	return inLibraryWords({ options, given: text }, async () => {
		checkOptions<CountOptions & CallOptions>(options, "count", countKinds);
		const { model, encoding } = options;
		return countText({ text, policy: policyOf(options), model, encoding });
	});
}

import type { Archive } from "./archive/archive.ts";
import { type ArchiveOptions, openArchive as open } from "./archive/open.ts";
import { isPlainJson, NotJsonError, requireJson } from "./conversation/json.ts";
import { PalimpsestError, spelledFor } from "./errors.ts";
import { type CompactionOptions, compactConversation, compactionOfOptions } from "./operations/compact.ts";
import type { CompactOutcome } from "./operations/compaction-request.ts";
import type { Outcome } from "./operations/conversation.ts";
import { countText, type TextCount } from "./operations/count.ts";
import type { Log } from "./operations/edit-record.ts";
import { type GuardWithCompactionReport, guardWithCompaction } from "./operations/guard-with-compaction.ts";
import { type MaskReport, maskConversation } from "./operations/mask.ts";
import { type RestoreReport, restoreWhole } from "./operations/restore.ts";
import { type TruncateReport, truncateText } from "./operations/truncate.ts";
import { checkPolicyLayer } from "./policy/check.ts";
import { wrongArgument } from "./policy/errors.ts";
import { resolvePolicy } from "./policy/layers.ts";
import { truncationStrategies } from "./policy/names.ts";
import { checkOptions, choice, type OptionSchemas, optionsSchema, optionTypes, wholeNumber } from "./policy/options.ts";
import type { Policy, PolicyLayer } from "./policy/schema.ts";
import { type EncodingName, encodingNames } from "./tokens/encodings.ts";
import type { TruncationStrategy } from "./truncation/draft.ts";

/** What every library call takes. */
export interface CallOptions {
	/** Fields of the policy that differ from its preset's: `{ preset: "context-guard", guard: { reserve_tokens: 4096 } }`. */
	readonly policy?: PolicyLayer | undefined;
	/**
	 * Keeps what is taken out, opened by `openArchive`; placeholders then name it. Without one nothing is kept beside the
	 * conversation that was passed in.
	 */
	readonly archive?: Archive | undefined;
	/** Takes the log events of the call; without it nothing is logged. */
	readonly log?: Log | undefined;
}

/** What `guard` takes beside the conversation. */
export interface GuardOptions extends CallOptions, CompactionOptions {
	/** Model whose context window and token encoding count; by default the request body's own `model`. */
	readonly model?: string | undefined;
	/** Context window in tokens, where the model's own is not meant or not known. */
	readonly contextWindow?: number | undefined;
	/** Tokens of the window left free for the answer; by default the policy's. */
	readonly reserveTokens?: number | undefined;
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
	readonly force?: boolean | undefined;
	/** The summary, where the caller brings one; it is put in whether or not compaction is due. */
	readonly summary?: string | undefined;
	/** The token of the request that the summary answers; without it the summary is of what would be summarised now. */
	readonly summaryToken?: string | undefined;
}

/** What `restore` takes beside the conversation and the archive. */
export interface RestoreOptions extends Pick<CallOptions, "policy"> {
	/**
	 * Also look up what names no reference by the id of its call, where the archive keeps one original of it. By default it
	 * is left as it is, since another conversation may have used the same id; `report.restored_by_call_id` counts them.
	 */
	readonly byCallId?: boolean | undefined;
}

/** What `count` takes beside the text. */
export interface CountOptions extends Pick<CallOptions, "policy"> {
	/** Model whose tokenizer counts; without one, numbers are in o200k_base. */
	readonly model?: string | undefined;
	/** Encoding to count in, whatever the model. */
	readonly encoding?: EncodingName | undefined;
}

/** What `truncate` takes beside the text. */
export interface TruncateOptions extends CallOptions {
	/** Characters (UTF-16 code units) up to which the text is left whole; by default the policy's. */
	readonly maxChars?: number | undefined;
	/** Tokens up to which it is left whole, and that what is left of it has at most, notices included. */
	readonly maxTokens?: number | undefined;
	/** How it is cut; by default as the policy says, and with `maxTokens` by `auto` where that says `head_tail`. */
	readonly strategy?: TruncationStrategy | undefined;
	/** What whoever reads it is after, in any words; names and identifiers count most. */
	readonly focus?: string | undefined;
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
		check("mask", options);
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
		check("guard", options);
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
		check("compact", options);
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
		if (!optionTypes.archive.safeParse(archive).success) {
			throw wrongArgument("the archive of `restore`", `${optionTypes.archive.description}`, archive);
		}
		check("restore", options);
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
		check("truncate", options);
		const { maxChars, maxTokens, strategy, focus } = options;
		const asked = { maxChars, maxTokens, strategy, focus };
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
		check("count", options);
		const { model, encoding } = options;
		return countText({ text, policy: policyOf(options), model, encoding });
	});
}

/**
 * Opens an archive; `undefined` for `none`, where nothing is kept and no placeholder may promise anything. Touches no
 * file and waits for no server: the first call tells when the place cannot be used.
 *
 * @throws PalimpsestError `invalid_argument`; `archive_unavailable` where the Redis client or secretlint's rules are
 * asked for and not installed.
 */
export async function openArchive(options: ArchiveOptions = {}): Promise<Archive | undefined> {
	check("openArchive", options);
	return open(options);
}

const { anything, archive, callback, flag, signal, strategy, string, strings, summariser, tools } = optionTypes;

/** The options of every call. The policy has a check of its own. */
const callSchemas: OptionSchemas<CallOptions> = { policy: anything, archive, log: callback };
const windowSchemas: OptionSchemas<Omit<GuardOptions, "lastResponse">> = {
	...callSchemas,
	model: string,
	contextWindow: wholeNumber(1, "tokens"),
	reserveTokens: wholeNumber(0, "tokens"),
	tools,
	// Providers report usage in many forms; the reader of them refuses others by name.
	usage: anything,
	strategy,
	summariser,
	signal,
	onProgress: callback,
};
const optionsOf = {
	mask: optionsSchema<CallOptions>(callSchemas),
	guard: optionsSchema<GuardOptions>({ ...windowSchemas, lastResponse: anything }),
	compact: optionsSchema<CompactOptions>({ ...windowSchemas, force: flag, summary: string, summaryToken: string }),
	restore: optionsSchema<RestoreOptions & CallOptions>({ ...callSchemas, byCallId: flag }),
	count: optionsSchema<CountOptions & CallOptions>({ ...callSchemas, model: string, encoding: choice(encodingNames) }),
	truncate: optionsSchema<TruncateOptions>({
		...callSchemas,
		maxChars: wholeNumber(0),
		maxTokens: wholeNumber(1, "tokens"),
		strategy: choice(truncationStrategies),
		focus: string,
	}),
	openArchive: optionsSchema<ArchiveOptions>({
		where: string,
		namespace: string,
		// It has an error of its own.
		retention: anything,
		redact: strings,
		redactCredentials: flag,
		now: callback,
		uptime: callback,
	}),
};

function check(name: keyof typeof optionsOf, options: unknown): void {
	checkOptions(options, name, optionsOf[name]);
}

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

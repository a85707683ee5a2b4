import type { Archive } from "./archive/archive.ts";
import type { TruncationStrategy } from "./engine/truncate/truncation-types.ts";
import type { CompactionOptions } from "./pipeline/compaction/compaction-of-options.ts";
import type { Log } from "./pipeline/log-event.ts";
import type { OptionKinds } from "./policy/check-options.ts";
import { choiceKind, optionKinds, wholeNumberKind } from "./policy/option-kinds.ts";
import type { PolicyLayer } from "./policy/policy-layer.ts";
import { truncationStrategies } from "./policy/truncation-strategies.ts";
import type { EncodingName } from "./tokens/encoding.ts";
import { encodingNames } from "./tokens/encoding-names.ts";

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

const { anything, archive, flag, function: callback, signal, strategy, string, summariser, tools } = optionKinds;

/** What the options of every call take; the policy is checked as one. */
export const callKinds: OptionKinds<CallOptions> = { policy: anything, archive, log: callback };

const windowKinds: OptionKinds<Omit<GuardOptions, "lastResponse">> = {
	...callKinds,
	model: string,
	contextWindow: wholeNumberKind(1, "tokens"),
	reserveTokens: wholeNumberKind(0, "tokens"),
	tools,
	// What a provider reports is read in its many forms, and refused with their names.
	usage: anything,
	strategy,
	summariser,
	signal,
	onProgress: callback,
};

/** What the options of `guard` take. */
export const guardKinds: OptionKinds<GuardOptions> = { ...windowKinds, lastResponse: anything };

/** What the options of `compact` take. */
export const compactKinds: OptionKinds<CompactOptions> = {
	...windowKinds,
	force: flag,
	summary: string,
	summaryToken: string,
};

/** What the options of `restore` take. */
export const restoreKinds: OptionKinds<RestoreOptions & CallOptions> = { ...callKinds, byCallId: flag };

/** What the options of `count` take. */
export const countKinds: OptionKinds<CountOptions & CallOptions> = {
	...callKinds,
	model: string,
	encoding: choiceKind(encodingNames),
};

/** What the options of `truncate` take. */
export const truncateKinds: OptionKinds<TruncateOptions> = {
	...callKinds,
	maxChars: wholeNumberKind(0),
	maxTokens: wholeNumberKind(1, "tokens"),
	strategy: choiceKind(truncationStrategies),
	focus: string,
};

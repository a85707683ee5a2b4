import type { CompactionStrategy } from "./engine/compaction/strategy.ts";
import { isPlainJson, NotJsonError, requireJson } from "./engine/conversation/json.ts";
import { checkPolicyLayer } from "./engine/policy/check.ts";
import { wrongArgument } from "./engine/policy/errors.ts";
import { resolvePolicy } from "./engine/policy/layers.ts";
import { type BuiltInStrategy, truncationStrategies } from "./engine/policy/names.ts";
import {
	checkOptions,
	choice,
	number,
	type OptionSchemas,
	optionsSchema,
	optionTypes,
	wholeNumber,
} from "./engine/policy/options.ts";
import type { Policy, PolicyLayer } from "./engine/policy/schema.ts";
import { PalimpsestError, spelledFor } from "./errors.ts";
import { type EncodingName, encodingNames } from "./formats/tokens/encodings.ts";
import type { Log } from "./log.ts";
import { compactConversation } from "./operations/compact.ts";
import {
	type CompactOutcome,
	type CompactRequest,
	type SummarySource,
	strategyOfCall,
} from "./operations/compaction-request.ts";
import { languageOfReader } from "./operations/config/reader.ts";
import type { GivenTokens } from "./operations/context-window.ts";
import type { Outcome } from "./operations/conversation.ts";
import { countText, type TextCount } from "./operations/count.ts";
import { type GuardWithCompactionReport, guardWithCompaction } from "./operations/guard-with-compaction.ts";
import { type MaskReport, type MaskRequest, maskConversation } from "./operations/mask.ts";
import type { Summariser, SummaryProgress } from "./operations/summariser/summariser.ts";
import { type TruncateReport, truncateText } from "./operations/truncate.ts";
import type { CutOptions } from "./operations/truncation-limit.ts";
import type { Archive } from "./storage/archive/archive.ts";
import { type ArchiveOptions, openArchive as open } from "./storage/archive/open.ts";
import { type RestoreReport, restoreConversation } from "./storage/restore/restore.ts";

export interface CallOptions {
	/** Differences from the preset: `{ preset: "context-guard", guard: { reserve_tokens: 4096 } }`. */
	readonly policy?: PolicyLayer | undefined;
	/** Opened by `openArchive`. Without it, originals are lost. */
	readonly archive?: Archive | undefined;
	readonly log?: Log | undefined;
	/**
	 * How the agent reads an original: the name of your tool, or a command with `{ref}` in it. With an archive,
	 * placeholders then end with a hint at it.
	 */
	readonly recallHint?: string | undefined;
}

export interface CompactionOptions {
	/** By name, or an object of your own; by default the policy's. */
	readonly strategy?: BuiltInStrategy | CompactionStrategy | undefined;
	/** `createOpenAiCompatible` makes one. */
	readonly summariser?: Summariser | undefined;
	/** Ends calls of models; the conversation stays unchanged. */
	readonly signal?: AbortSignal | undefined;
	/** Receives each step of a model call and each retry. */
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}

export interface IdleOptions {
	/** Seconds since the last call. After more than `prices.cache_seconds`, the provider's cache is lost and rewriting is free. */
	readonly idleSeconds?: number | undefined;
}

export interface GuardOptions extends CallOptions, IdleOptions, CompactionOptions, GivenTokens {
	/** By default the `model` of the request body. */
	readonly model?: string | undefined;
	/** Only if the conversation holds none itself. Counted, never changed. */
	readonly tools?: unknown;
	/** The provider's answer to the last call. If it was cut off, a request for a more concise one is appended. */
	readonly lastResponse?: unknown;
}

export interface CompactOptions extends Omit<GuardOptions, "lastResponse" | "idleSeconds"> {
	/** Compact also if it is not due. Without a window and the policy's `at_messages`, it always is. */
	readonly force?: boolean | undefined;
	/** Your own summary, which is used whether or not compaction is due. */
	readonly summary?: string | undefined;
	/** The token of the request for the summary; without it the summary replaces the present range. */
	readonly summaryToken?: string | undefined;
}

export type RestoreOptions = Pick<CallOptions, "policy" | "recallHint">;

export interface CountOptions extends Pick<CallOptions, "policy"> {
	/** By default, numbers are in o200k_base. */
	readonly model?: string | undefined;
	readonly encoding?: EncodingName | undefined;
}

export interface TruncateOptions extends CallOptions, Omit<CutOptions, "limitName"> {}

/**
 * Masks the old tool results of a conversation: messages, or an object that holds them, in a format of docs/formats.md.
 * The input is never changed; parts without edits are shared with it.
 * @throws PalimpsestError `not_a_conversation`, `invalid_policy`, `invalid_argument`.
 */
export function mask<Conversation>(
	conversation: Conversation,
	options: CallOptions & IdleOptions = {},
): Promise<Outcome<MaskReport> & { readonly conversation: Conversation }> {
	return call({ name: "mask", options, given: conversation }, (shared) =>
		maskConversation({ conversation, idleSeconds: options.idleSeconds, ...shared }),
	);
}

/**
 * Fits a conversation into its model's context window; `report.fits` is `null` if no window is known.
 * @throws PalimpsestError as `mask` does; `context_window_unknown`, `no_budget`.
 */
export function guard<Conversation>(
	conversation: Conversation,
	options: GuardOptions = {},
): Promise<Outcome<GuardWithCompactionReport> & { readonly conversation: Conversation }> {
	return call({ name: "guard", options, given: conversation }, async (shared) => {
		const { lastResponse, idleSeconds } = options;
		const compaction = () => compactionOf(options, shared.policy);
		const given = { ...windowOptions(options), lastResponse, idleSeconds };
		return guardWithCompaction({ conversation, ...given, ...shared, compaction });
	});
}

/**
 * Compacts a conversation. If a summary is needed and there is no `summariser` and no `summary`, the outcome holds a
 * `request` for one: answer it by a second call with `summary` and `summaryToken`.
 * @throws PalimpsestError as `mask` does; `summary_refused`, `stale_edit`, `strategy_failed`; SummariserError.
 */
export function compact<Conversation>(
	conversation: Conversation,
	options: CompactOptions = {},
): Promise<CompactOutcome & { readonly conversation: Conversation }> {
	return call({ name: "compact", options, given: conversation }, async (shared) => {
		// A caller with a summary was asked for one, or has decided already.
		const force = options.force === true || options.summary !== undefined;
		const how = await compactionOf(options, shared.policy);
		return compactConversation({ conversation, ...windowOptions(options), force, ...shared, ...how });
	});
}

async function compactionOf(
	{ strategy: named, summary, summaryToken: token, summariser }: CompactOptions,
	policy: Policy,
): Promise<Pick<CompactRequest, "strategy" | "answer">> {
	const way = policy.compaction.answered_by.find((one) => one === "caller" || one === "none");
	let answer: SummarySource = summariser ? { kind: "summariser", summariser } : { kind: way ?? "caller" };
	if (summary !== undefined) answer = { kind: "given", summary, token };
	else if (token !== undefined) {
		throw new PalimpsestError("invalid_argument", "Expected a summary's token only together with the summary.");
	}
	return { answer, strategy: await strategyOfCall({ named, policy, answer }) };
}

function windowOptions(options: CompactOptions) {
	const { model, contextWindow, reserveTokens, tools, usage, signal } = options;
	const onProgress = options.onProgress && withoutThrowing("onProgress", options.onProgress);
	return { model, contextWindow, reserveTokens, tools, usage, signal, onProgress };
}

/**
 * Restores the originals of placeholders and truncated results: `restore(mask(x))` is `x`. The report names everything
 * that stays. Dropped groups stay dropped; `report.dropped_groups` of `guard` names them.
 * @throws PalimpsestError as `mask` does; `archive_unavailable`.
 */
export function restore<Conversation>(
	conversation: Conversation,
	archive: Archive,
	options: RestoreOptions = {},
): Promise<{ readonly conversation: Conversation; readonly report: RestoreReport }> {
	return call({ name: "restore", options, given: conversation }, async ({ policy, recall }) => {
		if (!optionTypes.archive.safeParse(archive).success) {
			throw wrongArgument("the archive of `restore`", `${optionTypes.archive.description}`, archive);
		}
		return restoreConversation({ conversation, archive, policy, recall });
	});
}

/**
 * Truncates one large text to its head and tail, or by a strategy to the parts that matter.
 * @throws PalimpsestError `invalid_policy`, `invalid_argument`.
 */
export function truncate(
	text: string,
	options: TruncateOptions = {},
): Promise<{ readonly text: string; readonly report: TruncateReport }> {
	return call({ name: "truncate", options, given: text }, (shared) => {
		const { maxChars, maxTokens, strategy, focus } = options;
		return truncateText({ text, maxChars, maxTokens, strategy, focus, ...shared });
	});
}

/**
 * Counts the tokens of a text, or estimates them if the model's tokenizer is not public.
 * @throws PalimpsestError `invalid_policy`, `invalid_argument`.
 */
export function count(text: string, options: CountOptions = {}): Promise<TextCount> {
	return call({ name: "count", options, given: text }, ({ policy }) =>
		countText({ text, policy, model: options.model, encoding: options.encoding }),
	);
}

/**
 * Opens an archive; `undefined` for `none`. Touches no file and waits for no server before the first call.
 * @throws PalimpsestError `invalid_argument`; `archive_unavailable` if the Redis client or secretlint's rules are not
 * installed.
 */
export async function openArchive(options: ArchiveOptions = {}): Promise<Archive | undefined> {
	checkOptions(options, "openArchive", optionSchemas.openArchive);
	return open(options);
}

const { anything, archive, callback, flag, signal, strategy, string, strings, summariser, tools } = optionTypes;
const callSchemas: OptionSchemas<CallOptions> = { policy: anything, archive, log: callback, recallHint: string };
const windowSchemas: OptionSchemas<Omit<GuardOptions, "lastResponse" | "idleSeconds">> = {
	...callSchemas,
	model: string,
	contextWindow: wholeNumber(1, "tokens"),
	reserveTokens: wholeNumber(0, "tokens"),
	tools,
	// Providers report usage in many forms; their reader refuses others by name.
	usage: anything,
	strategy,
	summariser,
	signal,
	onProgress: callback,
};
const optionSchemas = {
	mask: optionsSchema<CallOptions & IdleOptions>({ ...callSchemas, idleSeconds: number(0, "seconds") }),
	guard: optionsSchema<GuardOptions>({
		...windowSchemas,
		lastResponse: anything,
		idleSeconds: number(0, "seconds"),
	}),
	compact: optionsSchema<CompactOptions>({ ...windowSchemas, force: flag, summary: string, summaryToken: string }),
	restore: optionsSchema<RestoreOptions & CallOptions>(callSchemas),
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

type Answer<Value, Given> = Value extends { readonly conversation: unknown }
	? Value & { readonly conversation: Given }
	: Value;

/** Errors are typed and name the options as the library does. */
async function call<Value, Given>(
	what: { readonly name: keyof typeof optionSchemas; readonly options: CallOptions; readonly given: Given },
	work: (shared: Pick<MaskRequest, "policy" | "archive" | "log" | "recall">) => Promise<Value>,
): Promise<Answer<Value, Given>> {
	const { name, options, given } = what;
	try {
		checkOptions(options, name, optionSchemas[name]);
		const { policy: layer, archive, log, recallHint, tools, usage, lastResponse }: GuardOptions = options;
		if (name !== "truncate" && name !== "count") requireJson([given, tools, usage, lastResponse]);
		requireJson(layer);
		const ofCaller = layer === undefined ? [] : [checkPolicyLayer(layer, "the `policy` option")];
		const policy = resolvePolicy([{ reader: languageOfReader(process.env) }, ...ofCaller]);
		const recall = recallHint ? { recall: { by: recallHint } } : {};
		const shared = { policy, archive, ...recall, ...(log && { log: withoutThrowing("log", log) }) };
		return (await work(shared)) as Answer<Value, Given>;
	} catch (error) {
		if (error instanceof PalimpsestError) {
			error.message = spelledFor("library", error);
			throw error;
		}
		if (isAbortReason(error, options)) throw error;
		// Holes, accessors and instances may give another value with each reading, so anything may fail on them.
		if (error instanceof NotJsonError || !isPlainJson(given)) {
			throw new PalimpsestError("invalid_argument", new NotJsonError().message, { cause: error });
		}
		throw new PalimpsestError("internal", "The call failed because of a defect in Palimpsest; see `cause`.", {
			cause: error,
		});
	}
}

/** Errors of a callback name it, so that they do not look like defects of ours. */
function withoutThrowing<Given>(name: string, callback: (given: Given) => void): (given: Given) => void {
	return (given) => {
		try {
			callback(given);
		} catch (cause) {
			const message = `The option \`${name}\` threw an error, which stopped the call.`;
			throw new PalimpsestError("invalid_argument", message, { cause });
		}
	};
}

function isAbortReason(error: unknown, options: unknown): boolean {
	try {
		const { signal } = options as { readonly signal?: AbortSignal };
		return signal?.aborted === true && error === signal.reason;
	} catch {
		return false;
	}
}

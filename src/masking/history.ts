import { sizeOfMessage, sizeOfResult, type TokenMeter } from "../conversation/measure.ts";
import type { ReplaceEdit, Size } from "../conversation/plan.ts";
import type { Message, ToolResult, Transcript } from "../conversation/transcript.ts";
import { type PairedResult, pairResults, toolTurns } from "../conversation/turns.ts";
import { withDigest } from "./digest.ts";
import { findErrors, judgeResults } from "./judge-results.ts";
import { type KeptReason, type MaskResultParameters, maskResult } from "./mask-result.ts";
import { findStale, type Staleness } from "./staleness.ts";
import { findUses, type Uses } from "./uses.ts";

/** What a model makes of the tokens of a history. */
export interface HistoryScale {
	/** Tokens of the model for each that was counted of a text. */
	readonly factor: number;
	/** Tokens of each message's delimiters, which are not scaled. */
	readonly messageOverhead: number;
	/** What the provider adds to each request, in tokens of the model. */
	readonly requestOverhead: number;
}

/**
 * A history in the tokens of a model, by the best guess, unrounded: the numbers that calls are billed by. As everywhere,
 * texts alone are scaled; delimiters, images, recordings and documents have tokens of their own.
 */
export function scaleHistory(history: ReplayHistory, scale: HistoryScale): ReplayHistory {
	const { factor, messageOverhead, requestOverhead } = scale;
	const { transcript, messageTokens, surroundingTokens, results } = history;
	const surrounded = { ...history, surroundingTokens: surroundingTokens * factor + requestOverhead };
	if (factor === 1) return surrounded;
	const scaled = (tokens: number, fixed: number) => (tokens - fixed) * factor + fixed;
	const scaledSize = (size: Size): Size => ({ ...size, tokens: scaled(size.tokens, size.fixed ?? 0) });
	// In the order of `pairResults`, as the results of a history are.
	const mediaTokens = transcript.messages.flatMap((message) =>
		message.results.map((result) => result.media.reduce((sum, { tokens }) => sum + tokens, 0)),
	);
	return {
		...surrounded,
		messageTokens: messageTokens.map((tokens, index) =>
			scaled(tokens, messageOverhead + (transcript.messages[index]?.mediaTokens ?? 0)),
		),
		results: results.map((result, place): ReplayResult => {
			const { tokens, outcome } = result;
			const fixed = mediaTokens[place] ?? 0;
			if (typeof outcome === "string") return { ...result, tokens: scaled(tokens, fixed) };
			const edits = outcome.map((edit) => ({
				...edit,
				before: scaledSize(edit.before),
				after: scaledSize(edit.after),
			}));
			return { ...result, tokens: scaled(tokens, fixed), outcome: edits, saves: tokensSaved(edits) };
		}),
	};
}

/** What one LLM call was sent, in tokens. `input` = `cached` + what is written to the cache. */
export interface CallTokens {
	readonly input: number;
	/** Tokens before the first message that differs from the call before. */
	readonly cached: number;
}

/** The context while a history is walked through: what the next call would be sent. */
export interface View {
	/** Puts the next message behind the others. */
	readonly append: (message: number) => void;
	/** Puts the placeholder of a result in its place. */
	readonly mask: (result: number) => void;
	/** Tokens of all. */
	readonly total: () => number;
	/** Tokens of what stands before a message, surroundings included. */
	readonly before: (message: number) => number;
	/** Tokens of the last call's context that is the same now: what the next call reads from the cache. */
	readonly cached: () => number;
	/** Makes a call: all there is now is in the cache from then on. */
	readonly call: () => CallTokens;
}

/**
 * Starts with the surroundings alone. A provider caches the longest common prefix of a call and the one before, taken
 * here by whole messages.
 */
export function startView(history: ReplayHistory): View {
	const prefixes = startPrefixes(history.messageTokens.length);
	let total = history.surroundingTokens;
	/** Number of messages that the last call was sent; `undefined` before the first. */
	let sent: number | undefined;
	let appended = 0;
	let firstChanged = Number.POSITIVE_INFINITY;
	const before = (message: number) => history.surroundingTokens + prefixes.before(message);
	const cached = () => (sent === undefined ? 0 : before(Math.min(sent, firstChanged)));
	return {
		append(message) {
			const tokens = history.messageTokens[message] as number;
			prefixes.add(message, tokens);
			total += tokens;
			appended = message + 1;
		},
		mask(result) {
			const { message, saves } = history.results[result] as ReplayHistory["results"][number];
			prefixes.add(message, -saves);
			total -= saves;
			firstChanged = Math.min(firstChanged, message);
		},
		total: () => total,
		before,
		cached,
		call() {
			const tokens = { input: total, cached: cached() };
			sent = appended;
			firstChanged = Number.POSITIVE_INFINITY;
			return tokens;
		},
	};
}

/** Tokens of messages in order, any of which may shrink, with sums from the first message on. */
export interface TokenPrefixes {
	/** Adds tokens to a message; fewer than none takes some off. */
	readonly add: (message: number, tokens: number) => void;
	/** Tokens of all messages before one. */
	readonly before: (message: number) => number;
}

/** Starts with all messages empty. Each of both takes time in proportion to the logarithm of `length` (a Fenwick tree). */
export function startPrefixes(length: number): TokenPrefixes {
	const sums = new Float64Array(length + 1);
	return {
		add(message, tokens) {
			for (let index = message + 1; index <= length; index += index & -index) {
				sums[index] = (sums[index] as number) + tokens;
			}
		},
		before(message) {
			let sum = 0;
			for (let index = message; index > 0; index -= index & -index) sum += sums[index] as number;
			return sum;
		},
	};
}

/** What takes part in a walk through a history. `index` is that of the next message, which has not come yet. */
export interface Walker {
	/** The context is complete and an answer may be asked for: the moment to act. */
	readonly beforeAnswer: (index: number) => void;
	/** The message at `index` opens an answer to what stands before it: an LLM call is made. */
	readonly call: (index: number) => void;
	/** The message at `index` comes. */
	readonly append: (index: number) => void;
}

/**
 * Walks through a history as it came about. The moments to act are those at which the context does not end with an
 * answer, whether or not a call followed: so what is done about the first n messages does not depend on the next, and
 * the end of a history is a moment like any other.
 */
export function walk({ transcript: { messages }, calls }: ReplayHistory, walker: Walker): void {
	let nextCall = 0;
	for (let index = 0; index <= messages.length; index += 1) {
		if (index > 0 && !isOpen(messages[index - 1])) walker.beforeAnswer(index);
		if (index === messages.length) return;
		if (calls[nextCall] === index) {
			nextCall += 1;
			walker.call(index);
		}
		walker.append(index);
	}
}

/** A tool result as a replay sees it. */
export interface ReplayResult {
	/** Index of the message that holds it. */
	readonly message: number;
	/** Number of its tool turn, from 0; `undefined` for an orphan. */
	readonly turn: number | undefined;
	readonly toolName: string | undefined;
	/** Tokens of its texts, images, recordings and documents. */
	readonly tokens: number;
	/** Tokens that masking it saves; 0 where it cannot be masked or the policy keeps it. */
	readonly saves: number;
	/** What masks it, or why it stays whatever else happens. */
	readonly outcome: readonly ReplaceEdit[] | KeptReason;
	/** What its placeholder tells of what it held: the facts and identifiers of its digest; often none. */
	readonly digest: readonly string[];
	/** Of an error that stays until it is settled: the message that settles it, `Infinity` where none does; else -1. */
	readonly staysUntil: number;
}

/** A conversation as the sequence of LLM calls that it was. Tokens are those of the meter, unscaled. */
export interface ReplayHistory {
	readonly transcript: Transcript;
	/** Tokens of each message, results included, before any edit. */
	readonly messageTokens: readonly number[];
	/** Tokens that each request carries before its first message. */
	readonly surroundingTokens: number;
	/** In the order of `pairResults`, which is that of the messages. */
	readonly results: readonly ReplayResult[];
	/** Places of the results that came as placeholders: the history is the answer of an earlier call, or begins with one. */
	readonly masked: ReadonlySet<number>;
	/** For each message, the place of its first result in `results`; one more than messages, to end the last. */
	readonly firstResult: Int32Array;
	/** For each message, 1 where it opens a tool turn. */
	readonly opensTurn: Uint8Array;
	/**
	 * Indexes of the messages that open an answer. Each was one LLM call, whose input is all that stands before it. An
	 * answer that a format splits over several assistant messages in a row, without results between, was one call.
	 */
	readonly calls: readonly number[];
	/** Who uses what of which result; found when it is first asked for. */
	readonly uses: () => Uses;
	/** From which message on each result is out of date; found when it is first asked for. */
	readonly stale: () => readonly (Staleness | undefined)[];
}

/** What reading a history needs to know: how its results would be masked, and how it is counted. */
export interface HistoryParameters extends MaskResultParameters {
	readonly transcript: Transcript;
	readonly meter: TokenMeter;
	/** Who uses what, where several histories of the transcript are read; by default it is found for this one. */
	readonly uses?: (() => Uses) | undefined;
}

/**
 * Reads a conversation for replaying. Messages that a session no longer sends, since a compaction of its own took their
 * place, count as sent throughout: they were when they came, and what was decided about them then may not depend on
 * what became of them later.
 */
export function readHistory(parameters: HistoryParameters): ReplayHistory {
	const { transcript, meter } = parameters;
	const { messages } = transcript;
	const turns = toolTurns(transcript);
	const turnAt = new Map(turns.map((message, turn) => [message, turn]));
	const opensTurn = new Uint8Array(messages.length);
	for (const message of turns) opensTurn[message] = 1;
	const firstResult = new Int32Array(messages.length + 1);
	messages.forEach((message, index) => {
		firstResult[index + 1] = (firstResult[index] as number) + message.results.length;
	});
	const { keep_errors, error_detection } = parameters.policy;
	const isStructural = keep_errors && error_detection === "structural";
	const how = withDigest(isStructural ? { ...parameters, isError: () => false } : parameters);
	const paired = pairResults(transcript);
	const turnOf = ({ caller }: PairedResult) => (caller === undefined ? undefined : turnAt.get(caller));
	const outcomes = paired.map((one) => (turnOf(one) === undefined ? "orphan" : maskResult(one, how)));
	const judged = once(() => judgeResults(transcript));
	const masked = new Set(outcomes.flatMap((outcome, place) => (outcome === "already_masked" ? [place] : [])));
	const errors = isStructural ? findErrors(transcript, masked, judged()) : [];
	const results = paired.map((one, place): ReplayResult => {
		const outcome = outcomes[place] as ReplayResult["outcome"];
		return {
			message: one.message,
			turn: turnOf(one),
			toolName: one.call?.name,
			tokens: tokensOfResult(one.result, meter),
			saves: typeof outcome === "string" ? 0 : tokensSaved(outcome),
			outcome,
			digest: typeof outcome === "string" ? none : itemsShown(how.digest?.(one), outcome),
			staysUntil: errors[place] ? (errors[place].resolvedFrom ?? Number.POSITIVE_INFINITY) : -1,
		};
	});
	return {
		transcript,
		messageTokens: messages.map((message) => tokensOf(message, meter)),
		surroundingTokens: transcript.surroundings.reduce((sum, text) => sum + meter.countTokens(text), 0),
		results,
		masked,
		firstResult,
		opensTurn,
		calls: callsOf(messages),
		uses: parameters.uses ?? once(() => findUses(transcript)),
		stale: once(() => findStale(transcript, masked, judged())),
	};
}

/** A value that is made when it is first asked for. */
export function once<Value>(make: () => Value): () => Value {
	let made: { readonly value: Value } | undefined;
	return () => {
		made ??= { value: make() };
		return made.value;
	};
}

function callsOf(messages: readonly Message[]): number[] {
	return messages.flatMap(({ role }, index) => (role === "assistant" && !isOpen(messages[index - 1]) ? [index] : []));
}

/** Whether a message is an answer that the next may go on with: of the assistant, without results to answer to. */
export function isOpen(message: Message | undefined): boolean {
	return message?.role === "assistant" && message.results.length === 0;
}

function tokensOf(message: Message, meter: TokenMeter): number {
	if (message.sent !== false) return sizeOfMessage(message, meter).tokens;
	const { countTokens, messageOverhead } = meter;
	let tokens = messageOverhead + message.mediaTokens;
	for (const text of message.counted) tokens += countTokens(text);
	for (const result of message.results) tokens += sizeOfResult(result, countTokens).tokens;
	return tokens;
}

function tokensOfResult(result: ToolResult, { countTokens }: TokenMeter): number {
	// Texts of documents are among those of the result.
	return result.media.reduce((sum, { tokens }) => sum + tokens, sizeOfResult(result, countTokens).tokens);
}

const none: readonly never[] = [];

/** The items of a digest, where the placeholder has it: a short result's has none. */
function itemsShown(digest: string | undefined, [edit]: readonly ReplaceEdit[]): readonly string[] {
	if (!digest || !edit) return none;
	// A format may put the placeholder into JSON.
	const written = JSON.stringify(digest).slice(1, -1);
	return JSON.stringify(edit.replacement).includes(written) ? digest.split(/,? /) : none;
}

/** Tokens that the edits of a result save in what is sent. */
export function tokensSaved(edits: readonly ReplaceEdit[]): number {
	return edits.reduce((sum, edit) => (edit.unsent ? sum : sum + edit.before.tokens - edit.after.tokens), 0);
}

import { once } from "../conversation/lists.ts";
import { sizeOfMessage, sizeOfResult, type TokenMeter } from "../conversation/measure.ts";
import type { ReplaceEdit, Size } from "../conversation/plan.ts";
import type { Archiving } from "../conversation/report.ts";
import { type Message, resultText, type ToolResult, type Transcript } from "../conversation/transcript.ts";
import { type PairedResult, pairResults, toolTurns } from "../conversation/turns.ts";
import type { Prices } from "../policy/schema.ts";
import { type KeptByAgent, keptByAgent } from "./asked.ts";
import {
	type BoundReasoning,
	noReasoning,
	readBoundReasoning,
	scaleReasoning,
	startReasoning,
} from "./bound-reasoning.ts";
import { type CacheTime, cacheSecondsOf, coldMoments, pricesFor } from "./cache-time.ts";
import { resultArguments } from "./call-targets.ts";
import { withDigest } from "./digest.ts";
import { usedUntil } from "./in-use.ts";
import { findErrors } from "./judge-results.ts";
import { type KeptReason, type MaskResultParameters, maskResult } from "./mask-result.ts";
import { type RepeatLink, startRepeatLinks } from "./repeat-links.ts";
import { findStale } from "./staleness.ts";
import { findUses, type Uses } from "./uses.ts";

/** Tokens are those of the meter, unscaled. */
export interface ReplayHistory {
	readonly transcript: Transcript;
	readonly messageTokens: readonly number[];
	readonly surroundingTokens: number;
	readonly results: readonly ReplayResult[];
	/** Places of the results that came as placeholders, from an earlier call. */
	readonly masked: ReadonlySet<number>;
	/** For each message, the place of its first result in `results`; then the number of results. */
	readonly firstResult: Int32Array;
	readonly opensTurn: Uint8Array;
	/** Messages that open an answer: assistant messages in a row, without results between, are one LLM call. */
	readonly calls: readonly number[];
	/** For each message, 1 if the provider's cache is lost by the time of a call before it; then the same for the end. */
	readonly cold: Uint8Array;
	readonly uses: () => Uses;
	/** The same without the reasoning that an edit may take out. */
	readonly lastingUses: () => Uses;
	/** For each message, the tokens of that reasoning. */
	readonly looseTokens: () => Float64Array;
	/** For each result, the message from which it is not needed, since its text or its call came again. */
	readonly stale: () => readonly (number | undefined)[];
	/** Present if the model binds its reasoning to the messages before it, so that masking makes it invalid. */
	readonly reasoning?: BoundReasoning | undefined;
	/** Present if results were cut as they arrived. */
	readonly cut?: CutOnArrival | undefined;
	/** Lines that were left out of results as they arrived, since they stood in others. */
	readonly repeats?: readonly RepeatLink[] | undefined;
	/** How many of the first calls are copies, which the bill of another conversation has; by default none. */
	readonly copied?: number | undefined;
}

/** What the results of a history were before they were cut. */
export interface CutOnArrival {
	readonly whole: ReplayHistory;
	/** Whether a string of a whole result is in no part of it that is left. */
	readonly hides: (place: number, kind: "identifiers" | "lines", text: string) => boolean;
}

export interface ReplayResult {
	readonly message: number;
	/** Number of its tool turn, from 0; `undefined` for an orphan. */
	readonly turn: number | undefined;
	readonly toolName: string | undefined;
	readonly tokens: number;
	/** Tokens that masking it saves; 0 if it cannot be masked or the policy keeps it. */
	readonly saves: number;
	readonly outcome: readonly ReplaceEdit[] | KeptReason;
	readonly digest: readonly string[];
	/** The message that resolves it as an error, `Infinity` if none does; -1 if it is not an error that stays. */
	readonly staysUntil: number;
	/** The message until which the selection by use keeps it, whatever it costs; -1 if it is like any other. */
	readonly usedUntil: number;
	/** The messages between which it stays since the agent has asked for that. */
	readonly kept?: KeptByAgent | undefined;
}

/** Messages that a session compacted count as sent: a decision at their time may not depend on later messages. */
export function readHistory(
	parameters: MaskResultParameters & {
		readonly transcript: Transcript;
		readonly meter: TokenMeter;
		readonly uses?: (() => Uses) | undefined;
		/** By default the cache lasts. */
		readonly cacheTime?: CacheTime | undefined;
		/** Whether the model accepts reasoning only after unchanged messages. By default it does not check. */
		readonly bindsReasoning?: boolean | undefined;
		/** The references by which an agent may name a result. By default that of its text. */
		readonly refsOf?: ((place: number) => readonly string[]) | undefined;
	},
): ReplayHistory {
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
	const masked = new Set(outcomes.flatMap((outcome, place) => (outcome === "already_masked" ? [place] : [])));
	const errors = isStructural ? findErrors(transcript, masked) : [];
	const argumentsOf = once(() => resultArguments(transcript));
	const calls = callsOf(messages);
	const used = usedUntil(messages, paired, { calls, argumentsOf: (place) => argumentsOf()[place] });
	const { archiving, refsOf = (place: number) => archivedRefs(paired[place] as PairedResult, archiving) } = parameters;
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
			usedUntil: used[place] as number,
		};
	});
	const reasoning = parameters.bindsReasoning ? readBoundReasoning(messages, meter.countTokens) : undefined;
	const uses = once(() => findUses(transcript));
	const lastingUses = once(() => {
		const lasting = withoutLooseReasoning(transcript);
		return lasting === transcript ? uses() : findUses(lasting);
	});
	const kept = keptByAgent({ transcript, paired, results, refsOf }, calls);
	return {
		transcript,
		messageTokens: messages.map((message, index) => tokensOf(message, meter) + (reasoning?.uncounted[index] ?? 0)),
		surroundingTokens: transcript.surroundings.reduce((sum, text) => sum + meter.countTokens(text), 0),
		results: kept ? results.map((result, place) => ({ ...result, kept: kept.get(place) })) : results,
		masked,
		firstResult,
		opensTurn,
		calls,
		cold: coldMoments(transcript, calls, parameters.cacheTime ?? { seconds: Number.POSITIVE_INFINITY }),
		uses: parameters.uses ?? uses,
		lastingUses: parameters.uses ?? lastingUses,
		looseTokens: once(() => looseTokens(messages, reasoning, meter.countTokens)),
		stale: once(() => findStale(transcript, masked)),
		...(reasoning ? { reasoning } : {}),
	};
}

/** Without the reasoning that an edit before it may take out. */
function withoutLooseReasoning(transcript: Transcript): Transcript {
	const isLoose = ({ bound, fixed }: Message["thinking"][number]) => bound && !fixed;
	if (!transcript.messages.some(({ thinking }) => thinking.some(isLoose))) return transcript;
	const messages = transcript.messages.map((message) => {
		const loose = new Set(message.thinking.filter(isLoose).map(({ text }) => text));
		return loose.size === 0 ? message : { ...message, counted: message.counted.filter((text) => !loose.has(text)) };
	});
	return { ...transcript, messages };
}

/** As they are counted in `messageTokens`: those of hidden reasoning only where the model binds it. */
function looseTokens(
	messages: readonly Message[],
	reasoning: BoundReasoning | undefined,
	countTokens: TokenMeter["countTokens"],
): Float64Array {
	if (reasoning) return reasoning.tokens;
	const { tokens, uncounted } = readBoundReasoning(messages, countTokens) ?? {};
	return tokens?.map((own, message) => own - (uncounted?.[message] ?? 0)) ?? new Float64Array(messages.length);
}

/** The prices of the next call. If a pause lost the cache, everything is written again: reading would cost as much. */
export function pricesNow(transcript: Transcript, prices: Prices, idleSeconds: number | undefined): Prices {
	const { messages } = transcript;
	const now = pricesFor(prices, cacheSecondsOf(messages, prices));
	const cold = coldMoments(transcript, callsOf(messages), { seconds: prices.cache_seconds, idleSeconds });
	return cold[messages.length] === 1 ? { ...now, cache_write: now.cache_read } : now;
}

function archivedRefs({ result }: PairedResult, archiving: Archiving | undefined): readonly string[] {
	return archiving ? [archiving.refOf(resultText(result))] : none;
}

/** The messages that open an answer. */
export function callsOf(messages: readonly Message[]): number[] {
	return messages.flatMap(({ role }, index) => (role === "assistant" && !isOpen(messages[index - 1]) ? [index] : []));
}

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
	return result.media.reduce((sum, { tokens }) => sum + tokens, sizeOfResult(result, countTokens).tokens);
}

const none: readonly never[] = [];

function itemsShown(digest: string | undefined, [edit]: readonly ReplaceEdit[]): readonly string[] {
	if (!digest || !edit) return none;
	// A format may put the placeholder into JSON.
	const written = JSON.stringify(digest).slice(1, -1);
	return JSON.stringify(edit.replacement).includes(written) ? digest.split(/,? /) : none;
}

function tokensSaved(edits: readonly ReplaceEdit[]): number {
	return edits.reduce((sum, edit) => (edit.unsent ? sum : sum + edit.before.tokens - edit.after.tokens), 0);
}

/** Scales to the tokens of a model, unrounded. Only texts are scaled: delimiters and media have tokens of their own. */
export function scaleHistory(
	history: ReplayHistory,
	{
		factor,
		messageOverhead,
		requestOverhead,
	}: {
		/** Tokens of the model for each counted token of a text. */
		readonly factor: number;
		readonly messageOverhead: number;
		readonly requestOverhead: number;
	},
): ReplayHistory {
	const { transcript, messageTokens, surroundingTokens, results, reasoning, looseTokens } = history;
	const surrounded = { ...history, surroundingTokens: surroundingTokens * factor + requestOverhead };
	if (factor === 1) return surrounded;
	const scaled = (tokens: number, fixed: number) => (tokens - fixed) * factor + fixed;
	const scaledSize = (size: Size): Size => ({ ...size, tokens: scaled(size.tokens, size.fixed ?? 0) });
	const mediaTokens = transcript.messages.flatMap((message) =>
		message.results.map((result) => result.media.reduce((sum, { tokens }) => sum + tokens, 0)),
	);
	return {
		...surrounded,
		...(history.repeats ? { repeats: history.repeats.map((link) => ({ ...link, tokens: link.tokens * factor })) } : {}),
		messageTokens: messageTokens.map((tokens, index) =>
			scaled(
				tokens,
				messageOverhead + (transcript.messages[index] as Message).mediaTokens + (reasoning?.hidden[index] ?? 0),
			),
		),
		...(reasoning ? { reasoning: scaleReasoning(reasoning, factor) } : {}),
		looseTokens: once(() => looseTokens().map((own, index) => scaled(own, reasoning?.hidden[index] ?? 0))),
		results: results.map((result, place): ReplayResult => {
			const { tokens, outcome } = result;
			const fixed = mediaTokens[place] as number;
			if (typeof outcome === "string") return { ...result, tokens: scaled(tokens, fixed) };
			const edits = outcome.map((edit) => {
				return { ...edit, before: scaledSize(edit.before), after: scaledSize(edit.after) };
			});
			return { ...result, tokens: scaled(tokens, fixed), outcome: edits, saves: tokensSaved(edits) };
		}),
	};
}

/** A policy may act wherever the context does not end with an answer, so the next message changes no decision. */
export function walk(
	{ transcript: { messages }, calls }: ReplayHistory,
	walker: {
		/** An answer may follow as the message at `index`. */
		readonly beforeAnswer: (index: number) => void;
		/** The message at `index` opens an answer: an LLM call is made. */
		readonly call: (index: number) => void;
		readonly append: (index: number) => void;
	},
): void {
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

/**
 * The input of the next call. Providers cache the longest common prefix of two calls, taken here by whole messages, and
 * lose it after a pause. Masking makes bound reasoning invalid; `thinkingRedone` is the share of it that the next call
 * produces once more (src/engine/masking/bound-reasoning.ts).
 */
export function startView(history: ReplayHistory, thinkingRedone = 0) {
	const { messageTokens, surroundingTokens, results, cold, firstResult } = history;
	const tokens = Float64Array.from(messageTokens);
	const saves = Float64Array.from(results, (result) => result.saves);
	const links = history.repeats && startRepeatLinks(history.repeats, saves);
	const reasoning = startReasoning(history.reasoning, history.transcript.messages);
	/** Tokens before each message. Those up to `known` are up to date. */
	const sums = new Float64Array(tokens.length + 1).fill(surroundingTokens, 0, 1);
	let known = 0;
	/** Number of messages in the last call; `undefined` before the first. */
	let sent: number | undefined;
	let appended = 0;
	let unmasked = surroundingTokens;
	let firstChanged = Number.POSITIVE_INFINITY;
	const before = (message: number) => {
		for (; known < message; known += 1) sums[known + 1] = (sums[known] as number) + (tokens[known] as number);
		return sums[message] as number;
	};
	const isCold = () => cold[appended] === 1;
	const prefix = () => (sent === undefined ? 0 : before(Math.min(sent, firstChanged)));
	const cached = () => (isCold() ? 0 : prefix());
	return {
		append(message: number): void {
			appended = message + 1;
			unmasked += messageTokens[message] as number;
			const end = links ? (firstResult[message + 1] as number) : 0;
			for (let place = firstResult[message] as number; place < end; place += 1) {
				tokens[message] = (tokens[message] as number) + (links?.arrive(place) ?? 0);
			}
			reasoning?.append(message);
		},
		mask(place: number): void {
			const { message } = results[place] as ReplayResult;
			const { gone, back } = links?.mask(place) ?? { gone: saves[place] as number, back: none };
			tokens[message] = (tokens[message] as number) - gone;
			for (const [other, more] of back) {
				const at = (results[other] as ReplayResult).message;
				tokens[at] = (tokens[at] as number) + more;
			}
			reasoning?.invalidate(message, (gone, own) => {
				tokens[gone] = (tokens[gone] as number) - own;
			});
			known = Math.min(known, message);
			firstChanged = Math.min(firstChanged, message);
		},
		/** By result, the tokens that masking it saves now. */
		saves: links?.saves ?? saves,
		/** Whether lines of others point to a result. */
		isHeld: (place: number) => links?.isHeld(place) === true,
		total: () => before(appended),
		/** Tokens of the context if nothing had been masked. */
		unmasked: () => unmasked,
		/** Tokens before a message, surroundings included. */
		before,
		/** Tokens that are unchanged since the last call. */
		prefix,
		/** Whether a pause lost the cache. */
		isCold,
		/** Asked from the last message to the first, the valid reasoning after each of them. */
		reasoningAfter: () => reasoning?.after() ?? noReasoning,
		/** Tokens of recorded reasoning that masking made invalid so far. */
		leftOut: () => reasoning?.leftOut() ?? 0,
		/** Makes a call: the whole context is then in the cache. */
		call(): CallTokens {
			const call = { input: before(appended), cached: cached() };
			sent = appended;
			firstChanged = Number.POSITIVE_INFINITY;
			const redone = thinkingRedone * (reasoning?.takeNeeded() ?? 0);
			if (redone === 0) return call;
			tokens[appended] = (tokens[appended] as number) + redone;
			reasoning?.produce(appended, redone);
			return { ...call, redone };
		},
	};
}

export type View = ReturnType<typeof startView>;

export interface CallTokens {
	readonly input: number;
	/** Tokens before the first message that differs from the call before; 0 after a pause that lost the cache. */
	readonly cached: number;
	/** Output tokens of reasoning that the call produces once more, since masking made it invalid. */
	readonly redone?: number;
}

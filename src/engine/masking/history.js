import { once } from "../conversation/lists.js";
import { sizeOfMessage, sizeOfResult } from "../conversation/measure.js";
import { resultText } from "../conversation/transcript.js";
import { pairResults, toolTurns } from "../conversation/turns.js";
import { keptByAgent } from "./asked.js";
import { noReasoning, readBoundReasoning, scaleReasoning, startReasoning } from "./bound-reasoning.js";
import { cacheSecondsOf, coldMoments, pricesFor } from "./cache-time.js";
import { resultArguments } from "./call-targets.js";
import { withDigest } from "./digest.js";
import { usedUntil } from "./in-use.js";
import { findErrors } from "./judge-results.js";
import { maskResult } from "./mask-result.js";
import { findStale } from "./staleness.js";
import { findUses } from "./uses.js";
/** Messages that a session compacted count as sent: a decision at their time may not depend on later messages. */
export function readHistory(parameters) {
	const { transcript, meter } = parameters;
	const { messages } = transcript;
	const turns = toolTurns(transcript);
	const turnAt = new Map(turns.map((message, turn) => [message, turn]));
	const opensTurn = new Uint8Array(messages.length);
	for (const message of turns) opensTurn[message] = 1;
	const firstResult = new Int32Array(messages.length + 1);
	messages.forEach((message, index) => {
		firstResult[index + 1] = firstResult[index] + message.results.length;
	});
	const { keep_errors, error_detection } = parameters.policy;
	const isStructural = keep_errors && error_detection === "structural";
	const how = withDigest(isStructural ? { ...parameters, isError: () => false } : parameters);
	const paired = pairResults(transcript);
	const turnOf = ({ caller }) => (caller === undefined ? undefined : turnAt.get(caller));
	const outcomes = paired.map((one) => (turnOf(one) === undefined ? "orphan" : maskResult(one, how)));
	const masked = new Set(outcomes.flatMap((outcome, place) => (outcome === "already_masked" ? [place] : [])));
	const errors = isStructural ? findErrors(transcript, masked) : [];
	const argumentsOf = once(() => resultArguments(transcript));
	const calls = callsOf(messages);
	const used = usedUntil(messages, paired, { calls, argumentsOf: (place) => argumentsOf()[place] });
	const { archiving, refsOf = (place) => archivedRefs(paired[place], archiving) } = parameters;
	const results = paired.map((one, place) => {
		const outcome = outcomes[place];
		return {
			message: one.message,
			turn: turnOf(one),
			toolName: one.call?.name,
			tokens: tokensOfResult(one.result, meter),
			saves: typeof outcome === "string" ? 0 : tokensSaved(outcome),
			outcome,
			digest: typeof outcome === "string" ? none : itemsShown(how.digest?.(one), outcome),
			staysUntil: errors[place] ? (errors[place].resolvedFrom ?? Number.POSITIVE_INFINITY) : -1,
			usedUntil: used[place],
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
function withoutLooseReasoning(transcript) {
	const isLoose = ({ bound, fixed }) => bound && !fixed;
	if (!transcript.messages.some(({ thinking }) => thinking.some(isLoose))) return transcript;
	const messages = transcript.messages.map((message) => {
		const loose = new Set(message.thinking.filter(isLoose).map(({ text }) => text));
		return loose.size === 0 ? message : { ...message, counted: message.counted.filter((text) => !loose.has(text)) };
	});
	return { ...transcript, messages };
}
/** As they are counted in `messageTokens`: those of hidden reasoning only where the model binds it. */
function looseTokens(messages, reasoning, countTokens) {
	if (reasoning) return reasoning.tokens;
	const { tokens, uncounted } = readBoundReasoning(messages, countTokens) ?? {};
	return tokens?.map((own, message) => own - (uncounted?.[message] ?? 0)) ?? new Float64Array(messages.length);
}
/** The prices of the next call. If a pause lost the cache, everything is written again: reading would cost as much. */
export function pricesNow(transcript, prices, idleSeconds) {
	const { messages } = transcript;
	const now = pricesFor(prices, cacheSecondsOf(messages, prices));
	const cold = coldMoments(transcript, callsOf(messages), { seconds: prices.cache_seconds, idleSeconds });
	return cold[messages.length] === 1 ? { ...now, cache_write: now.cache_read } : now;
}
function archivedRefs({ result }, archiving) {
	return archiving ? [archiving.refOf(resultText(result))] : none;
}
function callsOf(messages) {
	return messages.flatMap(({ role }, index) => (role === "assistant" && !isOpen(messages[index - 1]) ? [index] : []));
}
export function isOpen(message) {
	return message?.role === "assistant" && message.results.length === 0;
}
function tokensOf(message, meter) {
	if (message.sent !== false) return sizeOfMessage(message, meter).tokens;
	const { countTokens, messageOverhead } = meter;
	let tokens = messageOverhead + message.mediaTokens;
	for (const text of message.counted) tokens += countTokens(text);
	for (const result of message.results) tokens += sizeOfResult(result, countTokens).tokens;
	return tokens;
}
function tokensOfResult(result, { countTokens }) {
	return result.media.reduce((sum, { tokens }) => sum + tokens, sizeOfResult(result, countTokens).tokens);
}
const none = [];
function itemsShown(digest, [edit]) {
	if (!digest || !edit) return none;
	// A format may put the placeholder into JSON.
	const written = JSON.stringify(digest).slice(1, -1);
	return JSON.stringify(edit.replacement).includes(written) ? digest.split(/,? /) : none;
}
function tokensSaved(edits) {
	return edits.reduce((sum, edit) => (edit.unsent ? sum : sum + edit.before.tokens - edit.after.tokens), 0);
}
/** Scales to the tokens of a model, unrounded. Only texts are scaled: delimiters and media have tokens of their own. */
export function scaleHistory(history, { factor, messageOverhead, requestOverhead }) {
	const { transcript, messageTokens, surroundingTokens, results, reasoning, looseTokens } = history;
	const surrounded = { ...history, surroundingTokens: surroundingTokens * factor + requestOverhead };
	if (factor === 1) return surrounded;
	const scaled = (tokens, fixed) => (tokens - fixed) * factor + fixed;
	const scaledSize = (size) => ({ ...size, tokens: scaled(size.tokens, size.fixed ?? 0) });
	const mediaTokens = transcript.messages.flatMap((message) =>
		message.results.map((result) => result.media.reduce((sum, { tokens }) => sum + tokens, 0)),
	);
	return {
		...surrounded,
		messageTokens: messageTokens.map((tokens, index) =>
			scaled(tokens, messageOverhead + transcript.messages[index].mediaTokens + (reasoning?.hidden[index] ?? 0)),
		),
		...(reasoning ? { reasoning: scaleReasoning(reasoning, factor) } : {}),
		looseTokens: once(() => looseTokens().map((own, index) => scaled(own, reasoning?.hidden[index] ?? 0))),
		results: results.map((result, place) => {
			const { tokens, outcome } = result;
			const fixed = mediaTokens[place];
			if (typeof outcome === "string") return { ...result, tokens: scaled(tokens, fixed) };
			const edits = outcome.map((edit) => {
				return { ...edit, before: scaledSize(edit.before), after: scaledSize(edit.after) };
			});
			return { ...result, tokens: scaled(tokens, fixed), outcome: edits, saves: tokensSaved(edits) };
		}),
	};
}
/** A policy may act wherever the context does not end with an answer, so the next message changes no decision. */
export function walk({ transcript: { messages }, calls }, walker) {
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
export function startView(history, thinkingRedone = 0) {
	const { messageTokens, surroundingTokens, results, cold } = history;
	const tokens = Float64Array.from(messageTokens);
	const reasoning = startReasoning(history.reasoning, history.transcript.messages);
	/** Tokens before each message. Those up to `known` are up to date. */
	const sums = new Float64Array(tokens.length + 1).fill(surroundingTokens, 0, 1);
	let known = 0;
	/** Number of messages in the last call; `undefined` before the first. */
	let sent;
	let appended = 0;
	let unmasked = surroundingTokens;
	let firstChanged = Number.POSITIVE_INFINITY;
	const before = (message) => {
		for (; known < message; known += 1) sums[known + 1] = sums[known] + tokens[known];
		return sums[message];
	};
	const isCold = () => cold[appended] === 1;
	const prefix = () => (sent === undefined ? 0 : before(Math.min(sent, firstChanged)));
	const cached = () => (isCold() ? 0 : prefix());
	return {
		append(message) {
			appended = message + 1;
			unmasked += messageTokens[message];
			reasoning?.append(message);
		},
		mask(place) {
			const { message, saves } = results[place];
			tokens[message] = tokens[message] - saves;
			reasoning?.invalidate(message, (gone, own) => {
				tokens[gone] = tokens[gone] - own;
			});
			known = Math.min(known, message);
			firstChanged = Math.min(firstChanged, message);
		},
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
		call() {
			const call = { input: before(appended), cached: cached() };
			sent = appended;
			firstChanged = Number.POSITIVE_INFINITY;
			const redone = thinkingRedone * (reasoning?.takeNeeded() ?? 0);
			if (redone === 0) return call;
			tokens[appended] = tokens[appended] + redone;
			reasoning?.produce(appended, redone);
			return { ...call, redone };
		},
	};
}

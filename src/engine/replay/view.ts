import type { ReplayHistory } from "./history.ts";
import { startPrefixes } from "./token-prefixes.ts";

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

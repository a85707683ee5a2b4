import { stepFactors } from "../../engine/masking/price-steps.ts";
import type { CacheTerms } from "./terms.ts";
import { inputBill, promptTokens, type TokenCounts } from "./usage.ts";

export interface SizedPart {
	/** Equal for equal content. */
	readonly key: string;
	readonly tokens: number;
}

/** The texts around the messages, and then each message: before editing and as sent. */
export interface RequestParts {
	readonly unedited: readonly SizedPart[];
	readonly sent: readonly SizedPart[];
}

interface BilledRequest {
	readonly parts: RequestParts;
	/** The parts of the last request of the conversation; `undefined` for the first that we see. */
	readonly before: RequestParts | undefined;
	/** The provider's usage of the sent request; `undefined` if it reports none. */
	readonly usage: TokenCounts | undefined;
	/** Tokens of the provider for each of ours. */
	readonly scale: number;
	readonly terms: CacheTerms;
	/** Whether the provider's cache had expired. */
	readonly isCold: boolean;
	/** Whether another process has sent its history. */
	readonly isResumed?: boolean;
}

interface UneditedBill {
	/** In prices of an input token. */
	readonly billed: number;
	/** Tokens that were sent before and again, in those of the provider; 0 if its cache had expired. */
	readonly repeated: number;
	/** Whether the bill depends on a loss of the cache without a known cause. */
	readonly isUnexplained: boolean;
}

/**
 * The bill of the request if it had not been edited. It would read from the cache the part that it shares with the unedited
 * request before it. The provider may read more than the known repeated part (in the first request, or after a pause that
 * its cache outlived), or lose repeated tokens: then the unedited request is taken to read the same messages. Tokens that
 * are not read cost as much as in the sent request.
 */
export function billUnedited(request: BilledRequest): UneditedBill {
	const { parts, before, usage, scale, terms, isCold } = request;
	const whole = tokensOf(parts.unedited);
	const isWarm = before !== undefined && !isCold;
	const repeated = isWarm ? commonTokens(parts.sent, before.sent) : 0;
	const came = isWarm ? commonTokens(parts.unedited, before.unedited) : 0;
	const read = usage
		? usage.cacheRead * (tokensOf(parts.sent) / Math.max(1, promptTokens(usage)))
		: expectedRead(request);
	// Providers keep entries at a few places alone: where an edit has changed what was sent, less than the common start is read.
	const isChanged = isWarm && repeated < tokensOf(before.sent) && came >= tokensOf(before.unedited);
	const isUnread = !isChanged && repeated * scale >= longRepeat && read < repeated / 2;
	// Where nothing asks for a cache and nothing is read, the unedited request would read nothing either.
	const isUncached = terms.caching === "not_asked" && usage?.cacheRead === 0;
	const isLost = terms.caching === "never_read" || isUncached || isUnread;
	const isMore = read > repeated + tokensOf(parts.sent) * someShare;
	const reached = () => uneditedUpTo(read, parts, before === undefined);
	const cached = isLost || !isWarm ? reached() : isMore ? Math.max(came, reached()) : came;

	const { input: factor } = stepFactors(terms.prices, whole * scale);
	const billed = (cached * terms.reads + (whole - cached) * restPrice(usage, terms)) * scale * factor;
	const comparable = isWarm ? Math.min(whole, tokensOf(before.unedited)) : 0;
	const isExplained = isLost || (usage !== undefined && !isMore);
	return { billed, repeated: repeated * scale, isUnexplained: came < comparable / 2 && !isExplained };
}

/** Providers cache from some 1 000 tokens on. */
const longRepeat = 1_024;

/** The share of a request by which the sizes of its parts may be wrong, and that other conversations may share with it. */
const someShare = 0.1;

/** The bill of a request whose answer does not tell it. */
export function estimatedBill(request: Omit<BilledRequest, "usage">): number {
	const { parts, scale, terms } = request;
	const whole = tokensOf(parts.sent);
	const expected = expectedRead(request);
	const cached = expected * scale < longRepeat ? 0 : expected;
	const { input: factor } = stepFactors(terms.prices, whole * scale);
	const { cache_read, cache_write } = terms.prices;
	return (cached * cache_read + (whole - cached) * cache_write) * scale * factor;
}

/** If another process has sent the conversation, all but the last turn is in the cache. */
function expectedRead({ parts, before, isCold, isResumed }: Omit<BilledRequest, "usage">): number {
	if (isCold) return 0;
	if (before) return commonTokens(parts.sent, before.sent);
	return isResumed ? tokensOf(parts.sent.slice(0, -2)) : 0;
}

/** The price of a token that the provider has not read, without a step. */
export function restPrice(usage: TokenCounts | undefined, terms: CacheTerms): number {
	const rest = usage && usage.input + usage.cacheWrite;
	if (!usage || !rest) return terms.prices.cache_write;
	const { input: factor } = stepFactors(terms.prices, promptTokens(usage));
	// Of very large figures the difference is not exact.
	return Math.max(0, inputBill(usage, terms) / factor - usage.cacheRead * terms.reads) / rest;
}

/**
 * Unedited tokens of the parts that the provider has read, which are the first `tokens` of the sent request. In the
 * first request, one of our edits may have ended the read; then all but the last turn counts as read.
 */
function uneditedUpTo(tokens: number, { unedited, sent }: RequestParts, isFirst: boolean): number {
	let left = tokens;
	let came = 0;
	for (const [index, { key, tokens: size }] of sent.entries()) {
		const whole = unedited[index] as SizedPart;
		if (left < size) {
			const isEdited = key !== whole.key;
			if (isFirst && isEdited && tokens > 0) return Math.max(came, tokensOf(unedited.slice(0, -2)));
			return came + (whole.tokens * left) / size;
		}
		left -= size;
		came += whole.tokens;
	}
	return came;
}

export function tokensOf(parts: readonly SizedPart[]): number {
	return parts.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Tokens of the longest common start of two requests: providers cache it. By whole messages, as in `replay`. */
function commonTokens(parts: readonly SizedPart[], before: readonly SizedPart[]): number {
	const end = parts.findIndex(({ key }, index) => key !== before[index]?.key);
	return tokensOf(end === -1 ? parts : parts.slice(0, end));
}

import { stepFactors } from "../../engine/masking/price-steps.ts";
import { whole } from "../../operations/window-words.ts";
import { modelName } from "../../storage/figures/line.ts";
import { headChange } from "./head-change.ts";
import type { RequestHead, RequestSettings } from "./request-head.ts";
import type { CacheTerms } from "./terms.ts";
import { type RequestParts, restPrice, type SizedPart, tokensOf } from "./unedited-bill.ts";
import { promptTokens, type Usage } from "./usage.ts";

/**
 * Why a provider has not read from its cache what was sent before and again. `effort`: a setting of the request, such as
 * the effort or the thinking. `earlier_message`: the program changed its history. `masking`: we did.
 */
export const breakCauses = [
	"pause",
	"model",
	"tools",
	"system",
	"effort",
	"earlier_message",
	"masking",
	"cut_on_resume",
	"unknown",
] as const;

export type BreakCause = (typeof breakCauses)[number];

export interface CacheBreak {
	readonly cause: BreakCause;
	/** A phrase without any text of the conversation. */
	readonly detail: string;
	/** In tokens of the provider: sent before and again, and not read. */
	readonly tokens: number;
	/** The MCP servers whose tools changed. */
	readonly servers: readonly string[];
}

/** A request that the provider has answered. */
export interface SeenRequest {
	readonly model: string | undefined;
	readonly head: RequestHead;
	readonly settings: RequestSettings;
	readonly parts: RequestParts;
	readonly usage: Usage;
}

interface ChangedResult {
	readonly reason: string;
	/** The place of its message. */
	readonly message: number;
}

export interface Comparison {
	/** The request before in the conversation; `undefined` for the first one of this process. */
	readonly before: SeenRequest | undefined;
	readonly now: SeenRequest;
	readonly terms: CacheTerms;
	/** Whether the provider's cache had expired. */
	readonly isCold: boolean;
	/** Whether another process has sent the request before, and the cache may still have it. */
	readonly isResumed: boolean;
	/** Milliseconds since the request before, if they are known. */
	readonly pause: number | undefined;
	/** The role of a message of this request, by its place. */
	readonly roleOf: (message: number) => string | undefined;
	/** The results that we send otherwise from this request on. */
	readonly changed: readonly ChangedResult[];
	/** Whether a breakpoint keeps the tools and the system prompt in the cache by themselves. */
	readonly keepsHead: boolean;
	/** Whether it ends with a message of the user after reasoning. */
	readonly beginsTurn: () => boolean;
}

/**
 * Finds out whether the cache broke with a request, and why. It broke if the provider read less than it had cached of what
 * came again. Of several changes the first in the order of the prompt counts, since it alone ends what is read; a pause
 * comes before them. A change behind the place up to which the provider has read explains nothing, and one in the messages does
 * not explain that not even the tools and the system prompt were read.
 */
export function findBreak(compared: Comparison): CacheBreak | undefined {
	const { before, now } = compared;
	return before ? breakBetween(before, now, compared) : breakOnResume(now, compared);
}

/** US dollars that the tokens of a break cost more than reading them; `undefined` if the price of the model is unknown. */
export function breakDollars(tokens: number, usage: Usage, terms: CacheTerms): number | undefined {
	const { dollars, prices, reads } = terms;
	const { input: factor } = stepFactors(prices, promptTokens(usage));
	const more = Math.max(0, restPrice(usage, terms) - reads) * factor;
	return dollars && (tokens * (more / prices.input) * dollars.input) / 1_000_000;
}

/** Providers cache in blocks, and no short prompts. */
const leastTokens = 1_024;
/** The share of a prompt by which the sizes of its parts may be wrong. */
const errorShare = 0.02;

/** Whether so many tokens are missing in what was expected to be read. */
export function isLoss(tokens: number, expected: number): boolean {
	return tokens > Math.max(leastTokens, expected * errorShare);
}

function breakBetween(before: SeenRequest, now: SeenRequest, compared: Comparison): CacheBreak | undefined {
	const { terms, isCold, pause } = compared;
	const read = now.usage.cacheRead;
	if (terms.caching === "never_read") return undefined;
	const cached = cachedBy(before.usage, terms);
	// The usual case: the conversation went on.
	if (!isLoss(cached - read, cached)) return undefined;
	const sentBefore = tokensOf(before.parts.sent);
	const ofHead = 1 + systemMessages(compared);
	const again = Math.min(1, tokensAgain(now.parts.sent, before.parts.sent, ofHead) / Math.max(1, sentBefore)) * cached;
	const tokens = Math.round(Math.min(again, promptTokens(now.usage)) - read);
	if (!isLoss(tokens, cached)) return undefined;
	const lost = (cause: BreakCause, detail: string, servers: readonly string[] = []): CacheBreak => {
		return { cause, detail, tokens, servers };
	};
	if (isCold) return lost("pause", pauseText(pause, terms));
	if (before.model !== now.model) return lost("model", `${modelText(before.model)} → ${modelText(now.model)}`);
	const scale = promptTokens(before.usage) / Math.max(1, sentBefore);
	const headTokens = tokensOf(before.parts.sent.slice(0, ofHead)) * scale;
	const mayEndAt = (place: number) => read <= place * someMore + leastTokens;
	if (mayEndAt(headTokens)) {
		const change = headChange(before.head, now.head);
		if (change) return lost(change.cause, change.detail, change.servers);
	}
	// Anthropic then reads nothing.
	if (terms.caching === "not_asked") return lost("effort", "cache_control: some → none");
	const setting = settingChange(before.settings, now.settings);
	if (setting !== undefined) return lost("effort", setting);
	const isHeadLost = compared.keepsHead && headTokens > 2 * leastTokens && read < headTokens / 2;
	const message = messageChange(before, now, compared);
	// What we sent otherwise is known to be new, however far the provider has read.
	if (message && (message.cause === "masking" || (!isHeadLost && mayEndAt(message.place * scale))))
		return lost(message.cause, isHeadLost ? `${message.detail}; ${headLost}` : message.detail);
	// A provider that caches by itself may store a prompt late or in part: it has lost only what it had read before.
	if (terms.caching !== "asked" && read >= before.usage.cacheRead) return undefined;
	const what = isHeadLost
		? headLost
		: compared.beginsTurn() && leavesReasoningOut(now.model)
			? "the API leaves out the reasoning of earlier turns"
			: "no change was seen before that";
	return lost("unknown", `${whole(read)} of ${whole(again)} tokens were read; ${what}`);
}

const headLost = "not even the tools and the system prompt were read";

/**
 * OpenAI leaves out the reasoning of earlier turns where a new one begins
 * (https://cookbook.openai.com/examples/responses_api/reasoning_items), and Anthropic does up to Opus 4.1, Sonnet 4.5 and Haiku 4.5
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking).
 */
export function leavesReasoningOut(model = ""): boolean {
	const claude = /claude-(?:3-7|(?:opus|sonnet)-4(?:-1)?(?:-\d{8})?$|(?:sonnet|haiku)-4-5)/;
	return /(?:^|\/)(?:gpt-[5-9]|o\d|codex)/.test(model) || claude.test(model);
}

/** Parts are counted by other means than the provider's. */
const someMore = 1.15;

/** In the API of chat completions the system prompt is the first message. */
function systemMessages({ roleOf }: Pick<Comparison, "roleOf">): number {
	let count = 0;
	while (roleOf(count) === "system") count += 1;
	return count;
}

/** Tokens of a request that are in the provider's cache once it has answered. */
function cachedBy(usage: Usage, { caching }: CacheTerms): number {
	const { cacheRead, cacheWrite } = usage;
	return caching === "asked" || cacheWrite > 0 ? cacheRead + cacheWrite : promptTokens(usage);
}

/**
 * Tokens of the parts that were sent before, in any place. Most of a changed head, which is the first `ofHead` parts, comes
 * again.
 */
function tokensAgain(parts: readonly SizedPart[], before: readonly SizedPart[], ofHead: number): number {
	const known = new Set(before.map(({ key }) => key));
	return parts.reduce((sum, { key, tokens }, at) => {
		if (known.has(key)) return sum + tokens;
		return at < ofHead ? sum + Math.min(tokens, before[at]?.tokens ?? 0) : sum;
	}, 0);
}

/** The first message that was sent otherwise than before, and its place in our tokens. */
function messageChange(
	{ parts: { sent: sentBefore, unedited: cameBefore } }: SeenRequest,
	{ parts: { sent, unedited } }: SeenRequest,
	{ roleOf, changed }: Comparison,
): { readonly cause: BreakCause; readonly detail: string; readonly place: number } | undefined {
	const first = firstChange(sent, sentBefore);
	if (first === undefined) return undefined;
	const place = tokensOf(sent.slice(0, first));
	const where = `message ${whole(first)} of ${whole(sent.length - 1)}`;
	if (first === firstChange(unedited, cameBefore)) {
		const role = roleOf(first - 1);
		const detail =
			role === undefined ? `the messages after message ${whole(first - 1)} are gone` : `${where} (${role})`;
		return { cause: "earlier_message", place, detail };
	}
	const results = changed.filter(({ message }) => message + 1 < sentBefore.length);
	return { cause: "masking", place, detail: `${ownChanges(results)}, from ${where} on` };
}

/** The place of the first part that differs, or is gone; `undefined` if parts were only added. */
function firstChange(parts: readonly SizedPart[], before: readonly SizedPart[]): number | undefined {
	// The head has a comparison of its own.
	for (let at = 1; at < before.length; at += 1) if (parts[at]?.key !== before[at]?.key) return at;
	return undefined;
}

function ownChanges(results: readonly ChangedResult[]): string {
	const [first] = results;
	if (!first) return "sent in another form";
	const { reason } = first;
	const isOne = results.every((one) => one.reason === reason);
	return `${results.length === 1 ? "1 result" : `${whole(results.length)} results`} ${isOne ? reason : "changed"}`;
}

/**
 * The first request that this process sees of a conversation. What comes before its last answer was sent before: after a
 * pause it is written again, and so is what follows a result that we have changed.
 */
function breakOnResume(now: SeenRequest, compared: Comparison): CacheBreak | undefined {
	const { terms, isCold, isResumed, pause, changed, roleOf } = compared;
	const { parts, usage } = now;
	const count = parts.sent.length - 1;
	const answer = Array.from({ length: count }, (_, message) => roleOf(message)).lastIndexOf("assistant");
	if (answer === -1 || terms.caching === "never_read" || terms.caching === "not_asked") return undefined;
	const results = changed.filter(({ message }) => message < answer);
	const [first] = results;
	// Only one that is asked to cache is known to have cached that request.
	const isLost = isResumed && terms.caching === "asked";
	if (!isCold && !first && !isLost) return undefined;
	const scale = promptTokens(usage) / Math.max(1, tokensOf(parts.sent));
	const unchanged = parts.sent.slice(0, answer + 1).filter(({ key }, at) => isCold || key === parts.unedited[at]?.key);
	const known = tokensOf(unchanged) * scale;
	const tokens = Math.round(known - usage.cacheRead);
	if (!isLoss(tokens, known)) return undefined;
	if (isCold) return { cause: "pause", detail: pauseText(pause, terms), tokens, servers: [] };
	if (!first)
		return { cause: "unknown", detail: "the request before went through another process", tokens, servers: [] };
	const where = `message ${whole(first.message + 1)} of ${whole(count)}`;
	return { cause: "cut_on_resume", detail: `${ownChanges(results)}, from ${where} on`, tokens, servers: [] };
}

function pauseText(pause: number | undefined, { lifetime }: CacheTerms): string {
	const lives = `the cache lasts ${minutes(lifetime)}`;
	return pause === undefined ? lives : `${minutes(pause)} since the last request; ${lives}`;
}

function modelText(model: string | undefined): string {
	return model === undefined ? "none" : modelName(model);
}

function settingChange(before: RequestSettings, now: RequestSettings): string | undefined {
	const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
	const changed = names.filter((name) => before[name] !== now[name]);
	if (changed.length === 0) return undefined;
	return changed.map((name) => `${name}: ${before[name] ?? "none"} → ${now[name] ?? "none"}`).join(", ");
}

function minutes(ms: number): string {
	return ms < 90_000 ? `${whole(ms / 1_000)} s` : `${whole(ms / 60_000)} min`;
}

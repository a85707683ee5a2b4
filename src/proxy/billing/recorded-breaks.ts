import { once } from "../../engine/conversation/lists.ts";
import { type CallUsage, resultCharacters, type Transcript } from "../../engine/conversation/transcript.ts";
import { type Pause, pausesOf } from "../../engine/masking/cache-time.ts";
import { stepFactors } from "../../engine/masking/price-steps.ts";
import type { ReadConversation } from "../../formats/detect.ts";
import { pricesOfModel } from "../../formats/tokens/model-prices.ts";
import { whole } from "../../operations/window-words.ts";
import { modelName } from "../../storage/figures/line.ts";
import { type BreakCause, leavesReasoningOut } from "./cache-break.ts";
import { type SessionEvent, sessionEvents } from "./session-events.ts";

/**
 * Why a recorded call read less from the cache. Beside the causes of a request that we see: `restart`: the program was started
 * again; `compaction`; `rewind`: calls of a branch that was left came between; `prompt_start`: the tools or the system prompt changed, or the program was started again with others;
 * `reasoning`: the API left out that of earlier turns; `provider`: it did not find a cache that another call shows to be there.
 */
export type RecordedCause =
	| BreakCause
	| "restart"
	| "compaction"
	| "rewind"
	| "prompt_start"
	| "reasoning"
	| "provider";

export interface RecordedBreak {
	/** The number of the call in its session, counted from 1. */
	readonly call: number;
	readonly cause: RecordedCause;
	/** A phrase without any text of the session. */
	readonly detail: string;
	/** Tokens of the call before that were not read. At most those sent again: a record does not show what a compaction left. */
	readonly tokens: number;
	/** Their cost above that of reading them; `undefined` if the price of the model is unknown. */
	readonly usd: number | undefined;
	/** MCP servers whose tools changed. */
	readonly servers: readonly string[];
}

export interface RecordedBreaks {
	/** Calls with a usage that are no copies; 0 if the provider never read from its cache. */
	readonly calls: number;
	readonly breaks: readonly RecordedBreak[];
}

/** Providers cache in blocks, and no short prompts; some models only from 4 096 tokens on. */
const leastTokens = 1_024;
const leastPrompt = 4_096;
const errorShare = 0.02;

/**
 * Finds the calls of a session that read less from the cache than the call before, and says why by what its file records. A
 * cause counts only if it explains that so little was read. What no record explains is `unknown`, such as a system prompt that
 * changed: most files do not hold it. Calls before the message `ownStart` are copies, which another session counts.
 */
export function recordedBreaks(
	source: ReadConversation,
	cacheSeconds: number,
	{ ownStart = 0, isOurs = () => false }: { readonly ownStart?: number; readonly isOurs?: IsOurs } = {},
): RecordedBreaks {
	const { transcript } = source;
	const calls = callsOf(transcript, cacheSeconds);
	if (calls.length < 2 || calls.every(({ usage }) => usage.cachedTokens === 0)) return { calls: 0, breaks: [] };
	const events = sessionEvents(source);
	const inTurns = once(() => callsInTurns(calls));
	const breaks = calls.flatMap((now, index): RecordedBreak[] => {
		const before = calls[index - 1];
		if (!before || now.message < ownStart || !isBreak(before.usage, now)) return [];
		const turn = calls[before.turn] as Call;
		const between = { before, now, next: calls[index + 1], first: calls[0] as Call, turn };
		const {
			cause,
			detail,
			servers = [],
		} = causeOf(between, events.get(now.message) ?? [], { inTurns, transcript, isOurs });
		const tokens = Math.min(before.usage.inputTokens, now.usage.inputTokens) - now.usage.cachedTokens;
		return [
			{
				call: index + 1,
				cause,
				detail,
				tokens,
				usd: dollarsOf(tokens, now.usage, transcript.messages[now.message]?.time),
				servers,
			},
		];
	});
	return { calls: calls.filter(({ message }) => message >= ownStart).length, breaks };
}

/** Whether our proxy decided on results with the request of a call, as its figures say. */
type IsOurs = (usage: CallUsage) => boolean;

interface Call {
	readonly message: number;
	readonly usage: CallUsage;
	readonly isClaude: boolean;
	readonly isSent: boolean;
	readonly pause: Pause;
	/** Whether it answers a message of the user, not a result. */
	readonly isPrompt: boolean;
	/** The first call that answers the same message of the user. */
	readonly turn: number;
}

function callsOf(transcript: Transcript, cacheSeconds: number): Call[] {
	const { messages } = transcript;
	const placed = messages.flatMap(({ usage, sent }, message) =>
		usage ? [{ message, usage, isSent: sent !== false }] : [],
	);
	const pauses = pausesOf(
		transcript,
		placed.map(({ message }) => message),
		cacheSeconds,
	);
	let turn = 0;
	return placed.map((call, index) => {
		const last = messages[call.message - 1];
		const isPrompt = last?.role === "user" && last.results.length === 0;
		if (isPrompt) turn = index;
		const isClaude = /claude|managed-agents/i.test(call.usage.model ?? transcript.format);
		return { ...call, isClaude, isPrompt, turn, pause: pauses[call.message] as Pause };
	});
}

/**
 * Claude's cache has all of a call once it has answered. Others store it later or in part, so that only a call that reads less
 * than the one before has lost something.
 */
function isBreak(before: CallUsage, { usage: now, isClaude }: Call): boolean {
	const lost = Math.min(before.inputTokens, now.inputTokens) - now.cachedTokens;
	if (lost <= Math.max(leastTokens, before.inputTokens * errorShare)) return false;
	if (before.inputTokens < leastPrompt) return false;
	return now.cachedTokens < before.cachedTokens || (isClaude && now.cachedTokens === before.cachedTokens);
}

interface Between {
	readonly before: Call;
	readonly now: Call;
	readonly next: Call | undefined;
	readonly first: Call;
	/** The call that began the turn of `before`. */
	readonly turn: Call;
}

type Found = Pick<RecordedBreak, "cause" | "detail"> & { readonly servers?: readonly string[] | undefined };

function causeOf(
	between: Between,
	events: readonly SessionEvent[],
	{
		inTurns,
		transcript,
		isOurs,
	}: { readonly inTurns: () => CallsInTurns; readonly transcript: Transcript; readonly isOurs: IsOurs },
): Found {
	const { before, now } = between;
	const event = (kind: SessionEvent["kind"]) => events.find((one) => one.kind === kind);
	const { seconds, lifetime } = now.pause;
	if (seconds > lifetime)
		return {
			cause: "pause",
			detail: `${duration(seconds)} since the call before; the cache lasts ${duration(lifetime)}`,
		};
	const compacted = event("compaction");
	if (compacted || (!before.isSent && now.isSent))
		return { cause: "compaction", detail: compacted?.detail ?? "the session was compacted" };
	const [one, other] = [before.usage.model, now.usage.model];
	if (one !== undefined && other !== undefined && one !== other)
		return { cause: "model", detail: `${modelName(one)} → ${modelName(other)}` };
	const restarted = event("resumed") ?? event("restart");
	if (restarted) return { cause: "restart", detail: restarted.detail };
	const changed = event("tools") ?? event("system") ?? event("effort");
	if (changed)
		return { cause: changed.kind as "tools" | "system" | "effort", detail: changed.detail, servers: changed.servers };
	if (isOurs(now.usage)) return { cause: "masking", detail: "our proxy sent results in another form from here on" };
	return (
		mediaFound(between, transcript) ??
		reasoningLeftOut(between, transcript) ??
		foundAs("rewind", event("fork")) ??
		leftOut(between) ??
		providerMiss(between, inTurns, transcript) ??
		shrunkReasoning(between, transcript) ??
		promptStart(between, inTurns) ??
		unknown(between)
	);
}

/** An image that comes or goes anywhere makes Anthropic's cache of the messages invalid ("What invalidates the cache"). */
function mediaFound({ before, now, first }: Between, { messages }: Transcript): Found | undefined {
	if (!now.isClaude) return undefined;
	const hasMedia = (to: number) =>
		messages.slice(0, to).some(({ mediaTokens, sent }) => sent !== false && mediaTokens > 0);
	if (hasMedia(before.message) || !hasMedia(now.message)) return undefined;
	// Tools and system prompt are in a cache of their own.
	if (now.usage.cachedTokens > first.usage.inputTokens + leastTokens) return undefined;
	return { cause: "effort", detail: "images: none → some" };
}

/** The first call of the last turn had none of its reasoning. */
function reasoningLeftOut({ now, turn }: Between, { messages }: Transcript): Found | undefined {
	if (!now.isPrompt || !leavesReasoningOut(now.usage.model)) return undefined;
	const hasReasoned = messages.slice(turn.message, now.message).some(({ thinking }) => thinking.length > 0);
	// Anthropic may find no entry there, and then reads the tools and the system prompt alone.
	const least = now.isClaude ? 0 : turn.usage.inputTokens * (1 - errorShare) - leastTokens;
	if (!hasReasoned || now.usage.cachedTokens < least) return undefined;
	return { cause: "reasoning", detail: "the reasoning of the last turn was left out" };
}

/** OpenAI keeps its cache on several machines, so less may be read than what came before that reasoning. */
function shrunkReasoning({ before, now }: Between, { messages }: Transcript): Found | undefined {
	const fewer = before.usage.inputTokens - now.usage.inputTokens;
	const hasReasoned = messages.slice(0, now.message).some(({ thinking }) => thinking.length > 0);
	if (fewer <= 0 || !now.isPrompt || !hasReasoned || !isOpenAi(now.usage)) return undefined;
	return { cause: "reasoning", detail: `at least ${whole(fewer)} tokens of earlier turns were left out` };
}

/**
 * At a message of the user, less than half of the first prompt was read. The provider rarely loses its cache in the middle of
 * a turn of this session, so another beginning was sent.
 */
function promptStart({ now, first }: Between, inTurns: () => CallsInTurns): Found | undefined {
	if (!now.isPrompt || now.usage.cachedTokens >= first.usage.inputTokens / 2) return undefined;
	const { all, kept } = inTurns();
	if (all < fewestReliable || kept < all * leastReliable) return undefined;
	const detail = "not even the tools and the system prompt were read: they changed, or the program was started again";
	return { cause: "prompt_start", detail };
}

const fewestReliable = 20;
const leastReliable = 0.98;

function foundAs(cause: RecordedCause, event: SessionEvent | undefined): Found | undefined {
	return event && { cause, detail: event.detail };
}

/** Whether earlier messages were taken out, as the sizes of the prompts show. */
function leftOut({ before, now }: Between): Found | undefined {
	const fewer = before.usage.inputTokens - now.usage.inputTokens;
	if (fewer <= 0 || isOpenAi(now.usage)) return undefined;
	return { cause: "earlier_message", detail: `at least ${whole(fewer)} tokens of earlier messages were left out` };
}

/** Whether the next call read what the calls before had cached and this one has not found, so that it was there all the time. */
function isFoundAgain({ before, now, next }: Pick<Between, "before" | "now" | "next">): boolean {
	const later = next?.usage.cachedTokens ?? 0;
	const isOlder = later <= before.usage.inputTokens + block && now.usage.inputTokens - later > leastTokens;
	const isSame = later === before.usage.cachedTokens;
	return (isOlder || isSame) && later > now.usage.cachedTokens + leastTokens;
}

/**
 * A call in the middle of a turn. Its prompt grew by at least the added text, and the next call read it whole: a program that
 * keeps its prompt from call to call does not change it for one call alone.
 * The same where this call read more than the first prompt, so that neither the tools nor the system prompt have changed.
 */
function providerMiss(between: Between, inTurns: () => CallsInTurns, transcript: Transcript): Found | undefined {
	if (isFoundAgain(between)) return { cause: "provider", detail: "the next call read the earlier cache again" };
	const { before, now, next, first } = between;
	const isReadAgain = next !== undefined && !isBreak(now.usage, next);
	const isDeep = now.usage.cachedTokens > first.usage.inputTokens;
	if (now.isPrompt || !(isReadAgain || isDeep)) return undefined;
	const grown = now.usage.inputTokens - before.usage.inputTokens;
	if (grown < charsAdded(before, now, transcript) / mostCharsPerToken) return undefined;
	const { all, kept, found } = inTurns();
	// The program keeps its prompt in the middle of turns, as what most of those calls read shows.
	if (kept + found < all * leastStable) return undefined;
	const sign = isReadAgain ? "the next call read it again" : "its tools and system prompt were read";
	return { cause: "provider", detail: `in the middle of a turn; the prompt only grew, and ${sign}` };
}

type CallsInTurns = ReturnType<typeof callsInTurns>;

/** Calls in the middle of turns: all, those that read the cache of the call before, and those whose cache the next call found. */
function callsInTurns(calls: readonly Call[]) {
	let [all, kept, found] = [0, 0, 0];
	for (let index = 1; index < calls.length; index += 1) {
		const [before, now] = [calls[index - 1] as Call, calls[index] as Call];
		if (now.isPrompt) continue;
		all += 1;
		if (!isBreak(before.usage, now)) kept += 1;
		else if (isFoundAgain({ before, now, next: calls[index + 1] })) found += 1;
	}
	return { all, kept, found };
}

/** Prose and code have some four. */
const mostCharsPerToken = 6;
const leastStable = 0.75;

/** Characters of the answer and the results between two calls, without reasoning. */
function charsAdded(before: Call, now: Call, { messages }: Transcript): number {
	return messages.slice(before.message, now.message).reduce((sum, { counted, results }) => {
		const chars = counted.reduce((all, text) => all + text.length, 0);
		return sum + results.reduce((all, result) => all + resultCharacters(result), chars);
	}, 0);
}

/** Providers that cache by themselves do it in steps of 64 to 256 tokens. */
const block = 256;

function unknown({ now }: Between): Found {
	const where = now.isPrompt
		? "at a message of the user: the program may have been started again, or have changed its prompt"
		: "in the middle of a turn, whose calls only add to the prompt";
	return { cause: "unknown", detail: where };
}

function isOpenAi({ model = "" }: CallUsage): boolean {
	return /(?:^|\/)(?:gpt|o\d|codex)/.test(model);
}

function dollarsOf(
	tokens: number,
	{ model, inputTokens, cacheSeconds = 0 }: CallUsage,
	time: number | undefined,
): number | undefined {
	const prices = model === undefined ? undefined : pricesOfModel(model, time);
	if (!prices?.dollars) return undefined;
	const write = cacheSeconds >= 3_600 ? prices.writeForHour : prices.write;
	const { input: factor } = stepFactors(prices, inputTokens);
	return (tokens * Math.max(0, write - prices.read) * factor * prices.dollars.input) / 1_000_000;
}

function duration(seconds: number): string {
	if (seconds < 90) return `${whole(seconds)} s`;
	return seconds < 7_200 ? `${whole(seconds / 60)} min` : `${whole(seconds / 3_600)} h`;
}

import type { CallUsage, Message, Transcript } from "../../src/engine/conversation/transcript.ts";
import { coldMoments } from "../../src/engine/masking/cache-time.ts";

/**
 * Why a provider read another number of tokens from its cache than predicted. `granularity`: it caches in blocks, and no
 * short prompts. `compaction`, `model_change`, `restart`, `pause`, `reasoning`: by rule the cache, or its end, is lost; it
 * was not quite as the rule says.
 */
const explained = ["granularity", "compaction", "model_change", "restart", "pause", "reasoning"] as const;

/**
 * No rule says why. `fork`: calls of another branch were made in between. `prompt`: less was read by the first call after
 * a message of the user, where programs leave out earlier reasoning or are started anew. `provider`: less, in the middle
 * of a turn, whose calls only add to the prompt. `surplus`: more; the provider also caches answers, or calls that are not
 * in the record cached them.
 */
export const unexplainedCauses = ["fork", "prompt", "provider", "surplus"] as const;

export const causes = [...explained, ...unexplainedCauses] as const;

type Cause = (typeof causes)[number];

/** One LLM call, in the provider's tokens. What is not read from the cache counts as written. */
interface CalibratedCall {
	readonly message: number;
	readonly input: number;
	readonly read: number;
	readonly predictedRead: number;
	/** Absent if they are equal. */
	readonly cause?: Cause;
}

/** Differences up to this are of blocks. */
const block = 1_024;

/** The longest prompt that a provider does not cache. */
const leastPrompt = 4_096;

/** What a session's file records between two calls. */
export type Interruption = "fork" | "restart" | "compaction";

/**
 * Compares what each recorded call read from the provider's cache with the rule of the replay's bill: all of the call
 * before it, unless that is lost. What the first call read came from other sessions (a system prompt); it is taken as
 * given, and as still there when the rest is lost.
 */
export function calibrateCalls(
	transcript: Transcript,
	{
		cacheSeconds,
		interruptionsBefore,
	}: {
		readonly cacheSeconds: number;
		readonly interruptionsBefore: (message: number) => readonly Interruption[];
	},
): readonly CalibratedCall[] {
	const { messages } = transcript;
	const calls = messages.flatMap(({ usage, sent }, message) =>
		usage ? [{ message, usage, isSent: sent !== false }] : [],
	);
	const cold = coldMoments(
		transcript,
		calls.map(({ message }) => message),
		{ seconds: cacheSeconds },
	);
	const shared = calls[0]?.usage.cachedTokens ?? 0;
	let turn = calls[0] as (typeof calls)[number];
	return calls.map((call, index): CalibratedCall => {
		const { message, usage } = call;
		const before = calls[index - 1];
		const { inputTokens: input, cachedTokens: read } = usage;
		if (!before) return { message, input, read, predictedRead: read };
		const last = messages[message - 1] as Message;
		const isPrompt = last.role === "user" && last.results.length === 0;
		const lastTurn = turn;
		if (isPrompt) turn = call;
		const interruptions = interruptionsBefore(message);
		const lossOf = (): Cause | undefined => {
			const rewritten = interruptions.find((one) => one !== "fork");
			if (rewritten) return rewritten;
			if (!before.isSent && call.isSent) return "compaction";
			if (isOtherModel(before.usage, usage)) return "model_change";
			if (cold[message] === 1) return "pause";
			return isPrompt && dropsReasoning(usage) && lastTurn !== before ? "reasoning" : undefined;
		};
		const lost = lossOf();
		const kept = lost === undefined ? before : lost === "reasoning" ? lastTurn : undefined;
		const predictedRead = Math.min(input, kept?.usage.inputTokens ?? shared);
		if (predictedRead === read) return { message, input, read, predictedRead };
		return { message, input, read, predictedRead, cause: causeOf() };

		function causeOf(): Cause {
			const isSmall = Math.abs(predictedRead - read) <= block || (read === 0 && predictedRead < leastPrompt);
			if (isSmall) return "granularity";
			if (lost) return lost;
			if (interruptions.includes("fork")) return "fork";
			if (read > predictedRead) return "surplus";
			return isPrompt ? "prompt" : "provider";
		}
	});
}

/**
 * OpenAI removes the reasoning of earlier turns, so a new turn shares with the last only what its first call sent
 * (https://cookbook.openai.com/examples/responses_api/reasoning_items).
 */
function dropsReasoning({ model = "" }: CallUsage): boolean {
	return /^(?:openai\/)?(?:gpt-[5-9]|o\d|codex)/.test(model);
}

function isOtherModel(one: CallUsage, other: CallUsage): boolean {
	return one.model !== undefined && other.model !== undefined && one.model !== other.model;
}

/** The calls of a session and their prices. */
export interface CalibratedSession {
	readonly calls: readonly CalibratedCall[];
	readonly costOf: (call: { readonly input: number; readonly cached: number }) => number;
}

/** The sums over the calls of some sessions. */
export function calibrationTotals(sessions: readonly CalibratedSession[]) {
	const priced = sessions.flatMap(({ calls, costOf }) =>
		calls.map((call) => ({
			...call,
			billed: costOf({ input: call.input, cached: call.read }),
			predictedBilled: costOf({ input: call.input, cached: call.predictedRead }),
		})),
	);
	const total = sumsOf(priced);
	const byCause = causes.map((cause) => {
		const own = sumsOf(priced.filter((call) => call.cause === cause));
		// Positive if predicted too high, as the differences of the sums.
		const tokens = own.predictedRead - own.read;
		return [cause, { calls: own.calls, tokens, billed: own.predictedBilled - own.billed }];
	});
	return {
		conversations: sessions.length,
		...total,
		causes: Object.fromEntries(byCause) as Readonly<Record<Cause, CauseTotals>>,
	};
}

/** By how much the predicted reads, in tokens, and the predicted bill of the calls of one cause are too high. */
export interface CauseTotals {
	readonly calls: number;
	readonly tokens: number;
	readonly billed: number;
}

function sumsOf(calls: readonly (CalibratedCall & { readonly billed: number; readonly predictedBilled: number })[]) {
	const sum = (of: (call: (typeof calls)[number]) => number) => calls.reduce((total, call) => total + of(call), 0);
	return {
		calls: calls.length,
		read: sum(({ read }) => read),
		predictedRead: sum(({ predictedRead }) => predictedRead),
		written: sum(({ input, read }) => input - read),
		predictedWritten: sum(({ input, predictedRead }) => input - predictedRead),
		billed: sum(({ billed }) => billed),
		predictedBilled: sum(({ predictedBilled }) => predictedBilled),
	};
}

/** The calls whose difference a rule explains, and those without any. */
export function withoutUnexplained({ calls, costOf }: CalibratedSession): CalibratedSession {
	const isExplained = ({ cause }: CalibratedCall) => !unexplainedCauses.some((one) => one === cause);
	return { calls: calls.filter(isExplained), costOf };
}

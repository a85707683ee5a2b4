import type { CallUsage, Transcript } from "../conversation/transcript.ts";
import { coldMoments } from "../masking/cache-time.ts";

/**
 * Why a provider read another number of tokens from its cache than the replay predicts. `granularity`: it caches in
 * blocks, and no short prompts. `compaction`, `model_change`, `pause`: the cache was lost, or outlived it. `fork`: calls
 * of another branch were made in between. `prompt`: first call after a message of the user, when programs leave out
 * earlier reasoning or start anew. `unknown`: in the middle of a turn.
 */
export const causes = ["granularity", "compaction", "model_change", "pause", "fork", "prompt", "unknown"] as const;

export type Cause = (typeof causes)[number];

/** One LLM call, in the provider's tokens. What is not read from the cache counts as written. */
export interface CalibratedCall {
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

/**
 * Compares what each recorded call read from the provider's cache with the rule of the replay's bill: all of the call
 * before it, unless that is lost. What the first call read came from other sessions (a system prompt); it is taken as
 * given, and as still there when the rest is lost.
 */
export function calibrateCalls(
	transcript: Transcript,
	{
		cacheSeconds,
		isForkBefore,
	}: { readonly cacheSeconds: number; readonly isForkBefore: (message: number) => boolean },
): readonly CalibratedCall[] {
	const { messages } = transcript;
	const calls = messages.flatMap(({ usage }, message) => (usage ? [{ message, usage }] : []));
	const cold = coldMoments(
		transcript,
		calls.map(({ message }) => message),
		{ seconds: cacheSeconds },
	);
	const shared = calls[0]?.usage.cachedTokens ?? 0;
	return calls.map(({ message, usage }, index): CalibratedCall => {
		const before = calls[index - 1];
		const { inputTokens: input, cachedTokens: read } = usage;
		if (!before) return { message, input, read, predictedRead: read };
		const lost = lossOf();
		const predictedRead = Math.min(input, lost ? shared : before.usage.inputTokens);
		if (predictedRead === read) return { message, input, read, predictedRead };
		return { message, input, read, predictedRead, cause: causeOf() };

		function lossOf(): Cause | undefined {
			const wasCompacted = messages[before?.message ?? 0]?.sent === false && messages[message]?.sent !== false;
			if (wasCompacted) return "compaction";
			if (before && isOtherModel(before.usage, usage)) return "model_change";
			return cold[message] === 1 ? "pause" : undefined;
		}

		function causeOf(): Cause {
			const isSmall = Math.abs(predictedRead - read) <= block || (read === 0 && predictedRead < leastPrompt);
			if (isSmall) return "granularity";
			if (lost) return lost;
			if (isForkBefore(message)) return "fork";
			return messages[message - 1]?.role === "user" && messages[message - 1]?.results.length === 0
				? "prompt"
				: "unknown";
		}
	});
}

function isOtherModel(one: CallUsage, other: CallUsage): boolean {
	return one.model !== undefined && other.model !== undefined && one.model !== other.model;
}

/** Sums over calls; they add up over conversations. */
export interface CalibrationTotals {
	readonly conversations: number;
	readonly calls: number;
	readonly read: number;
	readonly predictedRead: number;
	readonly written: number;
	readonly predictedWritten: number;
	readonly billed: number;
	readonly predictedBilled: number;
	/** Calls of each cause, and the tokens by which their predicted reads are too high (if negative, too low). */
	readonly causes: Readonly<Record<Cause, { readonly calls: number; readonly tokens: number }>>;
}

export function totalsOfCalls(
	calls: readonly CalibratedCall[],
	costOf: (call: { readonly input: number; readonly cached: number }) => number,
): CalibrationTotals {
	const sum = (of: (call: CalibratedCall) => number) => calls.reduce((total, call) => total + of(call), 0);
	const byCause = causes.map((cause) => {
		const own = calls.filter((call) => call.cause === cause);
		return [cause, { calls: own.length, tokens: own.reduce((total, one) => total + one.predictedRead - one.read, 0) }];
	});
	return {
		conversations: 1,
		calls: calls.length,
		read: sum(({ read }) => read),
		predictedRead: sum(({ predictedRead }) => predictedRead),
		written: sum(({ input, read }) => input - read),
		predictedWritten: sum(({ input, predictedRead }) => input - predictedRead),
		billed: sum(({ input, read }) => costOf({ input, cached: read })),
		predictedBilled: sum(({ input, predictedRead }) => costOf({ input, cached: predictedRead })),
		causes: Object.fromEntries(byCause) as CalibrationTotals["causes"],
	};
}

export function addCalibrations(all: readonly CalibrationTotals[]): CalibrationTotals {
	const sum = (of: (totals: CalibrationTotals) => number) => all.reduce((total, one) => total + of(one), 0);
	const byCause = causes.map((cause) => [
		cause,
		{ calls: sum((one) => one.causes[cause].calls), tokens: sum((one) => one.causes[cause].tokens) },
	]);
	return {
		conversations: sum((one) => one.conversations),
		calls: sum((one) => one.calls),
		read: sum((one) => one.read),
		predictedRead: sum((one) => one.predictedRead),
		written: sum((one) => one.written),
		predictedWritten: sum((one) => one.predictedWritten),
		billed: sum((one) => one.billed),
		predictedBilled: sum((one) => one.predictedBilled),
		causes: Object.fromEntries(byCause) as CalibrationTotals["causes"],
	};
}

import type { CallTokens, ReplayHistory } from "../masking/history.ts";

/**
 * A way to replace old messages by a summary (docs/measure.md#policies). `provider`: Anthropic writes it from the cached prompt,
 * and kept reasoning stays valid. `summary`: a model reads the messages afresh, and kept reasoning that is bound to them goes.
 */
export interface ReplayedCompaction {
	readonly by: "provider" | "summary";
	/** Tokens of a prompt from which a summary is asked for; `undefined`: 80 % of the window. */
	readonly trigger: number | undefined;
	/** Tokens of a summary. An assumption. */
	readonly summary: number;
	/** The last calls whose messages stay. */
	readonly keep: number;
}

/** An answer and its results. */
const messagesOfCall = 2;

/** Of a window that is not known, 160 000 of 200 000 tokens. */
const usual = { ofWindow: 0.8, window: 200_000 } as const;

/**
 * Meters a history whose older messages are replaced by a summary whenever a prompt reaches the trigger: it is asked for beside
 * the next answer, and is in its place from the call after. The schedule says when each summarised result leaves view.
 */
export function meterCompaction(
	history: ReplayHistory,
	compaction: ReplayedCompaction,
	about: { readonly windowTokens: number | undefined; readonly thinkingRedone: number },
) {
	const { calls: openings, messageTokens, surroundingTokens, results, cold, reasoning } = history;
	const { by, summary, keep } = compaction;
	const trigger = compaction.trigger ?? usual.ofWindow * (about.windowTokens ?? usual.window);
	const schedule = new Float64Array(results.length).fill(Number.POSITIVE_INFINITY);
	const calls: CallTokens[] = [];
	/** By call, the request for a summary that comes before it. */
	const requests = new Map<number, CallTokens & { readonly output: number }>();
	const before = prefixSums(messageTokens);
	const thought = prefixSums(reasoning?.tokens ?? messageTokens.map(() => 0));
	const sum = (sums: readonly number[], from: number, to: number) => (sums[to] as number) - (sums[from] as number);
	let [cut, held, goneFrom, goneTo, left] = [0, 0, 0, 0, 0];
	let next: number | undefined;
	let summaries = 0;
	for (const [index, opening] of openings.entries()) {
		let redone = 0;
		const isSwapped = next !== undefined;
		if (next !== undefined) {
			[cut, held, next] = [next, summary, undefined];
			summaries += 1;
			if (by === "summary" && reasoning) {
				[goneFrom, goneTo] = [cut, opening];
				redone = about.thinkingRedone * sum(thought, goneFrom, goneTo);
			}
			for (const [place, { message }] of results.entries())
				if (message < cut && schedule[place] === Number.POSITIVE_INFINITY) schedule[place] = opening;
		}
		const gone = sum(thought, Math.max(cut, goneFrom), Math.max(cut, goneFrom, goneTo));
		const input = surroundingTokens + held + sum(before, cut, opening) - gone;
		const kept = cold[opening] === 1 ? 0 : isSwapped ? Math.min(surroundingTokens, left) : left;
		calls.push({ input, cached: Math.min(kept, input), ...(redone > 0 ? { redone } : {}) });
		left = input;
		const behind = openings[index - keep + 1];
		if (input < trigger || behind === undefined || index + 1 >= openings.length) continue;
		// As the proxy: where what stays is too much by itself, a summary after each call would not help.
		if (behind <= cut || (held > 0 && behind - cut < messagesOfCall * keep)) continue;
		next = behind;
		const read = held + sum(before, cut, behind);
		const isProvider = by === "provider";
		requests.set(index + 1, {
			input: (isProvider ? surroundingTokens : 0) + read,
			cached: isProvider ? surroundingTokens + read : 0,
			output: summary,
		});
	}
	return { calls, schedule, requests, summaries };
}

function prefixSums(values: ArrayLike<number>): number[] {
	const sums = [0];
	for (let index = 0; index < values.length; index += 1) sums.push((sums[index] as number) + (values[index] as number));
	return sums;
}

import { type CallTokens, type ReplayHistory, type ReplayResult, startView, walk } from "../masking/history.ts";
import type { Schedule } from "../masking/replay.ts";
import type { Prices } from "../policy/schema.ts";

/** What one LLM call was sent, in tokens by part; together its input. */
export interface ContextParts {
	/** System messages, and what each request carries beside the messages. */
	readonly system: number;
	/** User messages, and those of roles that no format defines. */
	readonly user: number;
	readonly assistant: number;
	/** Tool results that stand as they came, their images too, with the frame of the messages that hold them alone. */
	readonly results: number;
	/** What stands in the place of masked ones. */
	readonly placeholders: number;
}

const partOfRole = { system: "system", user: "user", other: "user", assistant: "assistant", tool: "results" } as const;

/** What each call of a history is sent under a schedule, part by part, in the order of its `calls`. */
export function contextByPart(history: ReplayHistory, schedule: Schedule): ContextParts[] {
	const { transcript, messageTokens, results, firstResult, calls, surroundingTokens } = history;
	const now = { system: surroundingTokens, user: 0, assistant: 0, results: 0, placeholders: 0 };
	const maskedBy = results
		.map((_, place) => place)
		.filter((place) => schedule[place] !== Number.POSITIVE_INFINITY)
		.sort((a, b) => (schedule[a] as number) - (schedule[b] as number));
	let arrived = 0;
	let masked = 0;
	return calls.map((call) => {
		for (; arrived < call; arrived += 1) {
			let own = messageTokens[arrived] as number;
			for (let place = firstResult[arrived] as number; place < (firstResult[arrived + 1] as number); place += 1) {
				const { tokens } = results[place] as ReplayResult;
				now.results += tokens;
				own -= tokens;
			}
			now[partOfRole[transcript.messages[arrived]?.role ?? "other"]] += own;
		}
		for (; (schedule[maskedBy[masked] ?? -1] ?? Number.POSITIVE_INFINITY) <= call; masked += 1) {
			const { saves, outcome } = results[maskedBy[masked] as number] as ReplayResult;
			const written = placeholderTokens(outcome);
			now.results -= saves + written;
			now.placeholders += written;
		}
		return { ...now };
	});
}

function placeholderTokens(outcome: ReplayResult["outcome"]): number {
	if (typeof outcome === "string") return 0;
	return outcome.reduce((sum, edit) => (edit.unsent ? sum : sum + edit.after.tokens), 0);
}

/** What the calls of a history come to under a schedule. Tokens are those of the history, unscaled. */
export interface Bill {
	/** One for each LLM call, in order. */
	readonly calls: readonly CallTokens[];
	/** Sum over the calls. */
	readonly inputTokens: number;
	/** Those of them that were read from the cache. */
	readonly cachedTokens: number;
	/** What they cost at the prices: `cached × cache_read + (input − cached) × cache_write`. */
	readonly billed: number;
	/** Tokens of the largest call. */
	readonly peakTokens: number;
	/** Results that were masked in the end. */
	readonly maskedResults: number;
}

/** Adds up what each call of a history is sent and costs, where results are masked as a schedule says. */
export function meterSchedule(history: ReplayHistory, schedule: Schedule, prices: Prices): Bill {
	const view = startView(history);
	const calls: CallTokens[] = [];
	const due = resultsByMoment(history.results, schedule);
	walk(history, {
		beforeAnswer(index) {
			for (const place of due.get(index) ?? []) view.mask(place);
		},
		call() {
			calls.push(view.call());
		},
		append: view.append,
	});
	const inputTokens = calls.reduce((sum, call) => sum + call.input, 0);
	const cachedTokens = calls.reduce((sum, call) => sum + call.cached, 0);
	return {
		calls,
		inputTokens,
		cachedTokens,
		billed: cachedTokens * prices.cache_read + (inputTokens - cachedTokens) * prices.cache_write,
		peakTokens: calls.reduce((most, call) => Math.max(most, call.input), 0),
		maskedResults: Array.from(due.values()).reduce((sum, places) => sum + places.length, 0),
	};
}

function resultsByMoment(results: readonly ReplayResult[], schedule: Schedule): ReadonlyMap<number, readonly number[]> {
	const due = new Map<number, number[]>();
	for (let place = 0; place < results.length; place += 1) {
		const moment = schedule[place] as number;
		if (moment === Number.POSITIVE_INFINITY) continue;
		const places = due.get(moment);
		if (places) places.push(place);
		else due.set(moment, [place]);
	}
	return due;
}

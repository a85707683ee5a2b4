import { groupBy } from "../conversation/lists.ts";
import type { Message } from "../conversation/transcript.ts";
import { type CallTokens, type ReplayHistory, type ReplayResult, startView, walk } from "../masking/history.ts";
import type { Schedule } from "../masking/replay.ts";
import type { Prices } from "../policy/schema.ts";

/** The input tokens of one LLM call by part. */
export interface ContextParts {
	/** With the surroundings of each request. */
	readonly system: number;
	/** With messages of unknown roles. */
	readonly user: number;
	readonly assistant: number;
	/** Of results that are not masked, with the frame of their messages. */
	readonly results: number;
	readonly placeholders: number;
}

const partOfRole = { system: "system", user: "user", other: "user", assistant: "assistant", tool: "results" } as const;

export function contextByPart(history: ReplayHistory, schedule: Schedule): ContextParts[] {
	const { transcript, messageTokens, results, firstResult, calls, surroundingTokens } = history;
	const now = { system: surroundingTokens, user: 0, assistant: 0, results: 0, placeholders: 0 };
	const maskedBy = results.map((_, place) => place).sort((a, b) => (schedule[a] as number) - (schedule[b] as number));
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
			now[partOfRole[(transcript.messages[arrived] as Message).role]] += own;
		}
		for (; (schedule[maskedBy[masked] ?? -1] ?? Number.POSITIVE_INFINITY) <= call; masked += 1) {
			const { saves, outcome } = results[maskedBy[masked] as number] as ReplayResult;
			const edits = typeof outcome === "string" ? [] : outcome;
			const written = edits.reduce((sum, edit) => (edit.unsent ? sum : sum + edit.after.tokens), 0);
			now.results -= saves + written;
			now.placeholders += written;
		}
		return { ...now };
	});
}

/** Output tokens of each call: the assistant messages of its answer, without results that such a message holds. */
export function outputByCall({ transcript, messageTokens, results, firstResult, calls }: ReplayHistory): number[] {
	const output = calls.map(() => 0);
	let call = -1;
	transcript.messages.forEach(({ role }, index) => {
		if (calls[call + 1] === index) call += 1;
		if (role !== "assistant") return;
		const own = results.slice(firstResult[index], firstResult[index + 1]);
		const held = own.reduce((sum, { tokens }) => sum + tokens, 0);
		output[call] = (output[call] as number) + (messageTokens[index] as number) - held;
	});
	return output;
}

/** The calls of a history under a schedule and their sums. Tokens are unscaled. */
export function meterSchedule(history: ReplayHistory, schedule: Schedule, prices: Prices) {
	const view = startView(history);
	const calls: CallTokens[] = [];
	const due = groupBy(history.results.keys(), (place) => schedule[place]);
	due.delete(Number.POSITIVE_INFINITY);
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

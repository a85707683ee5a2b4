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
	/** Tokens of results that are not masked, with the frame of their messages. */
	readonly results: number;
	readonly placeholders: number;
}

const partOfRole = { system: "system", user: "user", other: "user", assistant: "assistant", tool: "results" } as const;

export function contextByPart(history: ReplayHistory, schedule: Schedule, thinkingRedone = 0): ContextParts[] {
	const less = history.reasoning ? reasoningLess(history, schedule, thinkingRedone) : undefined;
	const { transcript, messageTokens, results, firstResult, calls, surroundingTokens } = history;
	const now = { system: surroundingTokens, user: 0, assistant: 0, results: 0, placeholders: 0 };
	const maskedBy = results.map((_, place) => place).sort((a, b) => (schedule[a] as number) - (schedule[b] as number));
	let arrived = 0;
	let masked = 0;
	return calls.map((call, index) => {
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
		return { ...now, assistant: now.assistant - (less?.[index] ?? 0) };
	});
}

/** For each call, the tokens by which its context has less reasoning than was recorded. */
function reasoningLess(history: ReplayHistory, schedule: Schedule, thinkingRedone: number): number[] {
	const { calls } = walkSchedule(history, schedule, thinkingRedone);
	const { results } = history;
	const masked = results.map((_, place) => place).sort((a, b) => (schedule[a] as number) - (schedule[b] as number));
	let next = 0;
	let saved = 0;
	return calls.map(({ input, unmasked }, index) => {
		const message = history.calls[index] as number;
		for (; (schedule[masked[next] ?? -1] ?? Number.POSITIVE_INFINITY) <= message; next += 1) {
			saved += (results[masked[next] as number] as ReplayResult).saves;
		}
		return unmasked - input - saved;
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

/** The calls of a history under a schedule. */
function walkSchedule(history: ReplayHistory, schedule: Schedule, thinkingRedone: number) {
	const view = startView(history, thinkingRedone);
	const calls: (CallTokens & { readonly unmasked: number })[] = [];
	const due = groupBy(history.results.keys(), (place) => schedule[place]);
	due.delete(Number.POSITIVE_INFINITY);
	const start = ownStart(history);
	let leftOutBefore = 0;
	walk(history, {
		beforeAnswer(index) {
			for (const place of due.get(index) ?? []) view.mask(place);
		},
		call() {
			if (calls.length === history.copied) leftOutBefore = view.leftOut();
			const unmasked = view.unmasked();
			calls.push({ ...view.call(), unmasked });
		},
		append: view.append,
	});
	const maskedResults = Array.from(due).reduce(
		(sum, [at, places]) => sum + ((at as number) < start ? 0 : places.length),
		0,
	);
	return { calls, maskedResults, leftOut: view.leftOut() - leftOutBefore };
}

/** The message from which the calls of a history are not copies. */
function ownStart({ calls, copied = 0, transcript }: ReplayHistory): number {
	return copied === 0 ? 0 : (calls[copied] ?? transcript.messages.length);
}

/** The calls of a history under a schedule, and the sums of those that are not copied. Tokens are unscaled. */
export function meterSchedule(history: ReplayHistory, schedule: Schedule, prices: Prices) {
	const { calls: walked, maskedResults, leftOut } = walkSchedule(history, schedule, prices.thinking_redone);
	const calls = walked.map(({ unmasked: _, ...call }): CallTokens => call);
	const own = calls.slice(history.copied);
	const inputTokens = own.reduce((sum, call) => sum + call.input, 0);
	const cachedTokens = own.reduce((sum, call) => sum + call.cached, 0);
	const redone = own.reduce((sum, call) => sum + (call.redone ?? 0), 0);
	const billedInput = cachedTokens * prices.cache_read + (inputTokens - cachedTokens) * prices.cache_write;
	return {
		calls,
		inputTokens,
		cachedTokens,
		/** With the output of reasoning that is produced once more. */
		billed: billedInput + redone * prices.output,
		peakTokens: own.reduce((most, call) => Math.max(most, call.input), 0),
		maskedResults,
		reasoning: {
			recorded: history.reasoning?.tokens.slice(ownStart(history)).reduce((sum, tokens) => sum + tokens, 0) ?? 0,
			/** Invalid by the end. */
			leftOut,
			redone,
		},
	};
}

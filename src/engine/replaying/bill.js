import { groupBy } from "../conversation/lists.js";
import { startView, walk } from "../masking/history.js";

const partOfRole = { system: "system", user: "user", other: "user", assistant: "assistant", tool: "results" };
export function contextByPart(history, schedule, thinkingRedone = 0) {
	const less = history.reasoning ? reasoningLess(history, schedule, thinkingRedone) : undefined;
	const { transcript, messageTokens, results, firstResult, calls, surroundingTokens } = history;
	const now = { system: surroundingTokens, user: 0, assistant: 0, results: 0, placeholders: 0 };
	const maskedBy = results.map((_, place) => place).sort((a, b) => schedule[a] - schedule[b]);
	let arrived = 0;
	let masked = 0;
	return calls.map((call, index) => {
		for (; arrived < call; arrived += 1) {
			let own = messageTokens[arrived];
			for (let place = firstResult[arrived]; place < firstResult[arrived + 1]; place += 1) {
				const { tokens } = results[place];
				now.results += tokens;
				own -= tokens;
			}
			now[partOfRole[transcript.messages[arrived].role]] += own;
		}
		for (; (schedule[maskedBy[masked] ?? -1] ?? Number.POSITIVE_INFINITY) <= call; masked += 1) {
			const { saves, outcome } = results[maskedBy[masked]];
			const edits = typeof outcome === "string" ? [] : outcome;
			const written = edits.reduce((sum, edit) => (edit.unsent ? sum : sum + edit.after.tokens), 0);
			now.results -= saves + written;
			now.placeholders += written;
		}
		return { ...now, assistant: now.assistant - (less?.[index] ?? 0) };
	});
}
/** For each call, the tokens by which its context has less reasoning than was recorded. */
function reasoningLess(history, schedule, thinkingRedone) {
	const { calls } = walkSchedule(history, schedule, thinkingRedone);
	const { results } = history;
	const masked = results.map((_, place) => place).sort((a, b) => schedule[a] - schedule[b]);
	let next = 0;
	let saved = 0;
	return calls.map(({ input, unmasked }, index) => {
		const message = history.calls[index];
		for (; (schedule[masked[next] ?? -1] ?? Number.POSITIVE_INFINITY) <= message; next += 1) {
			saved += results[masked[next]].saves;
		}
		return unmasked - input - saved;
	});
}
/** Output tokens of each call: the assistant messages of its answer, without results that such a message holds. */
export function outputByCall({ transcript, messageTokens, results, firstResult, calls }) {
	const output = calls.map(() => 0);
	let call = -1;
	transcript.messages.forEach(({ role }, index) => {
		if (calls[call + 1] === index) call += 1;
		if (role !== "assistant") return;
		const own = results.slice(firstResult[index], firstResult[index + 1]);
		const held = own.reduce((sum, { tokens }) => sum + tokens, 0);
		output[call] = output[call] + messageTokens[index] - held;
	});
	return output;
}
/** The calls of a history under a schedule. */
function walkSchedule(history, schedule, thinkingRedone) {
	const view = startView(history, thinkingRedone);
	const calls = [];
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
	const maskedResults = Array.from(due).reduce((sum, [at, places]) => sum + (at < start ? 0 : places.length), 0);
	return { calls, maskedResults, leftOut: view.leftOut() - leftOutBefore };
}
/** The message from which the calls of a history are not copies. */
function ownStart({ calls, copied = 0, transcript }) {
	return copied === 0 ? 0 : (calls[copied] ?? transcript.messages.length);
}
/** The calls of a history under a schedule, and the sums of those that are not copied. Tokens are unscaled. */
export function meterSchedule(history, schedule, prices) {
	const { calls: walked, maskedResults, leftOut } = walkSchedule(history, schedule, prices.thinking_redone);
	const calls = walked.map(({ unmasked: _, ...call }) => call);
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

import { groupBy } from "../conversation/lists.js";
import { outputOfRecall, smallestOf } from "../masking/fault-cost.js";
import { startView, walk } from "../masking/history.js";
import { callsInView } from "../masking/in-use.js";
import { usesByCall, wholeResults } from "./recall.js";
/**
 * Counts the faults of a schedule (docs/replay.md#faults): calls whose answer uses a string that is only in masked results,
 * or was only in what was cut.
 * A fault costs a call more, which recalls for each such string the smallest result that holds it.
 */
export function meterFaults(history, schedule, { costOf, costOfOutput, thinkingRedone }) {
	const results = wholeResults(history);
	const needed = neededByCall(history, schedule);
	const masked = groupBy(history.results.keys(), (place) => schedule[place]);
	const view = startView(history, thinkingRedone);
	let copies = [];
	let [faults, billed, call] = [0, 0, 0];
	walk(history, {
		beforeAnswer(index) {
			for (const place of masked.get(index) ?? []) view.mask(place);
		},
		call() {
			copies = copies.filter((copy) => call - copy.call <= callsInView);
			const { input: own, cached, redone = 0 } = view.call();
			const copied = tokensOf(copies);
			const input = own + copied;
			const isOwn = call >= (history.copied ?? 0);
			if (isOwn) billed += costOf({ input, cached: cached + copied });
			if (isOwn && redone > 0) billed += costOfOutput(redone, input);
			const recalled = missingResults(needed[call], { copies, results }).map((place) => {
				return { place, call, tokens: results[place].tokens };
			});
			copies.push(...recalled);
			if (isOwn && recalled.length > 0) {
				faults += 1;
				billed += costOfOutput(outputOfRecall, input);
				billed += costOf({ input: input + tokensOf(recalled), cached: input });
			}
			call += 1;
		},
		append: view.append,
	});
	return { faults, billed };
}
function tokensOf(copies) {
	return copies.reduce((sum, { tokens }) => sum + tokens, 0);
}
/** For each call, the holders of each string that its answer uses and that is not in view. */
function neededByCall(history, schedule) {
	const { calls } = history;
	const needed = calls.map(() => []);
	for (const { call, holders, shownBy } of [...usesByCall(history, "identifiers"), ...usesByCall(history, "lines")]) {
		const isMissing = shownBy.every((place) => schedule[place] <= calls[call]);
		if (isMissing) needed[call].push(holders);
	}
	return needed;
}
function missingResults(needed, { copies, results }) {
	const missing = needed
		.filter((holders) => !holders.some((place) => copies.some((copy) => copy.place === place)))
		.map((holders) => smallestOf(holders, results));
	return [...new Set(missing)];
}

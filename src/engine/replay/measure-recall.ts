import type { ReplayHistory } from "./history.ts";
import type { Schedule } from "./replay.ts";
import { findUses, type Taken } from "./uses.ts";

/** How many of the strings that were used were in view when they were. */
export interface RecallCount {
	readonly used: number;
	readonly inView: number;
	/** Of those that were not: how many the placeholder of a masked result showed, in its digest. */
	readonly inDigest: number;
}

/** Recall under a schedule: by identifiers, and by whole lines. */
export interface Recall {
	readonly identifiers: RecallCount;
	readonly lines: RecallCount;
}

/**
 * Counts the identifiers and whole lines that assistant messages use and that stood only in tool results until then
 * (`findUses`), and those of them that the LLM call behind the message was still sent: in a result that was not masked
 * when the call was made. What is an item of a placeholder's digest is counted apart; a part of an item is not shown.
 */
export function measureRecall(history: ReplayHistory, schedule: Schedule): Recall {
	const uses = findUses(history.transcript);
	return {
		identifiers: countInView(history, schedule, uses.identifiers),
		lines: countInView(history, schedule, uses.lines),
	};
}

function countInView(
	{ calls, results }: ReplayHistory,
	schedule: Schedule,
	uses: readonly (readonly Taken[])[],
): RecallCount {
	let used = 0;
	let inView = 0;
	let inDigest = 0;
	let call = -1;
	uses.forEach((ofMessage, message) => {
		if (calls[call + 1] === message) call += 1;
		const moment = calls[call] ?? 0;
		for (const { text, holders } of ofMessage) {
			used += 1;
			if (holders.some((place) => (schedule[place] as number) > moment)) inView += 1;
			else if (holders.some((place) => results[place]?.digest.includes(text))) inDigest += 1;
		}
	});
	return { used, inView, inDigest };
}

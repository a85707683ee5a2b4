import type { ReplayHistory, ReplayResult } from "../masking/history.ts";
import type { Schedule } from "../masking/replay.ts";
import type { Taken } from "../masking/uses.ts";

interface UseByCall extends Taken {
	/** Place in `calls` of the call whose answer uses the string. */
	readonly call: number;
	/** The holders that show it while they are not masked: it may have been cut from the others as they arrived. */
	readonly shownBy: readonly number[];
}

/** The strings of `findUses` in their order. Holders are the results that had the string before any cut. */
export function usesByCall({ calls, uses, cut }: ReplayHistory, kind: "identifiers" | "lines"): UseByCall[] {
	let call = 0;
	return (cut?.whole.uses ?? uses)()[kind].flatMap((ofMessage, message) => {
		if (calls[call + 1] === message) call += 1;
		return ofMessage.map(({ text, holders }) => {
			return { call, text, holders, shownBy: cut ? holders.filter((place) => !cut.hides(place, kind, text)) : holders };
		});
	});
}

/** The results as a recall brings them back. */
export function wholeResults({ cut, results }: ReplayHistory): readonly ReplayResult[] {
	return cut?.whole.results ?? results;
}

/** For each result, the place in `calls` of the first call that has it. */
export function callsAfter({ results, calls }: ReplayHistory): number[] {
	let call = 0;
	return results.map(({ message }) => {
		while ((calls[call] as number) <= message) call += 1;
		return call;
	});
}

export interface RecallCount {
	readonly used: number;
	readonly inView: number;
	/** Only in the digest of a masked result. */
	readonly inDigest: number;
}

/** Counts the strings of `findUses` in calls that are not copied, and those in view of their LLM call. A part of a digest's item does not count. */
export function measureRecall(history: ReplayHistory, schedule: Schedule) {
	const { calls, results, copied = 0 } = history;
	const countOf = (kind: "identifiers" | "lines"): RecallCount => {
		const used = usesByCall(history, kind).filter(({ call }) => call >= copied);
		const isInView = ({ call, shownBy }: UseByCall) =>
			shownBy.some((place) => (schedule[place] as number) > (calls[call] as number));
		const masked = used.filter((use) => !isInView(use));
		const inDigest = masked.filter(({ text, holders }) =>
			holders.some((place) => (results[place] as ReplayResult).digest.includes(text)),
		);
		return { used: used.length, inView: used.length - masked.length, inDigest: inDigest.length };
	};
	return { identifiers: countOf("identifiers"), lines: countOf("lines") };
}

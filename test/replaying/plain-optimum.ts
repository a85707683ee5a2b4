import type { ReplayHistory } from "../../src/masking/history.ts";
import type { Prices } from "../../src/policy/schema.ts";

/**
 * The least that the calls of a history can cost where results are masked by age alone and those of the last
 * `windowTurns` tool turns stay: over all schedules by which the boundary between masked and whole turns may advance.
 * Found by dynamic programming that keeps sums alone, no schedule.
 */
export function plainOptimum(history: ReplayHistory, windowTurns: number, prices: Prices): number {
	const { cache_read: read, cache_write: write } = prices;
	const { messageTokens, surroundingTokens, calls, opensTurn } = history;
	const { saved, firstMaskable } = boundaries(history);
	const last = saved.length - 1;
	const before = [surroundingTokens];
	for (const tokens of messageTokens) before.push((before.at(-1) as number) + tokens);

	// What the calls so far cost at least, by the boundary that the last of them was sent with.
	let least = new Float64Array(last + 1).fill(Number.POSITIVE_INFINITY);
	least[0] = 0;
	let previous: number | undefined;
	let turns = 0;
	let seen = 0;
	for (const call of calls) {
		for (; seen < call; seen += 1) turns += opensTurn[seen] as number;
		const most = Math.min(last, Math.max(0, turns - windowTurns));
		const next = new Float64Array(last + 1).fill(Number.POSITIVE_INFINITY);
		/** The least so far over boundaries that advance here, less what they find in the cache. */
		let advancing = Number.POSITIVE_INFINITY;
		for (let boundary = 0; boundary <= most; boundary += 1) {
			const soFar = least[boundary] as number;
			const gone = saved[boundary] as number;
			const input = (before[call] as number) - gone;
			const kept = previous === undefined ? 0 : (before[previous] as number) - gone;
			next[boundary] = Math.min(soFar - (write - read) * kept, advancing) + input * write;
			const firstChanged = firstMaskable[boundary] as number;
			const same = previous === undefined ? 0 : Math.min(kept, (before[Math.min(firstChanged, call)] as number) - gone);
			advancing = Math.min(advancing, soFar - (write - read) * same);
		}
		least = next;
		previous = call;
	}
	return calls.length === 0 ? 0 : least.reduce((a, b) => Math.min(a, b));
}

/**
 * For each boundary (a number of turns), what masking all turns before it saves, and the first message that masking
 * more would change.
 */
function boundaries({ results, opensTurn, messageTokens }: ReplayHistory) {
	const turns = opensTurn.reduce((sum, opens) => sum + opens, 0);
	const saved = new Float64Array(turns + 1);
	const firstMaskable = new Float64Array(turns + 1).fill(messageTokens.length);
	for (const { turn, saves, message } of results) {
		if (turn === undefined || saves === 0) continue;
		saved[turn + 1] = (saved[turn + 1] as number) + saves;
		firstMaskable[turn] = Math.min(firstMaskable[turn] as number, message);
	}
	for (let turn = 1; turn <= turns; turn += 1) saved[turn] = (saved[turn] as number) + (saved[turn - 1] as number);
	for (let turn = turns - 1; turn >= 0; turn -= 1) {
		firstMaskable[turn] = Math.min(firstMaskable[turn] as number, firstMaskable[turn + 1] as number);
	}
	return { saved, firstMaskable };
}

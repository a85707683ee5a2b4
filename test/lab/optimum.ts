import type { ReplayHistory } from "../../src/engine/masking/history.ts";
import type { Schedule } from "../../src/engine/masking/replay.ts";
import type { Prices } from "../../src/engine/policy/schema.ts";

/** A moment at which the boundary between masked and unmasked turns advances. */
interface Advance {
	/** Index of the message of the first call with this boundary. */
	readonly moment: number;
	readonly boundary: number;
	readonly before: Advance | undefined;
}

/**
 * The cheapest schedule that masks results by age alone, by an advancing boundary between masked and unmasked turns, and
 * keeps the last `windowTurns` tool turns; of several, the one that advances last. Dynamic programming over the whole
 * history, in time proportional to calls × turns.
 */
export function optimalSchedule(history: ReplayHistory, windowTurns: number, prices: Prices): Schedule {
	const schedule = new Float64Array(history.results.length).fill(Number.POSITIVE_INFINITY);
	// From the last to the first, so that the first advance that masks a result wins.
	for (let advance = lastAdvance(history, windowTurns, prices); advance; advance = advance.before) {
		const { moment, boundary } = advance;
		history.results.forEach(({ turn, saves }, place) => {
			if (turn !== undefined && turn < boundary && saves > 0) schedule[place] = moment;
		});
	}
	return schedule;
}

function lastAdvance(
	history: ReplayHistory,
	windowTurns: number,
	{ cache_read: read, cache_write: write }: Prices,
): Advance | undefined {
	const { messageTokens, surroundingTokens, calls, opensTurn, cold } = history;
	const { saved, firstMaskable } = boundaries(history);
	const before = [surroundingTokens];
	for (const tokens of messageTokens) before.push((before.at(-1) as number) + tokens);

	// The least cost of the calls so far and its advances, by the boundary of the last call.
	const least = new Float64Array(saved.length).fill(Number.POSITIVE_INFINITY);
	const ways: (Advance | undefined)[] = [];
	least[0] = 0;
	let previous: number | undefined;
	let turns = 0;
	let seen = 0;
	for (const call of calls) {
		if (cold[call] === 1) previous = undefined;
		for (; seen < call; seen += 1) turns += opensTurn[seen] as number;
		const most = Math.min(saved.length - 1, Math.max(0, turns - windowTurns));
		/** The least so far of boundaries that advance here, less the saving by the cache. */
		let advancing = Number.POSITIVE_INFINITY;
		let from: Advance | undefined;
		for (let boundary = 0; boundary <= most; boundary += 1) {
			// It masks no more than the boundary before it; where writing costs less than reading, it would seem to save.
			if (saved[boundary] === saved[boundary - 1]) continue;
			const soFar = least[boundary] as number;
			const way = ways[boundary];
			const gone = saved[boundary] as number;
			const input = (before[call] as number) - gone;
			const kept = previous === undefined ? 0 : (before[previous] as number) - gone;
			const staying = soFar - (write - read) * kept;
			if (advancing < staying) ways[boundary] = { moment: call, boundary, before: from };
			least[boundary] = Math.min(staying, advancing) + input * write;
			const firstChanged = firstMaskable[boundary] as number;
			const same = Math.min(kept, (before[Math.min(firstChanged, call)] as number) - gone);
			if (soFar - (write - read) * same < advancing) {
				advancing = soFar - (write - read) * same;
				from = way;
			}
		}
		previous = call;
	}
	let best = 0;
	least.forEach((cost, boundary) => {
		if (cost < (least[best] as number)) best = boundary;
	});
	return ways[best];
}

/** For each boundary, the tokens that it saves, and the first message that a later boundary would change. */
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

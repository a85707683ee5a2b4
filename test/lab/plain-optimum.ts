import type { ReplayHistory } from "../../src/engine/masking/history.ts";
import type { Prices } from "../../src/engine/policy/schema.ts";
import { plainCold } from "../engine/masking/plain-cold.ts";

/**
 * The least that the calls of a history can cost if results are masked by age alone and those of the last `windowTurns`
 * tool turns stay. Written from the definition: masking all turns before a boundary makes a view of the messages, each
 * call is sent with a view whose boundary is no less than the one before, and the cache keeps the messages at the
 * beginning that are as they were in the call before, unless a pause lost them.
 */
export function plainOptimum(history: ReplayHistory, windowTurns: number, prices: Prices): number {
	const isCold = (call: number) => plainCold(history, call, prices.cache_seconds);
	const { calls, opensTurn } = history;
	const turnsBefore = (message: number) => opensTurn.slice(0, message).filter((opens) => opens > 0).length;
	const views = Array.from({ length: turnsBefore(opensTurn.length) + 1 }, (_, boundary) => viewOf(history, boundary));
	const noCall = { call: -1, costs: [0] };
	const last = calls.reduce(({ call: before, costs }, call) => {
		const mostTurns = Math.max(0, turnsBefore(call) - windowTurns);
		const next = views.slice(0, mostTurns + 1).map((view, boundary) => {
			const ways = costs.slice(0, boundary + 1).map((soFar, earlier) => {
				const cached = before === -1 || isCold(call) ? 0 : sharedTokens(views[earlier] ?? [], view, before);
				return soFar + cached * prices.cache_read + ((view[call] as number) - cached) * prices.cache_write;
			});
			return Math.min(...ways);
		});
		return { call, costs: next };
	}, noCall);
	return Math.min(...last.costs);
}

/** The tokens in front of each message where the results of all turns before the boundary are masked. */
function viewOf({ results, messageTokens, surroundingTokens }: ReplayHistory, boundary: number): number[] {
	const tokens = Array.from(messageTokens);
	for (const { message, turn, saves } of results) {
		if (turn !== undefined && turn < boundary) tokens[message] = (tokens[message] as number) - saves;
	}
	const view = [surroundingTokens];
	for (const own of tokens) view.push((view.at(-1) as number) + own);
	return view;
}

/** The tokens at the beginning of a view that another has too, over the first so many messages. */
function sharedTokens(earlier: readonly number[], view: readonly number[], messages: number): number {
	let shared = 0;
	while (shared < messages && earlier[shared + 1] === view[shared + 1]) shared += 1;
	return view[shared] as number;
}

import { addToList } from "../conversation/lists.js";
import { jsonPointer } from "../conversation/paths.js";
import { pairResults, toolTurns } from "../conversation/turns.js";
import { readHistory } from "./history.js";
import { markUnsent } from "./mask-result.js";
import { replay } from "./replay.js";
import { lazyMoments, madeNow } from "./thinking.js";
/** See docs/strategies.md. The edits for a history are a subset of those for a longer one. */
export function planMask(parameters, replayed) {
	const { transcript, policy } = parameters;
	const kept = {
		orphan: 0,
		not_text: 0,
		already_masked: 0,
		last_of_its_tool: 0,
		error: 0,
		not_smaller: 0,
	};
	if (!policy.enabled || policy.window_turns <= 0) return { edits: [], kept, momentOf: madeNow };
	const masked = replayed ?? replayMasking(parameters);
	const { history, schedule } = masked;
	const firstKeptTurn = toolTurns(transcript).length - policy.window_turns;
	const lastOfTheirTool = lastResultsOfEachTool(transcript, policy);
	const edits = history.results.flatMap(({ turn, outcome, staysUntil }, place) => {
		if (schedule[place] !== Number.POSITIVE_INFINITY && typeof outcome !== "string") {
			return markUnsent(transcript, outcome);
		}
		if (turn === undefined) kept.orphan += 1;
		else if (turn >= firstKeptTurn) return [];
		else if (lastOfTheirTool.has(place)) kept.last_of_its_tool += 1;
		else if (typeof outcome === "string") kept[outcome] += 1;
		else if (staysUntil === Number.POSITIVE_INFINITY) kept.error += 1;
		return [];
	});
	return { edits, kept, momentOf: lazyMoments(() => maskMoments(parameters, masked)) };
}
export function replayMasking(parameters) {
	const { meter, idleSeconds, bindsReasoning = parameters.bindsReasoning, ...how } = parameters.replaying;
	const cacheTime = { seconds: how.prices.cache_seconds, idleSeconds };
	const history = readHistory({ ...parameters, meter, cacheTime, bindsReasoning });
	return { history, schedule: replay(history, { forgets: true, ...how, bindsReasoning, mask: parameters.policy }) };
}
/** When each edit was first made. If the history has placeholders of an earlier call, every edit is made now. */
function maskMoments({ transcript, isPlaceholder }, { history, schedule }) {
	const results = transcript.messages.flatMap((message) => message.results);
	if (results.some(({ texts }) => texts.some(({ text }) => isPlaceholder(text)))) return madeNow;
	const moments = new Map();
	history.results.forEach(({ outcome }, place) => {
		if (typeof outcome === "string") return;
		for (const { path } of outcome) moments.set(jsonPointer(path), schedule[place]);
	});
	return ({ path }) => moments.get(jsonPointer(path)) ?? Number.POSITIVE_INFINITY;
}
/** Places of the last K results of each tool; those whose call has no name count as one tool. */
function lastResultsOfEachTool(transcript, { keep_last_k_per_tool: k, tools }) {
	const places = new Map();
	for (const [place, { caller, call }] of pairResults(transcript).entries()) {
		if (caller !== undefined && !Object.hasOwn(tools, call?.name ?? "")) addToList(places, call?.name, place);
	}
	return new Set(k ? [...places.values()].flatMap((ofTool) => ofTool.slice(-k)) : []);
}

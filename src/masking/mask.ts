import type { TokenMeter } from "../conversation/measure.ts";
import type { ReplaceEdit } from "../conversation/plan.ts";
import { jsonPointer, type Transcript } from "../conversation/transcript.ts";
import { pairResults, toolTurns } from "../conversation/turns.ts";
import type { MaskPolicy, Prices } from "../policy/schema.ts";
import { type ReplayHistory, readHistory } from "./history.ts";
import { type KeptReason, type MaskResultParameters, markUnsent } from "./mask-result.ts";
import { replay, type Schedule } from "./replay.ts";
import { lazyMoments, type MomentOf, madeNow } from "./thinking.ts";

/** The masking of a conversation: its edits, and what was left alone and why. */
export interface MaskPlan {
	readonly edits: readonly ReplaceEdit[];
	readonly kept: Readonly<Record<KeptReason, number>>;
	/** When each edit was first made. */
	readonly momentOf: MomentOf;
}

/** How a history is replayed. */
export interface Replaying {
	readonly meter: TokenMeter;
	readonly prices: Prices;
	/** Tokens of the context past which everything goes that may, whatever the cadence. Absent: none. */
	readonly budget?: number | undefined;
	/** Tokens by which a context that stays over the budget grows before everything goes again. Absent: none. */
	readonly slack?: number | undefined;
}

/** What masking needs to know. */
export interface MaskParameters extends MaskResultParameters {
	readonly transcript: Transcript;
	readonly replaying: Replaying;
}

/**
 * Plans the masking of old tool results (docs/specs/observation-masking.md) by replaying the history under the policy:
 * the plan is everything that the policy has masked by its end. With the cadence `every_turn` the results of the last
 * `window_turns` tool turns stay and older ones are masked. The edits for a history are a subset of the edits for the
 * same history with more messages behind it.
 */
export function planMask(parameters: MaskParameters, replayed?: ReplayedMasking): MaskPlan {
	const { transcript, policy } = parameters;
	const kept = { orphan: 0, not_text: 0, already_masked: 0, last_of_its_tool: 0, error: 0, not_smaller: 0 };
	if (!policy.enabled || policy.window_turns <= 0) return { edits: [], kept, momentOf: madeNow };
	const masked = replayed ?? replayMasking(parameters);
	const { history, schedule } = masked;
	const firstKeptTurn = toolTurns(transcript).length - policy.window_turns;
	const lastOfTheirTool = lastResultsOfEachTool(transcript, policy);
	const edits = history.results.flatMap(({ turn, outcome, staysUntil }, place): readonly ReplaceEdit[] => {
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

/** A history, and when the policy masked each of its results. */
export interface ReplayedMasking {
	readonly history: ReplayHistory;
	readonly schedule: Schedule;
}

/** Replays a history under the policy. */
export function replayMasking(parameters: MaskParameters): ReplayedMasking {
	const { meter, ...how } = parameters.replaying;
	const history = readHistory({ ...parameters, meter });
	return { history, schedule: replay(history, { ...how, mask: parameters.policy }) };
}

/**
 * When each edit of a masking was first made: the masking of a history is what was masked of its beginnings, so the
 * replay tells. In a history that is the answer of an earlier call, what was masked then is a placeholder already, and
 * every edit is made now.
 */
function maskMoments({ transcript, isPlaceholder }: MaskParameters, { history, schedule }: ReplayedMasking): MomentOf {
	const isAnswer = transcript.messages.some(({ results }) =>
		results.some(({ texts }) => texts.some(({ text }) => isPlaceholder(text))),
	);
	if (isAnswer) return madeNow;
	const moments = new Map<string, number>();
	history.results.forEach(({ outcome }, place) => {
		if (typeof outcome === "string") return;
		for (const { path } of outcome) moments.set(jsonPointer(path), schedule[place] as number);
	});
	return ({ path }) => moments.get(jsonPointer(path)) ?? Number.POSITIVE_INFINITY;
}

/** Places of the last K results of each tool; those whose call has no name count as one tool. */
function lastResultsOfEachTool(
	transcript: Transcript,
	{ keep_last_k_per_tool: k, tools }: MaskPolicy,
): ReadonlySet<number> {
	const last = new Set<number>();
	const counts = new Map<string | undefined, number>();
	const paired = pairResults(transcript);
	for (let place = paired.length - 1; place >= 0 && k; place -= 1) {
		const { caller, call } = paired[place] as (typeof paired)[number];
		const count = counts.get(call?.name) ?? 0;
		if (caller === undefined || count >= k || Object.hasOwn(tools, call?.name ?? "")) continue;
		counts.set(call?.name, count + 1);
		last.add(place);
	}
	return last;
}

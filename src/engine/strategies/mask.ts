import type { MaskPolicy, Prices } from "../../policy/schema.ts";
import { findOnce } from "../continuation.ts";
import type { ReplaceEdit } from "../edit.ts";
import type { TokenMeter } from "../measure.ts";
import { type PairedResult, pairResults } from "../pairing.ts";
import { jsonPointer } from "../path.ts";
import { type PlanMemory, planOnce } from "../plan-memory.ts";
import { readHistory } from "../replay/history.ts";
import { replay } from "../replay/replay.ts";
import { isToolTurn, toolTurns } from "../tool-turns.ts";
import type { Message, Transcript } from "../transcript.ts";
import { markUnsent } from "./mark-unsent.ts";
import type { MaskedSoFar, MaskPlan } from "./mask-plan.ts";
import { type MaskResultParameters, maskResult } from "./mask-result.ts";
import { type MomentOf, madeNow } from "./thinking.ts";
import { withDigest } from "./with-digest.ts";

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
	readonly memory?: PlanMemory | undefined;
	/** What a policy with memory is replayed by; without it all that is older than the window goes. */
	readonly replaying?: Replaying | undefined;
}

/**
 * Plans the masking of old tool results (seeds 1 and 2): the results of the last `window_turns` tool turns stay, those
 * of older turns give way to a placeholder. Nothing else of the conversation changes. The edits for a history are a
 * subset of the edits for the same history with more messages behind it. Where the policy says otherwise what goes and
 * when, the history is replayed under it, and its last state is the plan.
 */
export function planMask(parameters: MaskParameters): MaskPlan {
	const { transcript, policy, memory, replaying } = parameters;
	if (!policy.enabled || policy.window_turns <= 0) return nothingMasked;
	if (replaying && hasMemory(policy)) return planByReplay(parameters, replaying);
	// What is the last result of its tool is so no longer when the conversation goes on, and what a digest says depends on
	// what is sent beside the messages too: tool schemas, a system prompt.
	const isOfMessagesAlone = (policy.keep_last_k_per_tool ?? 0) === 0 && policy.digest_tokens === 0;
	if (!memory || !isOfMessagesAlone) return maskFrom(parameters, undefined);
	return findOnce(memory.masked, transcript.messages, (earlier) => {
		const goesOn = earlier !== undefined && standsBefore(earlier.finding.edits, earlier.finding.inWindow);
		return maskFrom(parameters, goesOn ? earlier.finding : undefined);
	});
}

const nothingKept = { orphan: 0, not_text: 0, already_masked: 0, last_of_its_tool: 0, error: 0, not_smaller: 0 };
const nothingMasked: MaskPlan = { edits: [], kept: nothingKept };

/** Whether what goes depends on more of the history than how old each result is. */
function hasMemory(policy: MaskPolicy): boolean {
	const { cadence, selection, keep_tokens, tools, keep_errors, error_detection } = policy;
	const isPlain = cadence === "every_turn" && selection === "age" && (keep_tokens ?? 0) === 0;
	return !isPlain || Object.keys(tools).length > 0 || (keep_errors && error_detection !== "seed");
}

/** What a policy with memory has done by the end of the history. */
function planByReplay(parameters: MaskParameters, { meter, ...how }: Replaying): MaskPlan {
	const { transcript, policy } = parameters;
	const history = readHistory({ ...parameters, meter });
	const schedule = replay(history, { ...how, mask: policy });
	const kept = { ...nothingKept };
	const firstKeptTurn = toolTurns(transcript).length - policy.window_turns;
	const edits = history.results.flatMap(({ turn, outcome, staysUntil }, place): readonly ReplaceEdit[] => {
		if (schedule[place] !== Number.POSITIVE_INFINITY && typeof outcome !== "string") {
			return markUnsent(transcript, outcome);
		}
		if (turn === undefined) kept.orphan += 1;
		else if (turn < firstKeptTurn && typeof outcome === "string") kept[outcome] += 1;
		else if (turn < firstKeptTurn && staysUntil === Number.POSITIVE_INFINITY) kept.error += 1;
		return [];
	});
	return { edits, kept };
}

/**
 * When each edit of a masking was first made: the masking of a history is what was masked of its beginnings, so the
 * replay tells. In a history that is the answer of an earlier call, what was masked then is a placeholder already, and
 * every edit is made now.
 */
export function maskMoments(parameters: MaskParameters): MomentOf {
	const { transcript, policy, replaying, isPlaceholder } = parameters;
	const isAnswer = transcript.messages.some(({ results }) =>
		results.some(({ texts }) => texts.some(({ text }) => isPlaceholder(text))),
	);
	if (!replaying || isAnswer) return madeNow;
	const { meter, ...how } = replaying;
	const history = readHistory({ ...parameters, meter });
	const schedule = replay(history, { ...how, mask: policy });
	const moments = new Map<string, number>();
	history.results.forEach(({ outcome }, place) => {
		if (typeof outcome === "string") return;
		for (const { path } of outcome) moments.set(jsonPointer(path), schedule[place] as number);
	});
	return ({ path }) => moments.get(jsonPointer(path)) ?? Number.POSITIVE_INFINITY;
}

/** Whether what was masked stands before what may still be, so that edits stand in order when that is added to them. */
function standsBefore(edits: readonly ReplaceEdit[], inWindow: readonly PairedResult[]): boolean {
	const last = edits.at(-1)?.message ?? -1;
	return inWindow.every(({ message }) => message > last);
}

function maskFrom(parameters: MaskParameters, earlier: MaskedSoFar | undefined): MaskedSoFar {
	const { transcript, policy, memory } = parameters;
	const { messages } = transcript;
	const turns = toolTurns(transcript);
	const firstKeptTurn = turns[Math.max(0, turns.length - policy.window_turns)] ?? 0;
	const paired = pairResults(transcript);
	const lastOfTheirTool = lastResultsOfEachTool(paired, policy.keep_last_k_per_tool ?? 0);

	const how = withDigest(parameters);
	const mask = (one: PairedResult) => maskResult(one, how);
	const kept = { ...(earlier?.kept ?? nothingKept) };
	const edits = earlier ? earlier.edits.slice() : [];
	const inWindow: PairedResult[] = [];
	const take = (one: PairedResult) => {
		if (one.caller === undefined || !isToolTurn(messages[one.caller] as Message)) {
			kept.orphan += 1;
			return;
		}
		if (one.caller >= firstKeptTurn) {
			inWindow.push(one);
			return;
		}
		const outcome = lastOfTheirTool.has(one.result)
			? "last_of_its_tool"
			: planOnce(memory?.masks, one, mask, how.digest?.(one));
		if (typeof outcome === "string") kept[outcome] += 1;
		else edits.push(...markUnsent(transcript, outcome));
	};
	for (const one of earlier?.inWindow ?? []) take(one);
	for (let index = earlier?.seen ?? 0; index < paired.length; index += 1) take(paired[index] as PairedResult);
	return { edits, kept, seen: paired.length, inWindow };
}

/** The last K results of each tool name; those whose call has no name count as one tool. */
function lastResultsOfEachTool(paired: readonly PairedResult[], k: number): ReadonlySet<unknown> {
	const last = new Set<unknown>();
	if (k === 0) return last;
	const counts = new Map<string | undefined, number>();
	for (const { result, caller, call } of paired.toReversed()) {
		if (caller === undefined) continue;
		const count = counts.get(call?.name) ?? 0;
		if (count >= k) continue;
		counts.set(call?.name, count + 1);
		last.add(result);
	}
	return last;
}

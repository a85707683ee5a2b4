import type { ReplaceEdit } from "../edit.ts";
import { type PairedResult, pairResults } from "../pairing.ts";
import { type PlanMemory, planOnce } from "../plan-memory.ts";
import { toolTurns } from "../tool-turns.ts";
import type { Transcript } from "../transcript.ts";
import { markUnsent } from "./mark-unsent.ts";
import { type KeptReason, type MaskResultParameters, maskResult } from "./mask-result.ts";

/** The masking of a conversation: its edits, and what was left alone and why. */
export interface MaskPlan {
	readonly edits: readonly ReplaceEdit[];
	readonly kept: Readonly<Record<KeptReason, number>>;
}

/** What masking needs to know. */
export interface MaskParameters extends MaskResultParameters {
	readonly transcript: Transcript;
	readonly memory?: PlanMemory | undefined;
}

/**
 * Plans the masking of old tool results (seeds 1 and 2): the results of the last `window_turns` tool turns stay, those
 * of older turns give way to a placeholder. Nothing else of the conversation changes. The edits for a history are a
 * subset of the edits for the same history with more messages behind it.
 */
export function planMask(parameters: MaskParameters): MaskPlan {
	const { transcript, policy, memory } = parameters;
	const kept = { orphan: 0, not_text: 0, already_masked: 0, last_of_its_tool: 0, error: 0, not_smaller: 0 };
	const edits: ReplaceEdit[] = [];
	if (!policy.enabled || policy.window_turns <= 0) return { edits, kept };

	const turns = toolTurns(transcript);
	const firstKeptTurn = turns[Math.max(0, turns.length - policy.window_turns)] ?? 0;
	const isTurn = new Set(turns);
	const paired = pairResults(transcript);
	const lastOfTheirTool = lastResultsOfEachTool(paired, policy.keep_last_k_per_tool ?? 0);

	const mask = (one: PairedResult) => maskResult(one, parameters);
	for (const one of paired) {
		if (one.caller === undefined || !isTurn.has(one.caller)) {
			kept.orphan += 1;
			continue;
		}
		if (one.caller >= firstKeptTurn) continue;
		const outcome = lastOfTheirTool.has(one.result) ? "last_of_its_tool" : planOnce(memory?.masks, one, mask);
		if (typeof outcome === "string") kept[outcome] += 1;
		else edits.push(...markUnsent(transcript, outcome));
	}
	return { edits, kept };
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

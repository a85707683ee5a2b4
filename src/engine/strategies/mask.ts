import type { MaskPolicy } from "../../policy/schema.ts";
import type { ReplaceEdit } from "../edit.ts";
import { detectError } from "../error-detection.ts";
import { type CountTokens, sizeOf, sizeOfResult } from "../measure.ts";
import { type PairedResult, pairResults } from "../pairing.ts";
import { writePlaceholder } from "../placeholder.ts";
import { toolTurns } from "../tool-turns.ts";
import { resultCharacters, resultText, type Transcript } from "../transcript.ts";

/** Why a result outside the window was left as it is. */
export type KeptReason = "orphan" | "not_text" | "already_masked" | "last_of_its_tool" | "error" | "not_smaller";

/** The masking of a conversation: its edits, and what was left alone and why. */
export interface MaskPlan {
	readonly edits: readonly ReplaceEdit[];
	readonly kept: Readonly<Record<KeptReason, number>>;
}

/** What masking needs to know. */
export interface MaskParameters {
	readonly transcript: Transcript;
	readonly policy: MaskPolicy;
	readonly wording: { readonly placeholder: string; readonly unknownTool: string };
	readonly isPlaceholder: (text: string) => boolean;
	readonly countTokens: CountTokens;
}

/**
 * Plans the masking of old tool results (seeds 1 and 2): the results of the last `window_turns` tool turns stay, those
 * of older turns give way to a placeholder. Nothing else of the conversation changes. The edits for a history are a
 * subset of the edits for the same history with more messages behind it.
 */
export function planMask(parameters: MaskParameters): MaskPlan {
	const { transcript, policy } = parameters;
	const kept = { orphan: 0, not_text: 0, already_masked: 0, last_of_its_tool: 0, error: 0, not_smaller: 0 };
	const edits: ReplaceEdit[] = [];
	if (!policy.enabled || policy.window_turns <= 0) return { edits, kept };

	const turns = toolTurns(transcript);
	const firstKeptTurn = turns[Math.max(0, turns.length - policy.window_turns)] ?? 0;
	const isTurn = new Set(turns);
	const paired = pairResults(transcript);
	const lastOfTheirTool = lastResultsOfEachTool(paired, policy.keep_last_k_per_tool ?? 0);

	for (const one of paired) {
		if (one.caller === undefined || !isTurn.has(one.caller)) {
			kept.orphan += 1;
			continue;
		}
		if (one.caller >= firstKeptTurn) continue;
		const outcome = maskOne(one, lastOfTheirTool, parameters);
		if (typeof outcome === "string") kept[outcome] += 1;
		else edits.push(outcome);
	}
	return { edits, kept };
}

function maskOne(
	{ result, call, message }: PairedResult,
	lastOfTheirTool: ReadonlySet<unknown>,
	{ policy, wording, isPlaceholder, countTokens }: MaskParameters,
): ReplaceEdit | KeptReason {
	if (!result.whole) return "not_text";
	const text = resultText(result);
	if (isPlaceholder(text)) return "already_masked";
	if (lastOfTheirTool.has(result)) return "last_of_its_tool";
	if (policy.keep_errors && (result.isError === true || detectError(text) !== undefined)) return "error";

	const placeholder = writePlaceholder(wording, {
		toolCallId: result.callId ?? "",
		toolName: call?.name,
		originalChars: resultCharacters(result),
	});
	const before = sizeOfResult(result, countTokens);
	const after = sizeOf(placeholder, countTokens);
	if (after.tokens >= before.tokens) return "not_smaller";
	return {
		kind: "replace",
		reason: "mask",
		path: result.whole.path,
		replacement: result.whole.write(placeholder),
		message,
		before,
		after,
		result: { toolCallId: result.callId, toolName: call?.name },
	};
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

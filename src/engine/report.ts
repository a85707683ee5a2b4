import type { EditReason, Plan, Size } from "./edit.ts";
import type { Measurement } from "./measure.ts";
import { pairResults } from "./pairing.ts";
import { toolTurns } from "./tool-turns.ts";
import { resultCharacters, type Transcript } from "./transcript.ts";

interface BeforeAfter {
	readonly before: number;
	readonly after: number;
}

/** What a plan does to a conversation, in numbers. Characters are UTF-16 code units. */
export interface Report {
	/** The wire format that the conversation was read as. */
	readonly format: string;
	/** Whether anything differs from the input. */
	readonly changed: boolean;
	readonly messages: BeforeAfter;
	readonly tool_turns: number;
	readonly tool_results: number;
	readonly masked_tool_results: number;
	readonly truncated_tool_results: number;
	readonly dropped_messages: number;
	/** Characters of everything that is counted. */
	readonly chars: BeforeAfter;
	/** Characters of tool results. */
	readonly tool_chars: BeforeAfter;
	readonly tokens: BeforeAfter;
	/** What a reader of the numbers should know, in English sentences. */
	readonly notes: readonly string[];
}

/** Folds a plan into a report. */
export function reportOf(transcript: Transcript, measurement: Measurement, plan: Plan): Report {
	const results = (reason: EditReason) =>
		new Set(plan.filter((edit) => edit.reason === reason).map((edit) => edit.result)).size;
	const counted = plan.filter((edit) => !edit.unsent);
	const dropped = new Set(plan.filter((edit) => edit.reason === "drop").map((edit) => edit.message));
	const change = (key: keyof Size) => counted.reduce((sum, edit) => sum + edit.after[key] - edit.before[key], 0);
	const resultChars = transcript.messages.map((message) =>
		message.sent === false ? 0 : message.results.reduce((sum, result) => sum + resultCharacters(result), 0),
	);
	const toolCharsBefore = resultChars.reduce((sum, chars) => sum + chars, 0);
	const toolCharsAfter = counted.reduce(
		(sum, edit) => (edit.kind === "replace" ? sum + edit.after.chars - edit.before.chars : sum),
		resultChars.reduce((sum, chars, index) => (dropped.has(index) ? sum : sum + chars), 0),
	);
	const { chars, tokens } = measurement.total;
	return {
		format: transcript.format,
		changed: plan.length > 0,
		messages: { before: transcript.messages.length, after: transcript.messages.length - dropped.size },
		tool_turns: toolTurns(transcript).length,
		tool_results: pairResults(transcript).length,
		masked_tool_results: results("mask"),
		truncated_tool_results: results("truncate"),
		dropped_messages: dropped.size,
		chars: { before: chars, after: chars + change("chars") },
		tool_chars: { before: toolCharsBefore, after: toolCharsAfter },
		tokens: { before: tokens, after: tokens + change("tokens") },
		notes: notesOn(transcript),
	};
}

function notesOn(transcript: Transcript): string[] {
	if (transcript.messages.some((message) => message.calls.length > 0 || message.results.length > 0)) return [];
	return [
		"No tool calls or results stand in this conversation as its format has them, so there is nothing to mask or truncate.",
	];
}

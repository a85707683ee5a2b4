import type { ReplaceEdit } from "../edit.ts";
import { repeatedPlaces, type ToolResult, type Transcript } from "../transcript.ts";

/** Marks edits of messages that are no longer sent, so that no total counts what they save. */
export function markUnsent(transcript: Transcript, edits: readonly ReplaceEdit[]): readonly ReplaceEdit[] {
	const isUnsent = (edit: ReplaceEdit) => transcript.messages[edit.message]?.sent === false;
	return edits.some(isUnsent)
		? edits.map((edit) => (isUnsent(edit) ? { ...edit, unsent: true as const } : edit))
		: edits;
}

/** Adds to the edits of a result the same edits of the values that repeat it. */
export function withRepeats(result: ToolResult, edits: readonly ReplaceEdit[]): ReplaceEdit[] {
	if (!result.repeats) return [...edits];
	return edits.flatMap(({ takenOut, ...edit }) => [
		{ ...edit, ...(takenOut ? { takenOut } : {}) },
		...repeatedPlaces(result, edit.path).map((path) => ({ ...edit, path, unsent: true as const })),
	]);
}

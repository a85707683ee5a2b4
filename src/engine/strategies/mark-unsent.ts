import type { ReplaceEdit } from "../edit.ts";
import type { Transcript } from "../transcript.ts";

/** Marks edits of messages that are no longer sent, so that no total counts what they save. */
export function markUnsent(transcript: Transcript, edits: readonly ReplaceEdit[]): readonly ReplaceEdit[] {
	const isUnsent = (edit: ReplaceEdit) => transcript.messages[edit.message]?.sent === false;
	return edits.some(isUnsent)
		? edits.map((edit) => (isUnsent(edit) ? { ...edit, unsent: true as const } : edit))
		: edits;
}

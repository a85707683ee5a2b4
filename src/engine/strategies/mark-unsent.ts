import type { ReplaceEdit } from "../edit.ts";
import type { Transcript } from "../transcript.ts";

/** Marks edits of messages that are no longer sent, so that no total counts what they save. */
export function markUnsent(transcript: Transcript, edits: readonly ReplaceEdit[]): ReplaceEdit[] {
	return edits.map((edit) =>
		transcript.messages[edit.message]?.sent === false ? { ...edit, unsent: true as const } : edit,
	);
}

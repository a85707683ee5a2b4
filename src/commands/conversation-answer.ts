import { writeEdits } from "../documents/apply-edits.ts";
import type { TextDocument } from "../documents/text-document.ts";
import type { Outcome } from "../pipeline/mask-conversation.ts";
import { printJson } from "./shell.ts";

/** What a command that edits a conversation prints. */
export type RespondWith = "messages" | "edits" | "report";

/**
 * Prints an outcome; one that would have broken a promise becomes its error, and nothing is printed. Edits are applied to
 * the text that was read, so that all else stays byte for byte: number spelling, key order, escapes and white space.
 */
export function printOutcome(document: TextDocument, outcome: Outcome<unknown>, respondWith: RespondWith): void {
	const { edits, report, error } = outcome;
	if (error) throw error;
	if (respondWith === "messages") process.stdout.write(writeEdits(document, edits).text);
	else if (respondWith === "edits") printJson({ edits, report }, 2);
	else printJson(report, 2);
}

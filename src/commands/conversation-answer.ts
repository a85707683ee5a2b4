import { editedPieces } from "../json-text/edit.ts";
import type { TextDocument } from "../json-text/read.ts";
import type { Outcome } from "../pipeline/mask-conversation.ts";
import { printJson } from "./shell.ts";
import { writeOut } from "./write-out.ts";

/** What a command that edits a conversation prints. */
export type RespondWith = "messages" | "edits" | "report";

/**
 * Prints an outcome; one that would have broken a promise becomes its error, and nothing is printed. Edits are applied to
 * the text that was read, so that all else stays byte for byte: number spelling, key order, escapes and white space.
 */
export async function printOutcome(
	document: TextDocument,
	outcome: Outcome<unknown>,
	respondWith: RespondWith,
): Promise<void> {
	const { edits, report, error } = outcome;
	if (error) throw error;
	if (respondWith === "messages") await writePieces(editedPieces(document, edits));
	else if (respondWith === "edits") printJson({ edits, report }, 2);
	else printJson(report, 2);
}

/** Characters that are gathered before they are written: each write is a call of the system. */
const writtenAtOnce = 1 << 16;

async function writePieces(pieces: Iterable<string>): Promise<void> {
	let waiting = "";
	for (const piece of pieces) {
		waiting += piece;
		if (waiting.length < writtenAtOnce) continue;
		await writeOut(waiting);
		waiting = "";
	}
	await writeOut(waiting);
}

import type { EditRecord } from "../pipeline/edit-record.ts";
import type { Outcome } from "../pipeline/mask-conversation.ts";
import { printJson } from "./shell.ts";

/** What a command that edits a conversation prints. */
export type RespondWith = "messages" | "edits" | "report";

/** Prints an outcome; one that would have broken a promise becomes its error, and nothing is printed. */
export function printOutcome(outcome: Outcome<unknown>, respondWith: RespondWith, indent: string): void {
	const { conversation, edits, report, error } = outcome;
	if (error) throw error;
	if (respondWith === "messages") printJson(conversation, indent);
	else if (respondWith === "edits") printJson({ edits: edits as readonly EditRecord[], report }, 2);
	else printJson(report, 2);
}

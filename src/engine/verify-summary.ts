import type { Edit, InsertEdit, Plan } from "./edit.ts";
import { jsonPointer, type Path, samePath } from "./path.ts";
import type { Transcript } from "./transcript.ts";
import type { Violation } from "./violation.ts";

/**
 * Checks what puts new messages into a conversation: it stands where messages stand, a summary takes the place of whole
 * messages that are no instructions, and with all that it stands for it saves tokens.
 */
export function verifySummary(transcript: Transcript, plan: Plan): Violation[] {
	const violations: Violation[] = [];
	let [before, after, summaries] = [0, 0, 0];
	for (const edit of plan) {
		if (edit.reason === "summary") {
			before += edit.before.tokens;
			after += edit.after.tokens;
			summaries += 1;
		}
		if (isMisplaced(edit, transcript))
			violations.push({ promise: "inserted_as_planned", detail: jsonPointer(edit.path) });
	}
	if (summaries > 0 && after >= before) {
		violations.push({ promise: "every_edit_shrinks", detail: `a summary of ${after} tokens for ${before}` });
	}
	return violations;
}

function isMisplaced(edit: Edit, transcript: Transcript): boolean {
	if (edit.kind === "insert") {
		const isOurs = edit.reason === "summary" || edit.reason === "append";
		return (
			!isOurs || !(edit.inserts === "message" ? isAmongMessages(edit, transcript) : isInOwnMessage(edit, transcript))
		);
	}
	if (edit.reason === "append") return true;
	if (edit.reason !== "summary" || edit.kind === "remove") return false;
	const message = transcript.messages[edit.message];
	return message?.role === "system" || !message?.paths.some((path) => samePath(path, edit.path));
}

/** Whether a value is put in front of the message that the edit names, or behind the last one. */
function isAmongMessages({ path, message }: InsertEdit, { messages }: Transcript): boolean {
	if (message > messages.length) return false;
	const neighbour = (messages[message] ?? messages.at(-1))?.paths;
	return neighbour === undefined || neighbour.some((place) => startsWith(place, path.slice(0, -1)));
}

/** A part is added to a user message; what an assistant was cut off saying, to the assistant's message too. */
function isInOwnMessage({ path, message, reason }: InsertEdit, { messages }: Transcript): boolean {
	const neighbour = messages[message];
	if (!neighbour) return false;
	const isOwn = neighbour.role === "user" || (reason === "append" && neighbour.role === "assistant");
	return isOwn && neighbour.paths.some((place) => startsWith(path, place));
}

function startsWith(path: Path, start: Path): boolean {
	return start.length < path.length && start.every((segment, index) => segment === path[index]);
}

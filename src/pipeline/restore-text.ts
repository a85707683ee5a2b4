import type { Archive } from "../archive/archive.ts";
import { writeValues } from "../json-text/edit.ts";
import { readTextDocument } from "../json-text/read.ts";
import type { Policy } from "../policy/schema.ts";
import { type RestoreReport, restoreConversation } from "./restore-conversation.ts";
import { restoreInRounds } from "./restore-rounds.ts";

/**
 * Puts archived originals back into the JSON text of a conversation, round after round until nothing more is found. What
 * comes back is spelled as it was, so that the text is again what it was to the byte.
 *
 * @throws PalimpsestError `invalid_json`, `not_a_conversation`, `archive_unavailable`.
 */
export async function restoreText(what: {
	readonly text: string;
	readonly archive: Archive;
	readonly policy: Policy;
	/** Whether what names no reference is looked up by the id of its call. */
	readonly byCallId?: boolean | undefined;
	/** Whose text it is, for errors. */
	readonly name: string;
}): Promise<{ readonly text: string; readonly report: RestoreReport }> {
	const { archive, policy, byCallId, name } = what;
	const { last, report } = await restoreInRounds(what.text, async (text) => {
		const document = readTextDocument(text, name);
		const restored = await restoreConversation({ conversation: document.value, archive, policy, byCallId });
		return { next: writeValues(document, restored.edits), report: restored.report };
	});
	return { text: last, report };
}

import type { Archive } from "../../src/archive/archive.ts";
import { openArchive } from "../../src/archive/open.ts";
import { spellingsOf, writeEdits } from "../../src/json-text/edit.ts";
import { readTextDocument } from "../../src/json-text/read.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import type { Policy } from "../../src/policy/schema.ts";
import { restoreText } from "../../src/restore/restore.ts";

/** Masks the text of a file with an archive, as the command does, and restores it. */
export async function thereAndBack(text: string, policy: Policy) {
	const archive = (await openArchive({ where: "memory" })) as Archive;
	const document = readTextDocument(text, "the text");
	const outcome = await maskConversation({
		conversation: document.value,
		policy,
		archive,
		spellingsOf: (paths) => spellingsOf(document, paths),
	});
	const masked = writeEdits(document, outcome.edits).text;
	const restored = await restoreText({ text: masked, name: "the text", archive, policy });
	return { outcome, masked, restored: restored.text };
}

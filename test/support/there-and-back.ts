import { expect } from "vitest";
import type { Policy } from "../../src/engine/policy/schema.ts";
import { invertEdits, spellingsOf, writeEdits } from "../../src/formats/json-text/edit.ts";
import { readTextDocument, type TextDocument } from "../../src/formats/json-text/read.ts";
import type { Outcome } from "../../src/operations/conversation.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreText } from "../../src/storage/restore/restore.ts";

/** Masks the text of a file with an archive, or edits it otherwise, as the command does, and restores it. */
export async function thereAndBack<Report = MaskReport>(
	text: string,
	policy: Policy,
	edit = maskConversation as unknown as (request: EditRequest) => Promise<Outcome<Report>>,
) {
	const archive = (await openArchive({ where: "memory" })) as Archive;
	const document = readTextDocument(text, "the text");
	const outcome = await edit({
		conversation: document.value,
		policy,
		archive,
		spellingsOf: (paths) => spellingsOf(document, paths),
	});
	const masked = writeEdits(document, outcome.edits).text;
	const restored = await restoreText({ text: masked, name: "the text", archive, policy });
	return { outcome, masked, restored: restored.text };
}

type EditRequest = Parameters<typeof maskConversation>[0] & { readonly archive: Archive };
type MaskReport = Awaited<ReturnType<typeof maskConversation>>["report"];

/** Edits on the text give what edits on the value gave, and can be taken back to the byte. */
export function checkText(document: TextDocument, { conversation, edits }: Outcome<unknown>): void {
	const written = writeEdits(document, edits);
	expect(JSON.parse(written.text)).toEqual(conversation);
	expect(invertEdits(written)).toBe(document.text);
}

import { resolve } from "node:path";
import { PalimpsestError } from "../errors.ts";
import { decodeText, readRegularFile, writeNewFile } from "../files/access.ts";
import { readConversation } from "../formats/detect.ts";
import type { Format } from "../formats/format.ts";
import { copySession, quoted, requireSession, type SessionCopy } from "../hosts/session-copy.ts";
import { writeEdits } from "../json-text/edit.ts";
import { readTextDocument, type TextDocument } from "../json-text/read.ts";
import type { EditRecord } from "../operations/edit-record.ts";
import type { Policy } from "../policy/schema.ts";
import { inputName, readDocument, say, show } from "./input-output.ts";

/** Reads a session that can be resumed. Throws PalimpsestError `invalid_argument` for any other conversation. */
export async function readSession(file: string, policy: Policy) {
	if (file === "-") {
		const message = "Expected the file of a session; standard input has no place for a new one beside it.";
		throw new PalimpsestError("invalid_argument", message);
	}
	const document = await readDocument(file, policy.limits.max_file_bytes);
	const source = readConversation(document.value, policy.mask.observations);
	requireSession(source.format, document.value);
	return { document, source };
}

/** Writes an edited session under a new id beside its file, reads it again, and prints the command that resumes it. */
export async function writeSession(session: {
	readonly file: string;
	readonly document: TextDocument;
	readonly edits: readonly EditRecord[];
	readonly format: Format;
	readonly tokens: number;
	readonly dryRun: boolean;
	readonly policy: Policy;
}): Promise<void> {
	const { file, document, edits, format, tokens, dryRun, policy } = session;
	const edited = readTextDocument(writeEdits(document, edits).text, inputName(file));
	const copy = copySession({ format, document: edited, file: resolve(file), tokens });
	if (dryRun) return say(`would write ${copy.file}`);
	check(copy.text, edited, session);
	try {
		await writeNewFile({ file: copy.file, text: copy.text, overwrite: false });
	} catch (cause) {
		if (cause instanceof PalimpsestError) throw cause;
		const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
		throw new PalimpsestError("unwritable_file", `Cannot write ${copy.file}: ${reason}.`, { cause });
	}
	const written = decodeText(await readRegularFile(copy.file, policy.limits.max_file_bytes), copy.file);
	if (written !== copy.text) {
		throw new PalimpsestError("unwritable_file", `${copy.file} does not hold what was written to it.`);
	}
	say(`wrote ${copy.file}; ${file} is as it was`);
	show(`${commandOf(copy)}\n`);
}

/** The copy is the edited conversation: the same messages, calls and results. */
function check(
	text: string,
	edited: TextDocument,
	{ format, policy }: { readonly format: Format; readonly policy: Policy },
) {
	const [before, after] = [edited, readTextDocument(text, "the new session")].map(({ value }) =>
		readConversation(value, policy.mask.observations),
	);
	const shape = (read: typeof before) =>
		read?.transcript.messages.map(({ role, sent, calls, results, counted }) => [
			role,
			sent,
			calls.length,
			results.length,
			counted.length,
		]);
	if (after?.format === format && JSON.stringify(shape(before)) === JSON.stringify(shape(after))) return;
	throw new PalimpsestError(
		"broken_promise",
		"The new session would not be the conversation that was edited, so nothing was written. Please report this.",
	);
}

function commandOf({ folder, command }: SessionCopy): string {
	return folder === undefined || folder === process.cwd() ? command : `cd ${quoted(folder)} && ${command}`;
}

import { randomUUID } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { PalimpsestError } from "../errors.ts";
import { writeValues } from "../formats/json-text/edit.ts";
import type { TextDocument } from "../formats/json-text/read.ts";
import type { Session } from "./host.ts";
import { hosts } from "./hosts.ts";

/** A session under an id of its own, next to the one that it is made from. */
export interface SessionCopy {
	readonly file: string;
	readonly text: string;
	/** The folder in which its program finds it, if the session names it. */
	readonly folder: string | undefined;
	/** Lines of a shell that resume it. */
	readonly command: string;
}

/** Throws PalimpsestError `invalid_argument` for a document that is not a session of a program that can resume one. */
export function requireSession(
	format: { readonly name: string; readonly title: string },
	document: unknown,
): { readonly program: Session; readonly old: string } {
	const resuming = hosts.flatMap(({ title, session }) => (session ? [{ title, ...session }] : []));
	const program = resuming.find((one) => one.format === format.name);
	const old = program?.sessionId(document);
	if (program !== undefined && old !== undefined) return { program, old };
	const got = program === undefined ? format.title : `${format.title} without an id by which it is resumed`;
	const files = resuming.flatMap(({ title, given }) => (given === undefined ? [title] : []));
	const others = resuming.flatMap(({ given }) => given ?? []);
	const expected = [`a session file of ${files.slice(0, -1).join(", ")} or ${files.at(-1)}`, ...others].join(", or ");
	const message = `Expected ${expected}; got ${got}. palimpsest guard prints any conversation made to fit.`;
	throw new PalimpsestError("invalid_argument", message);
}

/**
 * A session under a new id. Programs decide by the usage of the last answer whether there is room to go on, so that becomes
 * `tokens`. Throws as `requireSession` does.
 */
export function copySession(session: {
	readonly format: { readonly name: string; readonly title: string };
	readonly document: TextDocument;
	readonly file: string;
	readonly tokens: number;
	readonly now?: Date;
}): SessionCopy {
	const { format, document, file, tokens, now = new Date() } = session;
	const { program, old } = requireSession(format, document.value);
	const id = program.newId?.(old) ?? randomUUID();
	const counted = writeValues(document, program.usage(document.value, tokens));
	// Only a whole string of JSON is replaced: where a text quotes the id, a backslash comes before the quotation mark.
	let text = counted.replaceAll(JSON.stringify(old), JSON.stringify(id));
	const { renamed } = program;
	if (renamed) text = text.replace(renamed.ids, (_, one: string) => JSON.stringify(renamed.newId(one, id)));
	const copy = join(dirname(file), program.name({ id, name: basename(file), now }));
	return {
		file: copy,
		text,
		folder: program.folder(document.value, file),
		command: program.command({ id, file: copy }),
	};
}

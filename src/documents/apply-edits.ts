import { itemBeside, parseInsertPointer, parseJsonPointer, valueAt } from "../engine/path.ts";
import { requireJson } from "../engine/stringify.ts";
import { PalimpsestError } from "../errors.ts";
import { checkArgument } from "../policy/check-options.ts";
import { optionKinds } from "../policy/option-kinds.ts";
import type { Splice } from "./list-splices.ts";
import { sha256Of } from "./sha256-of.ts";
import { readTextDocument, type TextDocument } from "./text-document.ts";
import { applySplices, splicesOf, type ValueEdit } from "./write-plan.ts";

/** An edit as answers and reports carry it; the `edits` of `mask` and `guard` are such. */
export interface PortableEdit {
	/** `remove` takes an item out of its list; `insert` puts a value in front of one, or behind the last. */
	readonly kind: "replace" | "remove" | "insert";
	/**
	 * JSON Pointer (RFC 6901) into the conversation before any edit. Of JSON Lines, the first segment is the number of the
	 * record, counted from 0 without blank lines.
	 */
	readonly path: string;
	/**
	 * SHA-256 (hex) of what stands at `path` before: of a string's UTF-8, of any other value's compact JSON. On `insert`
	 * behind the last item, of that one; into an empty list, of the list.
	 */
	readonly sha256_before: string;
	/** What stands at `path` afterwards; only on `replace`. */
	readonly replacement?: unknown;
	/** What is put there; only on `insert`. */
	readonly value?: unknown;
}

/** What takes the edits of a text back, to the byte. Plain JSON, so that it can be kept beside the text. */
export interface InverseEdits {
	/** SHA-256 (hex) of the edited text. */
	readonly sha256_after: string;
	/** In order; `start` and `end` are characters (UTF-16 code units) of the edited text. */
	readonly splices: readonly Splice[];
}

/**
 * Applies edits to the JSON text of the conversation that they were made for, be it one value or JSON Lines. Outside the
 * edited values every character stays: number spelling, key order, escapes, repeated keys, white space, a byte order
 * mark. Edits made from a parsed copy fit as well:
 *
 * ```ts
 * const text = await readFile("chat.json", "utf8");
 * const { edits } = await mask(JSON.parse(text));
 * const edited = applyEdits(text, edits);
 * await writeFile("masked.json", edited.text);
 * invertEdits(edited) === text; // true
 * ```
 *
 * @returns the edited text, and what `invertEdits` needs to take the edits back.
 * @throws PalimpsestError `invalid_json`; `stale_edit` where the text differs from what an edit was made for;
 * `invalid_argument` for edits that overlap or are none, and for a text that is none.
 */
export function applyEdits(text: string, edits: readonly PortableEdit[]): { text: string; inverse: InverseEdits } {
	checkArgument(text, "the text of `applyEdits`", optionKinds.string);
	checkArgument(edits, "the edits of `applyEdits`", optionKinds.list);
	checkPlain(edits, "the edits of `applyEdits`");
	return writeEdits(readTextDocument(text, "the text"), edits);
}

/** `applyEdits` for a text that has been read already. */
export function writeEdits(
	document: TextDocument,
	edits: readonly PortableEdit[],
): { text: string; inverse: InverseEdits } {
	const { text } = document;
	const splices = splicesOfEdits(document, edits);
	const edited = applySplices(text, splices);
	let shift = 0;
	const back = splices.map(({ start, end, replacement }): Splice => {
		const from = start + shift;
		shift += replacement.length - (end - start);
		return { start: from, end: from + replacement.length, replacement: text.slice(start, end) };
	});
	return { text: edited, inverse: { sha256_after: sha256Of(edited), splices: back } };
}

/** What `writeEdits` does to the text, in order of position. */
export function splicesOfEdits(document: TextDocument, edits: readonly PortableEdit[]): Splice[] {
	return splicesOf(
		document,
		edits.map((edit) => resolve(document.value, edit)),
	);
}

/**
 * Takes edits back: `invertEdits(applyEdits(text, edits))` is `text` to the byte.
 *
 * @throws PalimpsestError `stale_edit` where the text is not the one that `applyEdits` wrote; `invalid_argument` for what
 * `applyEdits` does not answer.
 */
export function invertEdits(edited: { readonly text: string; readonly inverse: InverseEdits }): string {
	checkPlain(edited, "the argument of `invertEdits`");
	const { text, inverse } = requireEdited(edited);
	if (sha256Of(text) !== inverse.sha256_after) {
		throw new PalimpsestError("stale_edit", "Expected the very text that applyEdits wrote; it has been changed since.");
	}
	requireSplices(text, inverse.splices);
	return applySplices(text, inverse.splices);
}

function checkPlain(value: unknown, name: string): void {
	try {
		requireJson(value);
	} catch (cause) {
		const message = `Expected ${name} to be plain JSON; got something that holds itself, a bigint, or that cannot be read.`;
		throw new PalimpsestError("invalid_argument", message, { cause });
	}
}

function resolve(value: unknown, edit: PortableEdit): ValueEdit {
	requireEdit(edit);
	const { kind, path, sha256_before, replacement } = edit;
	const found = kind === "insert" ? parseInsertPointer(path, value) : parseJsonPointer(path, value);
	const before = found && (kind === "insert" ? itemBeside(value, found) : valueAt(value, found));
	if (found === undefined || sha256Of(before) !== sha256_before) {
		const problem = found === undefined ? "stands nothing" : "stands something else than the edit was made for";
		throw new PalimpsestError("stale_edit", `At ${shown(path)} ${problem}. Make the edits anew from this text.`);
	}
	if (kind === "remove" && typeof found.at(-1) !== "number") {
		throw new PalimpsestError(
			"invalid_argument",
			`Expected an edit that removes to name an item of a list; ${shown(path)} is none.`,
		);
	}
	return { kind, path: found, replacement, value: edit.value };
}

/** What takes edits back may have been read from a file too. */
function requireEdited(edited: unknown): { readonly text: string; readonly inverse: InverseEdits } {
	const { text, inverse } = (edited ?? {}) as { readonly text?: unknown; readonly inverse?: Partial<InverseEdits> };
	const isComplete = typeof inverse?.sha256_after === "string" && Array.isArray(inverse.splices);
	if (typeof text === "string" && isComplete) return { text, inverse: inverse as InverseEdits };
	throw new PalimpsestError("invalid_argument", expectedEdited);
}

function requireSplices(text: string, splices: readonly Splice[]): void {
	let position = 0;
	for (const splice of splices as readonly (Splice | null)[]) {
		const { start = -1, end = -1, replacement } = splice ?? {};
		const isPlace = Number.isSafeInteger(start) && Number.isSafeInteger(end) && position <= start && start <= end;
		if (!isPlace || end > text.length || typeof replacement !== "string") {
			throw new PalimpsestError("invalid_argument", expectedEdited);
		}
		position = end;
	}
}

const expectedEdited =
	"Expected what `applyEdits` answered: `text`, and `inverse` with `sha256_after` and `splices` in order.";

/** Edits may have been read from a file, so their shape is not certain. */
function requireEdit(edit: PortableEdit): void {
	const { kind, path, sha256_before, replacement, value } = (edit ?? {}) as Partial<PortableEdit>;
	const isComplete =
		kind === "remove" ||
		(kind === "replace" && replacement !== undefined) ||
		(kind === "insert" && value !== undefined);
	if (isComplete && typeof path === "string" && typeof sha256_before === "string") return;
	const expected =
		'Expected edits with `kind` "replace", "remove" or "insert", `path`, `sha256_before`, and `replacement` to replace or `value` to insert.';
	throw new PalimpsestError("invalid_argument", expected);
}

/** A path in an error: bounded. */
function shown(path: string): string {
	return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}

import { type Path, parseJsonPointer, valueAt } from "../engine/path.ts";
import { PalimpsestError } from "../errors.ts";
import { sha256Of } from "./sha256-of.ts";
import { readTextDocument, type TextDocument } from "./text-document.ts";
import { applySplices, type Splice, splicesOf, type ValueEdit } from "./write-plan.ts";

/** An edit as answers and reports carry it. */
export interface PortableEdit {
	readonly kind: "replace" | "remove";
	/** JSON Pointer into the conversation before any edit. */
	readonly path: string;
	readonly sha256_before: string;
	readonly replacement?: unknown;
}

/** What takes edits of a text back, to the byte. */
export interface InverseEdits {
	/** SHA-256 (hex) of the edited text. */
	readonly sha256_after: string;
	/** In order; `start` and `end` are characters (UTF-16 code units) of the edited text. */
	readonly splices: readonly Splice[];
}

/**
 * Applies edits to the JSON text of the conversation that they were made for. Outside the edited values every character
 * stays. Edits made from a parsed copy fit as well.
 *
 * @throws PalimpsestError `invalid_json`; `stale_edit` where the text differs from what an edit was made for.
 */
export function applyEdits(text: string, edits: readonly PortableEdit[]): { text: string; inverse: InverseEdits } {
	return writeEdits(readTextDocument(text, "the text"), edits);
}

/** `applyEdits` for a text that has been read already. */
export function writeEdits(
	document: TextDocument,
	edits: readonly PortableEdit[],
): { text: string; inverse: InverseEdits } {
	const { text } = document;
	const splices = splicesOf(
		document,
		edits.map((edit) => resolve(document.value, edit)),
	);
	const edited = applySplices(text, splices);
	let shift = 0;
	const back = splices.map(({ start, end, replacement }): Splice => {
		const from = start + shift;
		shift += replacement.length - (end - start);
		return { start: from, end: from + replacement.length, replacement: text.slice(start, end) };
	});
	return { text: edited, inverse: { sha256_after: sha256Of(edited), splices: back } };
}

/**
 * Takes edits back: `invertEdits(applyEdits(x, edits))` is `x` to the byte.
 *
 * @throws PalimpsestError `stale_edit` where the text is not the one that `applyEdits` wrote.
 */
export function invertEdits({ text, inverse }: { readonly text: string; readonly inverse: InverseEdits }): string {
	if (sha256Of(text) !== inverse.sha256_after) {
		throw new PalimpsestError("stale_edit", "Expected the very text that applyEdits wrote; it has been changed since.");
	}
	return applySplices(text, inverse.splices);
}

function resolve(value: unknown, { kind, path, sha256_before, replacement }: PortableEdit): ValueEdit {
	const found = parseJsonPointer(path, value);
	if (found === undefined || sha256Of(valueAt(value, found)) !== sha256_before) {
		const problem = found === undefined ? "stands nothing" : "stands something else than the edit was made for";
		throw new PalimpsestError("stale_edit", `At ${path.slice(0, 200)} ${problem}. Make the edits anew from this text.`);
	}
	return { kind, path: found as Path, replacement };
}

import { type PortableEdit, splicesOfEdits } from "./apply-edits.ts";
import type { TextDocument } from "./text-document.ts";

/** Characters (UTF-16 code units) of a piece at most, what an edit puts in aside. */
const largestPiece = 1 << 16;

/**
 * The text of `writeEdits`, piece by piece, for a writer that need not hold all of it beside the text that was read. All
 * edits are found before the first piece.
 *
 * @throws PalimpsestError as `applyEdits`, before the first piece.
 */
export function* editedPieces(document: TextDocument, edits: readonly PortableEdit[]): Generator<string> {
	const { text } = document;
	let position = 0;
	for (const { start, end, replacement } of splicesOfEdits(document, edits)) {
		yield* piecesOf(text, position, start);
		yield replacement;
		position = end;
	}
	yield* piecesOf(text, position, text.length);
}

function* piecesOf(text: string, start: number, end: number): Generator<string> {
	for (let from = start; from < end; ) {
		let to = Math.min(from + largestPiece, end);
		// A pair of surrogates that is torn apart would be written as two characters that are none.
		if (to < end && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to -= 1;
		yield text.slice(from, to);
		from = to;
	}
}

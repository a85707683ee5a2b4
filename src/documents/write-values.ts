import type { TextDocument } from "./text-document.ts";
import { applySplices, splicesOf, type ValueEdit } from "./write-plan.ts";

/** Writes values into the text of a document, each as it is spelled; every other character stays. */
export function writeValues(document: TextDocument, edits: readonly ValueEdit[]): string {
	return applySplices(document.text, splicesOf(document, edits));
}

import type { Path } from "../engine/path.ts";
import { locateValues, type PathTree, pathTree, type Span } from "./locate-values.ts";
import type { TextDocument } from "./text-document.ts";

/** A change of a value, as far as writing it needs to know. */
export interface ValueEdit {
	readonly kind: "replace" | "remove";
	readonly path: Path;
	/** What stands at `path` afterwards; only on `replace`. */
	readonly replacement?: unknown;
}

/** Characters of a text to be replaced by others. */
export interface Splice extends Span {
	readonly replacement: string;
}

/**
 * The splices that carry out a plan on the text of its document, in order of position, none overlapping. Outside of them
 * every character stays: number spelling, key order, escapes, repeated keys and white space.
 */
export function splicesOf(document: TextDocument, plan: readonly ValueEdit[]): Splice[] {
	const edits = new Map<PathTree, ValueEdit>();
	const tree = pathTree(plan.map((edit) => edit.path));
	for (const edit of plan) edits.set(nodeAt(tree, edit.path), edit);
	locate(document, tree);

	const splices: Splice[] = [];
	const collect = (node: PathTree): void => {
		const edit = edits.get(node);
		if (edit?.kind === "replace") {
			const { start, end } = spanOf(node);
			splices.push({ start, end, replacement: JSON.stringify(edit.replacement) });
			return;
		}
		const removed = [...node.children].filter(([, child]) => edits.get(child)?.kind === "remove");
		if (removed.length > 0) {
			const indexes = new Set(removed.map(([index]) => index as number));
			splices.push(...removals(node.items ?? [], indexes));
		}
		for (const child of node.children.values()) if (edits.get(child)?.kind !== "remove") collect(child);
	};
	collect(tree);
	return splices.sort((a, b) => a.start - b.start);
}

/** Puts splices into a text. */
export function applySplices(text: string, splices: readonly Splice[]): string {
	const pieces: string[] = [];
	let position = 0;
	for (const { start, end, replacement } of splices) {
		pieces.push(text.slice(position, start), replacement);
		position = end;
	}
	pieces.push(text.slice(position));
	return pieces.join("");
}

function locate(document: TextDocument, tree: PathTree): void {
	if (document.kind === "json") {
		locateValues(document.text, document.roots[0]?.start ?? 0, tree);
		return;
	}
	// The records are the items of a list that stands nowhere in the text.
	tree.items = [...document.roots];
	for (const [index, child] of tree.children) {
		const root = document.roots[index as number];
		if (root) locateValues(document.text, root.start, child);
	}
}

function nodeAt(tree: PathTree, path: readonly (string | number)[]): PathTree {
	return path.reduce<PathTree>((node, segment) => node.children.get(segment) as PathTree, tree);
}

function spanOf(node: PathTree): Span {
	if (!node.span) throw new Error("Expected a value where the plan edits one.");
	return node.span;
}

/** Takes items out of a list with the separators that go with them: those behind, or before where none stays behind. */
function removals(items: readonly Span[], indexes: ReadonlySet<number>): Splice[] {
	const splices: Splice[] = [];
	for (let index = 0; index < items.length; index += 1) {
		if (!indexes.has(index)) continue;
		let last = index;
		while (indexes.has(last + 1)) last += 1;
		const [first, next, previous] = [items[index] as Span, items[last + 1], items[index - 1]];
		const end = (items[last] as Span).end;
		if (next) splices.push({ start: first.start, end: next.start, replacement: "" });
		else splices.push({ start: previous ? previous.end : first.start, end, replacement: "" });
		index = last;
	}
	return splices;
}

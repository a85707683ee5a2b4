import { compactJson } from "../engine/compact-json.ts";
import type { Path } from "../engine/path.ts";
import { PalimpsestError } from "../errors.ts";
import { listSplices, type Splice } from "./list-splices.ts";
import { locateValues, type PathTree, pathTree, type Span } from "./locate-values.ts";
import type { TextDocument } from "./text-document.ts";

/** A change of a value, as far as writing it needs to know. */
export interface ValueEdit {
	/** `insert` puts a value in front of the item at `path`, or behind the last. */
	readonly kind: "replace" | "remove" | "insert";
	readonly path: Path;
	/** What stands at `path` afterwards; only on `replace`. */
	readonly replacement?: unknown;
	/** What is put there; only on `insert`. */
	readonly value?: unknown;
	/** The JSON of `replacement` where it is to be spelled otherwise than compact JSON. */
	readonly spelling?: string | undefined;
}

/**
 * The splices that carry out a plan on the text of its document, in order of position, none overlapping. Outside of them
 * every character stays: number spelling, key order, escapes, repeated keys and white space.
 *
 * @throws PalimpsestError `invalid_argument` for edits that overlap, or that change what is not there to be changed.
 */
export function splicesOf(document: TextDocument, plan: readonly ValueEdit[]): Splice[] {
	const edits = new Map<PathTree, ValueEdit>();
	const inserts = new Map<PathTree, string[]>();
	const tree = pathTree(plan.map((edit) => edit.path));
	for (const edit of plan) {
		const node = nodeAt(tree, edit.path);
		if (edit.kind === "insert") {
			inserts.set(node, [...(inserts.get(node) ?? []), compactJson(edit.value)]);
			continue;
		}
		if (edits.has(node) || node.children.size > 0) {
			throw new PalimpsestError("invalid_argument", "Expected edits that do not overlap; two change the same value.");
		}
		edits.set(node, edit);
	}
	locatePaths(document, tree);

	const splices: Splice[] = [];
	const collect = (node: PathTree): void => {
		const edit = edits.get(node);
		if (edit?.kind === "replace") {
			const { start, end } = spanOf(node);
			splices.push({ start, end, replacement: edit.spelling ?? compactJson(edit.replacement) });
			return;
		}
		const removed = new Set<number>();
		const inserted = new Map<number, readonly string[]>();
		for (const [index, child] of node.children) {
			if (edits.get(child)?.kind === "remove") removed.add(index as number);
			const values = inserts.get(child);
			if (values) inserted.set(index as number, values);
		}
		if (removed.size + inserted.size > 0) {
			const records = node === tree && document.kind === "json_lines" ? document.text : undefined;
			splices.push(...listSplices({ list: node.span, items: node.items ?? [], removed, inserted, records }));
		}
		for (const child of node.children.values()) if (edits.get(child)?.kind !== "remove") collect(child);
	};
	collect(tree);
	return splices.sort((a, b) => a.start - b.start || a.end - b.end);
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

/** Finds where the values of a tree of paths stand in a text. */
export function locatePaths(document: TextDocument, tree: PathTree): void {
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
	if (node.span) return node.span;
	throw new PalimpsestError("invalid_argument", "Expected edits of values that stand in the text.");
}

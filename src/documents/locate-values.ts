import { createScanner } from "jsonc-parser";
import type { Path } from "../engine/path.ts";
import { tokenKinds as kinds } from "./token-kinds.ts";

/** A range of a text, in characters (UTF-16 code units), half open. */
export interface Span {
	readonly start: number;
	readonly end: number;
}

/** Paths to find, as a tree: each node is a value, `wanted` where its own span is asked for. */
export interface PathTree {
	wanted: boolean;
	readonly children: Map<string | number, PathTree>;
	/** Span of the value, once found. Of a repeated key the last one counts, as for `JSON.parse`. */
	span?: Span;
	/** Spans of all items, once found, of a list of which some are wanted. */
	items?: Span[];
}

/** Makes a tree of paths. */
export function pathTree(paths: Iterable<Path>): PathTree {
	const root: PathTree = { wanted: false, children: new Map() };
	for (const path of paths) {
		let node = root;
		for (const segment of path) {
			let child = node.children.get(segment);
			if (!child) {
				child = { wanted: false, children: new Map() };
				node.children.set(segment, child);
			}
			node = child;
		}
		node.wanted = true;
	}
	return root;
}

interface Frame {
	readonly kind: "object" | "array";
	readonly tree: PathTree | undefined;
	readonly start: number;
	/** Next index of an array, or key of the member that is being read. */
	position: string | number;
}

/**
 * Finds where the values of a tree stand in a JSON text. Reads tokens one after the other and keeps no tree of the text,
 * so that depth costs no stack and size no memory. The text has to be valid JSON from `start` on, for one value.
 *
 * @returns the span of that value.
 */
export function locateValues(text: string, start: number, tree: PathTree): Span {
	const scanner = createScanner(text, true);
	scanner.setPosition(start);
	const frames: Frame[] = [];
	let whole: Span | undefined;

	const treeOfNext = (): PathTree | undefined => {
		const frame = frames.at(-1);
		return frame ? frame.tree?.children.get(frame.position) : tree;
	};
	const finish = (node: PathTree | undefined, span: Span): void => {
		if (node) node.span = span;
		const frame = frames.at(-1);
		if (!frame) {
			whole = span;
			return;
		}
		if (frame.kind === "object") return;
		if (frame.tree && frame.tree.children.size > 0) {
			frame.tree.items ??= [];
			frame.tree.items.push(span);
		}
		frame.position = (frame.position as number) + 1;
	};

	let expectsKey = false;
	while (whole === undefined) {
		const token: number = scanner.scan();
		const offset = scanner.getTokenOffset();
		switch (token) {
			case kinds.openBrace:
			case kinds.openBracket: {
				const node = treeOfNext();
				if (node) forget(node);
				const kind = token === kinds.openBrace ? "object" : "array";
				frames.push({ kind, tree: node, start: offset, position: kind === "array" ? 0 : "" });
				expectsKey = kind === "object";
				break;
			}
			case kinds.closeBrace:
			case kinds.closeBracket: {
				const frame = frames.pop();
				if (!frame) throw new Error("Expected a value.");
				finish(frame.tree, { start: frame.start, end: offset + 1 });
				expectsKey = false;
				break;
			}
			case kinds.comma:
				expectsKey = frames.at(-1)?.kind === "object";
				break;
			case kinds.colon:
				expectsKey = false;
				break;
			case kinds.end:
				throw new Error("Expected a value before the end of the text.");
			default: {
				const frame = frames.at(-1);
				if (expectsKey && frame) frame.position = scanner.getTokenValue();
				else finish(treeOfNext(), { start: offset, end: offset + scanner.getTokenLength() });
			}
		}
	}
	return whole;
}

/** A repeated key takes the place of its earlier value with all that was found in it. */
function forget(node: PathTree): void {
	delete node.span;
	delete node.items;
	for (const child of node.children.values()) forget(child);
}

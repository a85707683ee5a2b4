import { createScanner } from "jsonc-parser";
import type { Path } from "../conversation/transcript.ts";

/** A range of a text, in characters (UTF-16 code units), half open. */
export interface Span {
	readonly start: number;
	readonly end: number;
}

export interface PathTree {
	readonly children: Map<string | number, PathTree>;
	/** Once found. The last value of a repeated key counts, as for `JSON.parse`. */
	span?: Span;
	/** All items of a list that has an item in the tree. */
	items?: Span[];
}

/** The scanner's token kinds. jsonc-parser declares them as a `const enum`, which `isolatedModules` cannot import. */
export const tokenKinds = {
	openBrace: 1,
	closeBrace: 2,
	openBracket: 3,
	closeBracket: 4,
	comma: 5,
	colon: 6,
	nullWord: 7,
	trueWord: 8,
	falseWord: 9,
	string: 10,
	number: 11,
	lineBreak: 14,
	blank: 15,
	unknown: 16,
	end: 17,
} as const;

export function pathTree(paths: Iterable<Path>): PathTree {
	const root: PathTree = { children: new Map() };
	for (const path of paths) {
		let node = root;
		for (const segment of path) {
			const child = node.children.get(segment) ?? { children: new Map() };
			node.children.set(segment, child);
			node = child;
		}
	}
	return root;
}

export function nodeAt(tree: PathTree, path: Path): PathTree | undefined {
	return path.reduce<PathTree | undefined>((node, segment) => node?.children.get(segment), tree);
}

/** An object or a list that is not closed yet. */
interface Frame {
	readonly node: PathTree | undefined;
	readonly start: number;
	position: string | number;
}

/** Returns the span of the valid JSON at `start`. Needs neither stack nor memory for the size or depth of the text. */
export function locateValues(text: string, start: number, tree: PathTree): Span {
	const scanner = createScanner(text, true);
	scanner.setPosition(start);
	const frames: Frame[] = [];
	let whole: Span | undefined;
	let expectsKey = false;

	const nextNode = (): PathTree | undefined => {
		const frame = frames.at(-1);
		return frame ? frame.node?.children.get(frame.position) : tree;
	};
	const finish = (node: PathTree | undefined, span: Span): void => {
		if (node) node.span = span;
		const frame = frames.at(-1);
		if (!frame) whole = span;
		if (typeof frame?.position !== "number") return;
		if (frame.node && frame.node.children.size > 0) {
			frame.node.items ??= [];
			frame.node.items.push(span);
		}
		frame.position += 1;
	};

	while (whole === undefined) {
		const token: number = scanner.scan();
		const offset = scanner.getTokenOffset();
		switch (token) {
			case tokenKinds.openBrace:
			case tokenKinds.openBracket: {
				const node = nextNode();
				if (node) forget(node);
				expectsKey = token === tokenKinds.openBrace;
				frames.push({ node, start: offset, position: expectsKey ? "" : 0 });
				break;
			}
			case tokenKinds.closeBrace:
			case tokenKinds.closeBracket: {
				const frame = frames.pop();
				if (!frame) throw new Error("Expected a value; got a closing bracket.");
				finish(frame.node, { start: frame.start, end: offset + 1 });
				expectsKey = false;
				break;
			}
			case tokenKinds.comma:
				expectsKey = typeof frames.at(-1)?.position === "string";
				break;
			case tokenKinds.colon:
				expectsKey = false;
				break;
			case tokenKinds.end:
				throw new Error("Expected a value; got the end of the text.");
			default: {
				const frame = frames.at(-1);
				if (expectsKey && frame) frame.position = scanner.getTokenValue();
				else finish(nextNode(), { start: offset, end: offset + scanner.getTokenLength() });
			}
		}
	}
	return whole;
}

/** Forgets the values found in the earlier value of a repeated key. */
function forget(node: PathTree): void {
	delete node.span;
	delete node.items;
	for (const child of node.children.values()) forget(child);
}

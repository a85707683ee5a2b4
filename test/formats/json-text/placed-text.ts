import { type Node, parseTree } from "jsonc-parser";
import type { PortableEdit } from "../../../src/formats/json-text/edit.ts";
import type { ChosenEdit } from "./chosen-edits.ts";
import type { Placed, SpelledDocument } from "./spelled-json.ts";

/** A text that was found somewhere, with the places of all its values as a whole tree of it has them. */
export function placedText(text: string, kind: SpelledDocument["kind"]): SpelledDocument {
	if (kind === "json") return { kind, text, roots: [placed(treeOf(text), "", 0)] };
	const roots: Placed[] = [];
	let start = 0;
	for (const line of text.split("\n")) {
		if (line.trim() !== "") roots.push(placed(treeOf(line), `/${roots.length}`, start));
		start += line.length + 1;
	}
	return { kind, text, roots };
}

/** Edits with the values that they change, by their paths. */
export function placedEdits({ kind, roots }: SpelledDocument, edits: readonly PortableEdit[]): ChosenEdit[] {
	const wanted = new Set(edits.map(({ path }) => path));
	const found = new Map<string, Pick<ChosenEdit, "place" | "siblings">>();
	const walk = (places: readonly Placed[]): void => {
		for (const place of places) {
			if (wanted.has(place.pointer)) found.set(place.pointer, { place, siblings: places });
			walk(place.children);
		}
	};
	walk(roots);
	return edits.map((edit) => {
		const at = found.get(edit.path);
		if (!at) throw new Error(`Nothing stands at ${edit.path} of the ${kind} text.`);
		return { ...edit, ...at };
	});
}

function treeOf(text: string): Node {
	const tree = parseTree(text);
	if (!tree) throw new Error("Expected JSON.");
	return tree;
}

function placed(node: Node, pointer: string, offset: number): Placed {
	const isContainer = node.type === "array" || node.type === "object";
	const children = (isContainer ? (node.children ?? []) : []).map((child, index) => {
		if (node.type === "array") return placed(child, `${pointer}/${index}`, offset);
		const [key, value] = child.children as [Node, Node];
		return placed(value, `${pointer}/${String(key.value).replaceAll("~", "~0").replaceAll("/", "~1")}`, offset);
	});
	const start = offset + node.offset;
	return {
		kind: isContainer ? (node.type as "array") : "scalar",
		start,
		end: start + node.length,
		pointer,
		live: true,
		children,
	};
}

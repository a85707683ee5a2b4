import { compactJson } from "../engine/compact-json.ts";
import { type Path, valueAt } from "../engine/path.ts";
import { pathTree } from "./locate-values.ts";
import type { TextDocument } from "./text-document.ts";
import { locatePaths } from "./write-plan.ts";

/**
 * How the values at some paths are spelled in a text, where that is not compact JSON: other escapes, white space, numbers
 * written otherwise, repeated keys.
 */
export function spellingsOf(document: TextDocument, paths: readonly Path[]): ReadonlyMap<Path, string> {
	const spellings = new Map<Path, string>();
	const tree = pathTree(paths);
	locatePaths(document, tree);
	for (const path of paths) {
		let node: typeof tree | undefined = tree;
		for (const segment of path) node = node?.children.get(segment);
		if (!node?.span) continue;
		const spelling = document.text.slice(node.span.start, node.span.end);
		if (spelling !== compactJson(valueAt(document.value, path))) spellings.set(path, spelling);
	}
	return spellings;
}

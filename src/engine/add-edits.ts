import type { Draft } from "./draft.ts";
import type { Edit } from "./edit.ts";

/** Adds edits of results to a draft, from a position on; answers how many results they changed. */
export function addEdits(draft: Draft, edits: readonly Edit[], from = 0): number {
	let count = 0;
	let last: unknown;
	for (let index = from; index < edits.length; index += 1) {
		const edit = edits[index] as Edit;
		if (!draft.add(edit)) continue;
		// The edits of one result stand side by side.
		if (edit.result !== last) count += 1;
		last = edit.result;
	}
	return count;
}

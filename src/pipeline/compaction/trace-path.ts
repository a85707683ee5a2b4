import { jsonPointer, type Path, parseInsertPointer, parseJsonPointer, valueAt } from "../../engine/path.ts";
import type { EditRecord } from "../edit-record.ts";

/** An edit of the first of two rounds, which the second may change or take back. */
export interface Step {
	readonly path: Path;
	record: EditRecord;
}

/** Where a place of the document between two rounds comes from. */
export type Origin =
	/** A place of the document before the first round. */
	| { readonly kind: "before"; readonly path: Path }
	/** In a value that a step of the first round has put there; `rest` leads on from that value. */
	| { readonly kind: "step"; readonly step: Step; readonly rest: Path };

/** What the first round did to one document, as far as places move by it. */
export interface Tracks {
	readonly document: unknown;
	/** By pointer: what was put in the place of a value. */
	readonly replacements: ReadonlyMap<string, Step>;
	/** By pointer of a list: what was put into it or taken out, as far as it is known where each item comes from. */
	readonly lists: Map<string, { readonly steps: Step[]; origins?: readonly (number | Step)[] }>;
}

/** The edits of a round with their places in its document. */
export function stepsOf(records: readonly EditRecord[], document: unknown): Step[] {
	return records.map((record) => ({ record, path: pathOf(record, document) }));
}

/** Where an edit of a document stands in it. */
export function pathOf({ kind, path }: EditRecord, document: unknown): Path {
	const found = kind === "insert" ? parseInsertPointer(path, document) : parseJsonPointer(path, document);
	if (!found) throw new Error("Expected an edit of this document.");
	return found;
}

/** Prepares tracing places back through the first round. */
export function tracksOf(document: unknown, steps: readonly Step[]): Tracks {
	const replacements = new Map<string, Step>();
	const lists: Tracks["lists"] = new Map();
	for (const step of steps) {
		if (step.record.kind === "replace") {
			replacements.set(jsonPointer(step.path), step);
			continue;
		}
		const pointer = jsonPointer(step.path.slice(0, -1));
		const list = lists.get(pointer);
		if (list) list.steps.push(step);
		else lists.set(pointer, { steps: [step] });
	}
	return { document, replacements, lists };
}

/** Traces a place of the document between the rounds back to where it comes from. */
export function tracePath(tracks: Tracks, path: Path): Origin {
	let before: Path = [];
	for (const [depth, segment] of path.entries()) {
		const origin = typeof segment === "number" ? originOfItem(tracks, before, segment) : segment;
		if (typeof origin === "object") return { kind: "step", step: origin, rest: path.slice(depth + 1) };
		before = [...before, origin];
		const step = tracks.replacements.get(jsonPointer(before));
		if (step && depth < path.length - 1) return { kind: "step", step, rest: path.slice(depth + 1) };
	}
	return { kind: "before", path: before };
}

/** The index that an item of a list had before, or the step that has put it there. */
function originOfItem({ lists, document }: Tracks, list: Path, index: number): number | Step {
	const moved = lists.get(jsonPointer(list));
	if (!moved) return index;
	const items = valueAt(document, list);
	const length = Array.isArray(items) ? items.length : 0;
	moved.origins ??= originsOf(moved.steps, length);
	return moved.origins[index] ?? length;
}

function originsOf(steps: readonly Step[], length: number): (number | Step)[] {
	const at = new Map<number, Step[]>();
	for (const step of steps) {
		const index = Number(step.path.at(-1));
		const here = at.get(index);
		if (here) here.push(step);
		else at.set(index, [step]);
	}
	const origins: (number | Step)[] = [];
	for (let index = 0; index <= length; index += 1) {
		const here = at.get(index) ?? [];
		origins.push(...here.filter(({ record }) => record.kind === "insert"));
		if (index < length && !here.some(({ record }) => record.kind === "remove")) origins.push(index);
	}
	return origins;
}

import type { Plan, ReplaceEdit } from "../engine/edit.ts";
import { jsonPointer, type Path, valueAt } from "../engine/path.ts";
import type { Format, LocatedMessages } from "./format.ts";

/**
 * The edits that tie records whose predecessor a plan drops to the nearest one that stays, so that a session can still be
 * followed from its end to its beginning.
 */
export function planRelink(format: Format, { messages, base }: LocatedMessages, plan: Plan): ReplaceEdit[] {
	const { links } = format;
	if (!links) return [];
	const dropped = new Set(plan.filter((edit) => edit.kind === "remove").map((edit) => jsonPointer(edit.path)));
	if (dropped.size === 0) return [];
	const isDropped = (index: number) => dropped.has(jsonPointer([...base, index]));

	const parentOfDropped = new Map<unknown, unknown>();
	messages.forEach((record, index) => {
		if (isDropped(index)) parentOfDropped.set(valueAt(record, links.id), valueAt(record, links.parent));
	});
	return messages.flatMap((record, index): ReplaceEdit[] => {
		const before = valueAt(record, links.parent);
		if (isDropped(index) || typeof before !== "string" || !parentOfDropped.has(before)) return [];
		let parent: unknown = before;
		// A chain is followed at most once through each dropped record, so that a circle ends.
		for (let steps = parentOfDropped.size; steps > 0 && parentOfDropped.has(parent); steps -= 1) {
			parent = parentOfDropped.get(parent);
		}
		const same = { chars: 0, tokens: 0 };
		const path = [...base, index, ...links.parent];
		return [
			{ kind: "replace", reason: "relink", path, replacement: parent ?? null, message: -1, before: same, after: same },
		];
	});
}

/** Tells the places that tie a record to the one before it. */
export function linkRecogniser(format: Format, { base }: LocatedMessages): (path: Path) => boolean {
	const parent = format.links?.parent;
	if (!parent) return () => false;
	return (path) =>
		path.length === base.length + 1 + parent.length &&
		jsonPointer(path.slice(0, base.length)) === jsonPointer(base) &&
		jsonPointer(path.slice(base.length + 1)) === jsonPointer(parent);
}

import type { Path } from "../../engine/conversation/paths.ts";
import { valueAt } from "../../engine/conversation/paths.ts";
import type { ValueEdit } from "../../formats/json-text/edit.ts";
import { membersOf } from "../../formats/json-text/value.ts";
import type { ShapeGap } from "./shape-cut.ts";

/** Each is checked by the schema. */
const mostPlaces = 24;

/**
 * Places for a notice in structured content whose objects allow no other members, best first: as an item in a gap, in a
 * list of texts or at the end of a text in the item before it, at the start of a text that was cut, and at that of any text.
 */
export function noticePlaces(
	value: unknown,
	{ gaps, notice }: { readonly gaps: readonly ShapeGap[]; readonly notice: string },
): readonly ValueEdit[] {
	const edits: ValueEdit[] = [];
	const atStart = (path: Path) => {
		const text = valueAt(value, path);
		if (typeof text === "string") edits.push({ kind: "replace", path, replacement: `${notice} ${text}` });
	};
	for (const gap of gaps) {
		if (gap.kind === "text") atStart(gap.path);
		if (gap.kind !== "list") continue;
		const at = [...gap.path, gap.at];
		edits.push({ kind: "insert", path: at, value: notice }, { kind: "insert", path: at, value: [notice] });
		edits.push(...placesIn(value, { path: [...gap.path, Math.max(0, gap.at - 1)], notice }));
	}
	const [first] = textsIn(value, []);
	if (first) atStart(first.path);
	return edits.slice(0, mostPlaces);
}

/** In an item of a list: lists of texts, then its texts, those with blanks first. */
function placesIn(value: unknown, { path, notice }: { readonly path: Path; readonly notice: string }): ValueEdit[] {
	const texts = textsIn(valueAt(value, path), path);
	const lists = new Map(
		texts
			.filter(({ path: one }) => typeof one.at(-1) === "number")
			.map((one) => [JSON.stringify(one.path.slice(0, -1)), one.path.slice(0, -1)]),
	);
	const ofLists = [...lists.values()].map((list): ValueEdit => {
		const items = valueAt(value, list) as readonly unknown[];
		return { kind: "insert", path: [...list, items.length], value: notice };
	});
	const inOrder = texts.toSorted((a, b) => Number(b.text.includes(" ")) - Number(a.text.includes(" ")));
	return [
		...ofLists.slice(0, 4),
		...inOrder
			.slice(0, 8)
			.map(({ path: at, text }): ValueEdit => ({ kind: "replace", path: at, replacement: `${text} ${notice}` })),
	];
}

const mostTexts = 50;
const deepest = 12;

function textsIn(value: unknown, path: Path): readonly { readonly path: Path; readonly text: string }[] {
	if (typeof value === "string") return [{ path, text: value }];
	if (path.length > deepest) return [];
	const found: { readonly path: Path; readonly text: string }[] = [];
	for (const [key, member] of membersOf(value)) {
		if (found.length >= mostTexts) break;
		found.push(...textsIn(member, [...path, key]));
	}
	return found;
}

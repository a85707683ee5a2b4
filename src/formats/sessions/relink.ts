import type { Plan, ReplaceEdit } from "../../engine/edit.ts";
import { jsonPointer, type Path, valueAt } from "../../engine/path.ts";
import type { Format, LocatedMessages, RecordLinks } from "../format.ts";

/**
 * The edits that tie records whose predecessor a plan drops to the nearest one that stays, so that a session can still be
 * followed from its end to its beginning.
 */
export function planRelink(format: Format, located: LocatedMessages, plan: Plan): ReplaceEdit[] {
	const { links } = format;
	const { messages, base } = located;
	if (!links) return [];
	const dropped = new Set(plan.filter((edit) => edit.kind === "remove").map((edit) => jsonPointer(edit.path)));
	if (dropped.size === 0) return [];
	const isDropped = (index: number) => dropped.has(jsonPointer([...base, index]));

	const parentOfDropped = new Map<unknown, unknown>();
	const staying = new Set(messages.flatMap((record, index) => (isDropped(index) ? [] : [valueAt(record, links.id)])));
	messages.forEach((record, index) => {
		const id = valueAt(record, links.id);
		// Another record of that name still stands.
		if (isDropped(index) && !staying.has(id)) parentOfDropped.set(id, valueAt(record, links.parent));
	});
	const tie = (index: number, place: Path, replacement: unknown): ReplaceEdit => {
		const same = { chars: 0, tokens: 0 };
		const path = [...base, index, ...place];
		return { kind: "replace", reason: "relink", path, replacement, message: -1, before: same, after: same };
	};
	const onChain = tiesOfChain(links, located, isDropped, parentOfDropped);
	return messages.flatMap((record, index): ReplaceEdit[] => {
		if (isDropped(index)) return [];
		const edits: ReplaceEdit[] = [];
		const before = valueAt(record, links.parent);
		const parent = onChain.has(index) ? onChain.get(index) : nearestKept(before, parentOfDropped);
		if (before !== undefined && parent !== undefined && parent !== before) edits.push(tie(index, links.parent, parent));
		const kept = links.firstKept && valueAt(record, links.firstKept);
		if (links.firstKept && typeof kept === "string" && parentOfDropped.has(kept)) {
			edits.push(tie(index, links.firstKept, nextKept(record, kept, links, messages, parentOfDropped)));
		}
		return edits;
	});
}

/**
 * What the records of the conversation are to name as their parent, by their indexes, where the record before them is
 * dropped; null where none before is left.
 */
function tiesOfChain(
	links: RecordLinks,
	located: LocatedMessages,
	isDropped: (index: number) => boolean,
	parentOfDropped: ReadonlyMap<unknown, unknown>,
): ReadonlyMap<number, unknown> {
	const ties = new Map<number, unknown>();
	let waiting: number | undefined;
	let afterDropped = false;
	for (const index of links.chain?.(located) ?? []) {
		if (isDropped(index)) {
			afterDropped = true;
			continue;
		}
		if (afterDropped && waiting !== undefined) ties.set(waiting, valueAt(located.messages[index], links.id));
		waiting = index;
		afterDropped = false;
	}
	if (waiting === undefined) return ties;
	// Records that lead in a circle begin where it closes.
	const begins = valueAt(located.messages[waiting], links.parent);
	if (afterDropped || parentOfDropped.has(begins)) ties.set(waiting, null);
	return ties;
}

/** The nearest record before a dropped one that stays, or null; `undefined` where nothing has to change. */
function nearestKept(parent: unknown, parentOfDropped: ReadonlyMap<unknown, unknown>): unknown {
	if (typeof parent !== "string" || !parentOfDropped.has(parent)) return undefined;
	let nearest: unknown = parent;
	// A chain is followed at most once through each dropped record, so that a circle ends.
	for (let steps = parentOfDropped.size; steps > 0 && parentOfDropped.has(nearest); steps -= 1) {
		nearest = parentOfDropped.get(nearest);
	}
	return nearest ?? null;
}

/**
 * The first record after a dropped one that stays, on the way to the compaction which names the dropped one as the first
 * that it kept; the compaction itself where none is left.
 */
function nextKept(
	compaction: unknown,
	dropped: string,
	links: RecordLinks,
	messages: readonly unknown[],
	parentOfDropped: ReadonlyMap<unknown, unknown>,
): unknown {
	const parents = new Map(messages.map((record) => [valueAt(record, links.id), valueAt(record, links.parent)]));
	let kept = valueAt(compaction, links.id);
	let id = kept;
	for (let steps = parents.size; steps > 0 && id !== dropped && id !== undefined; steps -= 1) {
		if (!parentOfDropped.has(id)) kept = id;
		id = parents.get(id);
	}
	return kept;
}

/** Tells the places that tie a record to the one before it. */
export function linkRecogniser(format: Format, { base }: LocatedMessages): (path: Path) => boolean {
	const places = [format.links?.parent, format.links?.firstKept].filter((place) => place !== undefined);
	return (path) =>
		jsonPointer(path.slice(0, base.length)) === jsonPointer(base) &&
		places.some((place) => jsonPointer(path.slice(base.length + 1)) === jsonPointer(place));
}

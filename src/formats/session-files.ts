import { applyPlan } from "../engine/conversation/apply.ts";
import { compactJson, isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { groupBy } from "../engine/conversation/lists.ts";
import { jsonPointer, type Path, startsWith, valueAt } from "../engine/conversation/paths.ts";
import type { Plan, ReplaceEdit } from "../engine/conversation/plan.ts";
import type { TextNode, ToolResult } from "../engine/conversation/transcript.ts";
import type { LocatedMessages, RecordLinks } from "./format.ts";
import { membersOf, objectOf, stringAt } from "./json-text/value.ts";

/** The argument values of each call, by id. A string that repeats one is not a copy of the output. */
export type CallValues = Map<string, ReadonlySet<unknown>>;

export function rememberCall(values: CallValues, id: string | undefined, input: unknown): void {
	if (id !== undefined) values.set(id, new Set(isJsonObject(input) ? Object.values(input) : []));
}

/** Strings from this length on are output. */
const longText = 300;

/** Shorter strings are states and names that the session's viewer needs. */
const shortText = 24;

/** Data of media from this length on. Shorter strings in an image are ids, types and names. */
const shortData = 40;

const mediaTypes: ReadonlySet<unknown> = new Set(["image", "audio", "base64"]);

/** Limits of the search, since records are untrusted. */
const deepest = 8;
const mostValues = 20_000;

/**
 * The strings of a record that repeat the output of its result, so that masking can edit them too. A string is a copy if at
 * least half of its lines are lines of the output (apart from line numbers), or if it is long: the output may be a part
 * of it. Data of images and recordings repeat the media of the result. Strings of the call's arguments are no copies.
 */
export function outputCopies(search: {
	readonly record: unknown;
	readonly path: Path;
	readonly places: readonly Path[];
	readonly texts: readonly TextNode[];
	readonly ofTheCall?: ReadonlySet<unknown> | undefined;
}): Copies {
	const { record, path, places, texts, ofTheCall } = search;
	const copies: TextNode[] = [];
	const mediaCopies: TextNode[] = [];
	let lines: ReadonlySet<string> | undefined;
	const isCopy = (text: string) => {
		if (text.length < shortText) return false;
		if (text.startsWith("data:")) return texts.some((one) => one.text === text);
		if (text.length >= longText) return true;
		lines ??= linesOf(texts);
		const own = text.split("\n").flatMap((line) => line.trim() || []);
		return own.length > 0 && own.filter((line) => lines?.has(line)).length * 2 >= own.length;
	};
	const pending = places.map((place) => {
		return { value: valueAt(record, place), path: [...path, ...place], depth: 0, isMedia: false };
	});
	pending.reverse();
	for (let seen = 0; seen < mostValues; seen += 1) {
		const next = pending.pop();
		if (!next) break;
		const { value: text, depth } = next;
		if (typeof text === "string") {
			if (ofTheCall?.has(text)) continue;
			const node = { path: next.path, text };
			if (isData(text, next.isMedia)) mediaCopies.push(node);
			if (!next.isMedia && isCopy(text)) copies.push(node);
		} else if (depth < deepest) {
			const isMedia = next.isMedia || mediaTypes.has(objectOf(text).type);
			const members = membersOf(text).slice(0, mostValues).reverse();
			for (const [key, value] of members) pending.push({ value, path: [...next.path, key], depth: depth + 1, isMedia });
		}
	}
	return { copies, mediaCopies };
}

export type Copies = Pick<ToolResult, "copies" | "mediaCopies">;

/** The copies of a result that a session keeps in several places. */
export function joinCopies(found: readonly Copies[]): Copies {
	return {
		copies: found.flatMap(({ copies }) => copies),
		mediaCopies: found.flatMap(({ mediaCopies = [] }) => mediaCopies),
	};
}

/** Outside of media only long base64 is data. */
function isData(text: string, isInMedia: boolean): boolean {
	const isMarked = isInMedia || text.startsWith("data:");
	if (text.length < (isMarked ? shortData : longText)) return false;
	const beginning = text.slice(0, longText).replace(/^data:[^,]{0,200},/, "");
	if (!/^[A-Za-z0-9+/]+={0,2}$/.test(beginning)) return false;
	return (isInMedia && text.length >= longText) || [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(beginning));
}

function linesOf(texts: readonly TextNode[]): ReadonlySet<string> {
	const lines = new Set<string>();
	for (const { text } of texts) {
		for (const line of text.split("\n")) {
			lines.add(line.trim());
			// Line numbers of tools that read files: "    12→text" or "12<tab>text".
			lines.add(line.replace(/^\s*\d+[→\t]/, "").trim());
		}
	}
	return lines;
}

export interface RecordTies {
	readonly id: string;
	/** The key of its parent's id; null there marks the first record. */
	readonly parent: string;
	readonly isNode: (index: number) => boolean;
	/** Whether a record is a notice that the program wrote whenever it came: its children follow the record before it. */
	readonly isNotice?: (index: number) => boolean;
	/** Whether the conversation starts again at a record, whatever its parent is. */
	readonly isStart: (index: number) => boolean;
}

/**
 * The records from one record back to the beginning, in that order. The parent of a record without one (older sessions
 * are plain lists), or of one whose parent is not in the file, is the record before it in the file. Of records with the
 * same id the latest before the child is its parent; the others follow it, each with its own way back.
 */
export function recordChain(records: readonly unknown[], last: number, ties: RecordTies): readonly number[] {
	const named = new Map<string, number[]>();
	const preceding: (number | undefined)[] = [];
	const nameAt = (index: number) => stringAt(records[index] as JsonObject, ties.id);
	let latest: number | undefined;
	for (let index = 0; index < records.length; index += 1) {
		preceding.push(latest);
		if (!ties.isNode(index)) continue;
		const id = nameAt(index);
		if (ties.isNotice?.(index)) {
			if (id !== undefined && latest !== undefined) named.set(id, [latest]);
			continue;
		}
		const known = id === undefined ? undefined : named.get(id);
		if (known) known.push(index);
		else if (id !== undefined) named.set(id, [index]);
		latest = index;
	}

	const parentOf = (index: number): number | undefined => {
		const record = records[index] as JsonObject;
		const parent = record[ties.parent];
		if (ties.isStart(index) || parent === null) return undefined;
		const bearers = typeof parent === "string" ? named.get(parent) : undefined;
		return bearers ? latestBefore(bearers, index) : preceding[index];
	};
	const passed = new Set<number>();
	// A record that was already passed ends a circle of links.
	const walk = (from: number, floor: number): number[] => {
		const way: number[] = [];
		for (let index: number | undefined = from; index !== undefined && index > floor && !passed.has(index); ) {
			passed.add(index);
			way.push(index);
			index = parentOf(index);
		}
		return way.reverse();
	};
	const pending = walk(last, -1);
	const start = pending[0] ?? -1;
	// Records before a new start are not part of the conversation, whatever their ids.
	const floor = ties.isStart(start) ? start : -1;
	const chain: number[] = [];
	const settled = new Set<string>();
	for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
		chain.push(index);
		const id = nameAt(index);
		if (id === undefined || settled.has(id)) continue;
		settled.add(id);
		for (const namesake of named.get(id) ?? []) pending.push(...walk(namesake, floor));
	}
	return chain;
}

/** The last of some ascending numbers that is less than `bound`; the first if none is. Bisects: ids may repeat often. */
function latestBefore(ascending: readonly number[], bound: number): number | undefined {
	let [low, high] = [0, ascending.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((ascending[middle] as number) < bound) low = middle + 1;
		else high = middle;
	}
	return ascending[Math.max(0, low - 1)];
}

/** The index of each record that repeats an earlier one of the same `uuid`, with the index of that one. */
export function repeatedRecords(records: readonly unknown[], content: (record: JsonObject) => unknown) {
	const repeats = new Map<number, number>();
	const named = groupBy(records.keys(), (index) => stringAt(objectOf(records[index]), "uuid"));
	named.delete(undefined);
	for (const indexes of named.values()) {
		if (indexes.length === 1) continue;
		const equal = groupBy(indexes, (index) => compactJson(content(records[index] as JsonObject)));
		for (const [first, ...others] of equal.values()) for (const index of others) repeats.set(index, first as number);
	}
	return repeats;
}

/** Adds to the plan that records whose parent is dropped link to the nearest record that stays. */
export function withRelinks(links: RecordLinks, located: LocatedMessages, plan: Plan): Plan {
	const relinks = planRelink(links, located, plan);
	const within = new Set<ReplaceEdit>();
	const linked = plan.map((edit) => {
		if (edit.kind !== "replace" || edit.reason !== "summary") return edit;
		const inside = relinks.filter(({ path }) => startsWith(path, edit.path));
		for (const one of inside) within.add(one);
		// A record in the place of dropped ones keeps the link of the first of them.
		const moved = inside.map((one) => ({ ...one, path: one.path.slice(edit.path.length) }));
		const present = moved.filter(({ path }) => valueAt(edit.replacement, path) !== undefined);
		return present.length === 0 ? edit : { ...edit, replacement: applyPlan(edit.replacement, present) };
	});
	return [...linked, ...relinks.filter((one) => !within.has(one))];
}

/** The edits of links alone. */
function planRelink(links: RecordLinks, located: LocatedMessages, plan: Plan): ReplaceEdit[] {
	const { messages, base } = located;
	const removed = new Set(plan.filter((edit) => edit.kind === "remove").map((edit) => jsonPointer(edit.path)));
	if (removed.size === 0) return [];
	const isDropped = messages.map((_, index) => removed.has(jsonPointer([...base, index])));
	const idOf = (record: unknown) => valueAt(record, links.id);
	const parentOf = (record: unknown) => valueAt(record, links.parent);

	/** By the ids of dropped records, unless another record of that id stays. */
	const droppedParents = new Map<unknown, unknown>();
	const staying = new Set(messages.filter((_, index) => !isDropped[index]).map(idOf));
	for (const [index, record] of messages.entries()) {
		if (isDropped[index] && !staying.has(idOf(record))) droppedParents.set(idOf(record), parentOf(record));
	}

	/** The new parents of the records of the chain whose predecessor is dropped; null for the new first record. */
	const onChain = new Map<number, unknown>();
	let before: unknown = null;
	let afterDropped = false;
	for (const index of (links.chain?.(located) ?? []).toReversed()) {
		// A circle of links begins at the record that closes it.
		const begins = before === null && droppedParents.has(parentOf(messages[index]));
		if (!isDropped[index]) {
			if (afterDropped || begins) onChain.set(index, before);
			before = idOf(messages[index]);
		}
		afterDropped = isDropped[index] === true;
	}

	/** The id of the nearest record that stays from a parent on, or null. Passes no record twice: there may be circles. */
	const nearestKept = (parent: unknown): unknown => {
		let nearest = parent;
		for (let steps = droppedParents.size; steps > 0 && droppedParents.has(nearest); steps -= 1) {
			nearest = droppedParents.get(nearest);
		}
		return nearest ?? null;
	};
	/** The id of the first record that stays after the dropped one that a compaction kept first; else of the compaction. */
	const nextKept = (compaction: unknown, dropped: string): unknown => {
		const parents = new Map(messages.map((record) => [idOf(record), parentOf(record)]));
		let [kept, id] = [idOf(compaction), idOf(compaction)];
		for (let steps = parents.size; steps > 0 && id !== dropped && id !== undefined; steps -= 1) {
			if (!droppedParents.has(id)) kept = id;
			id = parents.get(id);
		}
		return kept;
	};
	return messages.flatMap((record, index): ReplaceEdit[] => {
		if (isDropped[index]) return [];
		const link = (place: Path, replacement: unknown): ReplaceEdit => {
			const same = { chars: 0, tokens: 0 };
			const path = [...base, index, ...place];
			return { kind: "replace", reason: "relink", path, replacement, message: -1, before: same, after: same };
		};
		const edits: ReplaceEdit[] = [];
		const was = parentOf(record);
		const isLost = typeof was === "string" && droppedParents.has(was);
		const parent = onChain.has(index) ? onChain.get(index) : isLost ? nearestKept(was) : was;
		if (was !== undefined && parent !== undefined && parent !== was) edits.push(link(links.parent, parent));
		const kept = links.firstKept && valueAt(record, links.firstKept);
		if (links.firstKept && typeof kept === "string" && droppedParents.has(kept)) {
			edits.push(link(links.firstKept, nextKept(record, kept)));
		}
		return edits;
	});
}

/** Tells whether a path is that of a link between records. */
export function linkRecogniser(links: RecordLinks, { base }: LocatedMessages): (path: Path) => boolean {
	const places = [links.parent, links.firstKept].flatMap((place) => (place ? jsonPointer(place) : []));
	return (path) =>
		jsonPointer(path.slice(0, base.length)) === jsonPointer(base) &&
		places.includes(jsonPointer(path.slice(base.length + 1)));
}

import { compactJson, isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Plan, ReplaceEdit } from "../conversation/plan.ts";
import { jsonPointer, type Path, type TextNode, valueAt } from "../conversation/transcript.ts";
import type { Format, LocatedMessages, RecordLinks } from "./format.ts";
import { stringAt } from "./json-values.ts";

/** Strings from this length on are output, whatever they say: no status, path or title is as long. */
const longText = 300;

/** Shorter strings than this are states and names, which a viewer of the session needs. */
const shortText = 24;

/** How deep, and over how many values, copies are looked for: records are untrusted. */
const deepest = 8;

const mostValues = 20_000;

/** Types of objects that hold the data of an image. */
const mediaTypes: readonly unknown[] = ["image", "base64"];

/** What copies of an output are looked for in. */
export interface CopySearch {
	/** What the record keeps beside the message. */
	readonly value: unknown;
	readonly path: Path;
	/** The output as the model is sent it. */
	readonly texts: readonly TextNode[];
	/** Strings that the call itself holds: a record that repeats them gives nothing of the output away. */
	readonly ofTheCall: ReadonlySet<unknown>;
}

/**
 * The strings beside a result that hold its output a second time, so that what is masked is not left readable next to
 * its placeholder. A string is a copy where at least half of its lines are lines of the output (line numbers aside), or
 * where it is long: a whole file of which the output shows a part, an output before it was cut. Images and what
 * repeats the call's arguments are none.
 */
export function outputCopies({ value, path, texts, ofTheCall }: CopySearch): TextNode[] {
	const copies: TextNode[] = [];
	let lines: ReadonlySet<string> | undefined;
	const isCopy = (text: string) => {
		if (text.length < shortText || ofTheCall.has(text) || text.startsWith("data:")) return false;
		if (text.length >= longText) return true;
		lines ??= linesOf(texts);
		return sharesLines(text, lines);
	};
	const pending: { value: unknown; path: Path }[] = [{ value, path }];
	for (let seen = 0; pending.length > 0 && seen < mostValues; seen += 1) {
		const next = pending.pop() as { value: unknown; path: Path };
		if (typeof next.value === "string") {
			if (isCopy(next.value)) copies.push({ path: next.path, text: next.value });
		} else if (next.path.length - path.length < deepest) {
			pending.push(...childrenOf(next.value, next.path).reverse());
		}
	}
	return copies;
}

function childrenOf(value: unknown, path: Path): { value: unknown; path: Path }[] {
	if (Array.isArray(value)) {
		return value.slice(0, mostValues).map((item: unknown, index) => ({ value: item, path: [...path, index] }));
	}
	if (!isJsonObject(value) || mediaTypes.includes(value.type)) return [];
	return Object.entries(value)
		.slice(0, mostValues)
		.map(([key, item]) => ({ value: item, path: [...path, key] }));
}

function linesOf(texts: readonly TextNode[]): ReadonlySet<string> {
	const lines = new Set<string>();
	for (const { text } of texts) {
		for (const line of text.split("\n")) {
			lines.add(line.trim());
			// Tools that read files number their lines: "    12→text" or "12<tab>text".
			lines.add(line.replace(/^\s*\d+[→\t]/, "").trim());
		}
	}
	return lines;
}

function sharesLines(text: string, lines: ReadonlySet<string>): boolean {
	const own = text.split("\n").flatMap((line) => line.trim() || []);
	return own.length > 0 && own.filter((line) => lines.has(line)).length * 2 >= own.length;
}

/** How the records of a session are tied to each other. */
export interface RecordTies {
	/** Key under which a record names itself. */
	readonly id: string;
	/** Key under which it names the record before it; null there says that nothing stands before it. */
	readonly parent: string;
	/** Whether a record is part of the tree at all. */
	readonly isNode: (index: number) => boolean;
	/** Whether the conversation starts afresh at a record, whatever it names as its parent. */
	readonly isStart: (index: number) => boolean;
}

/**
 * The records on the way from one record back to the beginning, in that order. Where a record names no parent (older
 * sessions are plain lists), or one that is not in the file (its line was lost), the record before it in the file is
 * taken: sessions are only ever appended to. A name that several records have is that of the latest before the one that
 * gives it; the others come right behind that one, each with its own way back, so that none is lost.
 */
export function recordChain(records: readonly unknown[], last: number, ties: RecordTies): readonly number[] {
	const named = new Map<string, number[]>();
	const preceding: (number | undefined)[] = [];
	let latest: number | undefined;
	records.forEach((record, index) => {
		preceding.push(latest);
		if (!isJsonObject(record) || !ties.isNode(index)) return;
		const id = stringAt(record, ties.id);
		const known = id === undefined ? undefined : named.get(id);
		if (known) known.push(index);
		else if (id !== undefined) named.set(id, [index]);
		latest = index;
	});

	const parentOf = (index: number): number | undefined => {
		const record = records[index];
		if (!isJsonObject(record) || ties.isStart(index)) return undefined;
		const parent = Object.hasOwn(record, ties.parent) ? record[ties.parent] : undefined;
		if (parent === null) return undefined;
		const bearers = typeof parent === "string" ? named.get(parent) : undefined;
		return bearers ? latestBefore(bearers, index) : preceding[index];
	};
	const passed = new Set<number>();
	// A record already passed ends a circle.
	const walk = (from: number, floor: number): number[] => {
		const way: number[] = [];
		for (let index: number | undefined = from; index !== undefined && index > floor && !passed.has(index); ) {
			passed.add(index);
			way.push(index);
			index = parentOf(index);
		}
		return way;
	};
	const direct = walk(last, -1);
	const start = direct.at(-1) ?? -1;
	// What stands before a new start is no part of the conversation, whatever it is named.
	const floor = ties.isStart(start) ? start : -1;
	const chain: number[] = [];
	const settled = new Set<string>();
	const pending = direct.reverse();
	for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
		chain.push(index);
		const record = records[index];
		const id = isJsonObject(record) ? stringAt(record, ties.id) : undefined;
		if (id === undefined || settled.has(id)) continue;
		settled.add(id);
		for (const namesake of named.get(id) ?? []) {
			for (const one of walk(namesake, floor).reverse()) pending.push(one);
		}
	}
	return chain;
}

/** The last of some ascending numbers that is less than another; the first where none is. */
function latestBefore(ascending: readonly number[], bound: number): number | undefined {
	let [low, high] = [0, ascending.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((ascending[middle] as number) < bound) low = middle + 1;
		else high = middle;
	}
	return ascending[Math.max(0, low - 1)];
}

/**
 * The records that say what an earlier one of the same name has said: to the index of each, the index of the first.
 * Sessions hold such copies where they were resumed. `content` is what two of them share.
 */
export function repeatedRecords(
	records: readonly unknown[],
	id: string,
	content: (record: JsonObject) => unknown,
): ReadonlyMap<number, number> {
	const named = new Map<string, { readonly first: number; byContent?: Map<string, number> }>();
	const repeats = new Map<number, number>();
	const contentAt = (index: number) => compactJson(content(records[index] as JsonObject));
	records.forEach((record, index) => {
		const name = isJsonObject(record) ? stringAt(record, id) : undefined;
		if (name === undefined) return;
		const known = named.get(name);
		if (!known) {
			named.set(name, { first: index });
			return;
		}
		known.byContent ??= new Map([[contentAt(known.first), known.first]]);
		const own = contentAt(index);
		const first = known.byContent.get(own);
		if (first === undefined) known.byContent.set(own, index);
		else repeats.set(index, first);
	});
	return repeats;
}

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

import { compactJson } from "../../engine/stringify.ts";
import { isJsonObject, type JsonObject, stringAt } from "../json-values.ts";

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

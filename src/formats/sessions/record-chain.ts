import { isJsonObject, stringAt } from "../json-values.ts";

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
 * The records on the way from one record back to the beginning, in that order. Where a record names no parent (older sessions are plain
 * lists), or one that is not in the file (its line was lost), the record before it in the file is taken: sessions are
 * only ever appended to.
 */
export function recordChain(records: readonly unknown[], last: number, ties: RecordTies): readonly number[] {
	const indexOf = new Map<string, number>();
	const preceding: (number | undefined)[] = [];
	let latest: number | undefined;
	records.forEach((record, index) => {
		preceding.push(latest);
		if (!isJsonObject(record) || !ties.isNode(index)) return;
		const id = stringAt(record, ties.id);
		// A record that stands in the file a second time is no other one.
		if (id !== undefined && indexOf.has(id)) return;
		if (id !== undefined) indexOf.set(id, index);
		latest = index;
	});

	const parentOf = (index: number): number | undefined => {
		const record = records[index];
		if (!isJsonObject(record) || ties.isStart(index)) return undefined;
		const parent = Object.hasOwn(record, ties.parent) ? record[ties.parent] : undefined;
		if (parent === null) return undefined;
		const named = typeof parent === "string" ? indexOf.get(parent) : undefined;
		return named ?? preceding[index];
	};
	const chain = new Set<number>();
	// A record already passed ends a circle.
	for (let index: number | undefined = last; index !== undefined && !chain.has(index); ) {
		chain.add(index);
		index = parentOf(index);
	}
	return Array.from(chain);
}

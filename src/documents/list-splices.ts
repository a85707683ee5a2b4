import type { Span } from "./locate-values.ts";

/** Characters of a text, from `start` to before `end`, to be replaced by others. */
export interface Splice extends Span {
	readonly replacement: string;
}

/** What is done to the items of a list. */
export interface ListChange {
	/** Where the list stands; the records of a text are a list that stands nowhere. */
	readonly list: Span | undefined;
	readonly items: readonly Span[];
	/** Indexes of items that are taken out. */
	readonly removed: ReadonlySet<number>;
	/** JSON of what is put in front of an item, or behind the last, by its index. */
	readonly inserted: ReadonlyMap<number, readonly string[]>;
	/** The text, where the list is that of its records, one a line. */
	readonly records: string | undefined;
}

/** The splices that change the items of a list, with the separators that go with them. */
export function listSplices(change: ListChange): Splice[] {
	return [...insertions(change), ...removals(change)];
}

/** What is put in goes to an item that stays, with a separator on its side. */
function insertions({ list, items, removed, inserted, records }: ListChange): Splice[] {
	const separator = records === undefined ? "," : "\n";
	const stays = (index: number) => !removed.has(index);
	const at = (position: number, replacement: string): Splice => ({ start: position, end: position, replacement });
	const indexes = [...inserted.keys()].toSorted((a, b) => a - b);
	const next = new Array<Span | undefined>(items.length + 1);
	for (let index = items.length - 1; index >= 0; index -= 1)
		next[index] = stays(index) ? items[index] : next[index + 1];
	const last = items.findLast((_, index) => stays(index));
	const alone: string[] = [];
	const splices = indexes.flatMap((index) => {
		const values = inserted.get(index) ?? [];
		const behind = next[index];
		if (behind) return values.map((value) => at(behind.start, value + separator));
		if (last) return values.map((value) => at(last.end, separator + value));
		alone.push(...values);
		return [];
	});
	if (alone.length === 0) return splices;
	return [at(items[0]?.start ?? (list?.start ?? -1) + 1, alone.join(separator))];
}

/**
 * Takes items out with the separators that go with them: those behind, or before where none stays behind. A record that
 * shares its line with the one before takes the white space between these two, so that its line still ends.
 */
function removals({ items, removed, records }: ListChange): Splice[] {
	const splices: Splice[] = [];
	const sharesLine = (previous: Span, first: Span) =>
		records !== undefined && !records.slice(previous.end, first.start).includes("\n");
	for (let index = 0; index < items.length; index += 1) {
		if (!removed.has(index)) continue;
		let last = index;
		while (removed.has(last + 1)) last += 1;
		const [first, next, previous] = [items[index] as Span, items[last + 1], items[index - 1]];
		const end = (items[last] as Span).end;
		if (previous && (!next || sharesLine(previous, first))) {
			splices.push({ start: previous.end, end, replacement: "" });
		} else splices.push({ start: first.start, end: next ? next.start : end, replacement: "" });
		index = last;
	}
	return splices;
}

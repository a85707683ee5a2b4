/** A list without the room that lists are given to grow into: what is read of a message is kept, and most lists are empty. */
export function fittedList<Item>(list: readonly Item[]): readonly Item[] {
	return list.length === 0 ? none : list.slice();
}

const none: readonly never[] = [];

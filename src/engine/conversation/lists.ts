export function addToList<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
	const list = lists.get(key);
	if (list) list.push(item);
	else lists.set(key, [item]);
}

export function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
	const groups = new Map<Key, Item[]>();
	for (const item of items) addToList(groups, keyOf(item), item);
	return groups;
}

export function once<Value>(make: () => Value): () => Value {
	let made: { readonly value: Value } | undefined;
	return () => {
		made ??= { value: make() };
		return made.value;
	};
}

/** The first index from `low` to `high` that reaches something, where all after it do too; `high` if none does. */
export function firstReaching(low: number, high: number, reaches: (index: number) => boolean): number {
	let [from, to] = [low, high];
	while (from < to) {
		const middle = (from + to) >> 1;
		if (reaches(middle)) to = middle;
		else from = middle + 1;
	}
	return from;
}

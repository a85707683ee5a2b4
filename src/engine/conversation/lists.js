export function addToList(lists, key, item) {
	const list = lists.get(key);
	if (list) list.push(item);
	else lists.set(key, [item]);
}
export function groupBy(items, keyOf) {
	const groups = new Map();
	for (const item of items) addToList(groups, keyOf(item), item);
	return groups;
}
export function once(make) {
	let made;
	return () => {
		made ??= { value: make() };
		return made.value;
	};
}
/** The first index from `low` to `high` that reaches something, where all after it do too; `high` if none does. */
export function firstReaching(low, high, reaches) {
	let [from, to] = [low, high];
	while (from < to) {
		const middle = (from + to) >> 1;
		if (reaches(middle)) to = middle;
		else from = middle + 1;
	}
	return from;
}

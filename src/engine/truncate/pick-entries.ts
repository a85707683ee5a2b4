/** An item of a list or an entry of an object; sizes in characters with its key and its comma. */
export interface Entry {
	/** Size as it stands. */
	readonly full: number;
	/** Size of the least that can stand for it. */
	readonly least: number;
	/** Size from which on it tells something. */
	readonly wanted: number;
	/** How much it has to do with the focus; 0 for nothing. */
	readonly score: number;
	/** Place of the failure in it among all failures, 0 for the one wanted most; `undefined` where it tells of none. */
	readonly failure?: number | undefined;
}

/** Of how many items one is kept from the end, in place of the start. */
const lastEvery = 3;
/** Share of the room that items found by the focus may take, and those that tell of failures, the first of them aside. */
const focusShare = 0.6;
const failureShare = 0.5;

/**
 * Picks the entries to keep: all of them where each can show something; otherwise those that tell of failures, the first
 * and the last, those that have most to do with the focus, and then from both ends as many as fit, two from the start for each from the end.
 * Answers their indices in order.
 */
export function pickEntries(given: {
	readonly entries: readonly Entry[];
	readonly room: number;
	/** Size of the mark of a gap. */
	readonly gapCost: number;
	readonly isObject: boolean;
}): number[] {
	const { entries, room, gapCost, isObject } = given;
	const all = entries.map((_, index) => index);
	const sumOf = (size: (entry: Entry) => number) => entries.reduce((sum, entry) => sum + size(entry), 0);
	if (sumOf(({ wanted }) => wanted) <= room || (isObject && sumOf(({ least }) => least) <= room)) return all;

	const picked = new Set<number>();
	let left = room - gapCost;
	const pick = (index: number, marks: number, size: (entry: Entry) => number): boolean => {
		const entry = entries[index];
		if (entry === undefined || picked.has(index)) return entry !== undefined;
		const cost = size(entry) + marks * gapCost;
		if (cost > left) return false;
		left -= cost;
		picked.add(index);
		return true;
	};
	const wanted = ({ wanted: size }: Entry) => size;
	const failing = all.filter((index) => entries[index]?.failure !== undefined);
	failing.sort((a, b) => (entries[a]?.failure ?? 0) - (entries[b]?.failure ?? 0));
	const leastLeft = left * (1 - failureShare);
	for (const index of failing) {
		if (left <= leastLeft) break;
		pick(index, isObject ? 0 : 1, wanted);
	}
	if (!pick(0, 0, wanted)) pick(0, 0, ({ least }) => least);
	if (entries.length > 1) pick(entries.length - 1, 0, wanted);
	const found = all.filter((index) => (entries[index]?.score ?? 0) > 0);
	// Where nearly all have to do with the focus, it tells them apart by how much alone.
	const best = found.sort((a, b) => (entries[b]?.score ?? 0) - (entries[a]?.score ?? 0) || a - b);
	const floor = left * (1 - focusShare);
	for (const index of best) {
		if (left <= floor) break;
		pick(index, isObject ? 0 : 1, wanted);
	}
	let [front, back] = [0, entries.length - 1];
	for (let turn = 1; front <= back; turn += 1) {
		const fromBack = turn % lastEvery === 0;
		const index = fromBack ? back : front;
		if (!pick(index, 0, wanted)) break;
		if (fromBack) back -= 1;
		else front += 1;
	}
	return [...picked].sort((a, b) => a - b);
}

/** An item of a list or an entry of an object. Sizes are in characters, with key and comma. */
export interface Entry {
	readonly full: number;
	readonly least: number;
	/** The size at which it shows something useful. */
	readonly wanted: number;
	readonly score: number;
	/** The rank of its most important failure, from 0; infinite if it contains none. */
	readonly failure: number;
}

interface PickParameters {
	readonly entries: readonly Entry[];
	readonly room: number;
	readonly gapCost: number;
	readonly isObject: boolean;
}

/** One of this many items is kept from the end instead of the start. */
const lastEvery = 3;
/** Shares of the room for the items that match the focus, and for those with failures. */
const [focusShare, failureShare] = [0.6, 0.5];
/** Items near one with a failure, nearest first; their share of the room that is left, and their greatest length. */
const [besides, besidesShare, longestBeside] = [[-1, -2, 1, -3, 2, -4], 0.4, 400] as const;

/**
 * Picks all entries if each can show something useful; else those with failures, the first and the last, those that
 * match the focus best, and then two from the start for each from the end. Returns their indices in order.
 */
export function pickEntries({ entries, room, gapCost, isObject }: PickParameters): number[] {
	const all = entries.map((_, index) => index);
	const sumOf = (size: (entry: Entry) => number) => entries.reduce((sum, entry) => sum + size(entry), 0);
	if (sumOf(({ wanted }) => wanted) <= room || (isObject && sumOf(({ least }) => least) <= room)) return all;

	const entryAt = (index: number) => entries[index] as Entry;
	const picked = new Set<number>();
	let left = room - gapCost;
	const pick = (index: number, marks: number, size: (entry: Entry) => number): boolean => {
		if (picked.has(index)) return true;
		const cost = size(entryAt(index)) + marks * gapCost;
		if (cost > left) return false;
		left -= cost;
		picked.add(index);
		return true;
	};
	const wanted = ({ wanted: size }: Entry) => size;
	const failing = all.filter((index) => entryAt(index).failure < Number.POSITIVE_INFINITY);
	failing.sort((a, b) => entryAt(a).failure - entryAt(b).failure);
	const leastLeft = left * (1 - failureShare);
	for (const index of failing) {
		if (left <= leastLeft) break;
		pick(index, isObject ? 0 : 1, wanted);
	}
	if (!pick(0, 0, wanted)) pick(0, 0, ({ least }) => least);
	pick(entries.length - 1, 0, wanted);
	const best = all.filter((index) => entryAt(index).score > 0).sort((a, b) => entryAt(b).score - entryAt(a).score);
	const floor = left * (1 - focusShare);
	for (const index of best) {
		if (left <= floor) break;
		pick(index, isObject ? 0 : 1, wanted);
	}
	// What a program reports next to a failure, in lines of their own, tells of it.
	const leastBesides = left * (1 - besidesShare);
	for (const index of failing) {
		if (!picked.has(index)) continue;
		for (const near of besides) {
			const one = entries[index + near];
			if (left > leastBesides && one !== undefined && one.full <= longestBeside) pick(index + near, 0, wanted);
		}
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

/** Divides room so that small entries are complete and large ones get equal shares (max-min fairness). */
export function fillLevel(entries: readonly Entry[], room: number): number[] {
	const given = entries.map(({ least, full }) => Math.min(least, full));
	let left = room - given.reduce((sum, one) => sum + one, 0);
	const smallFirst = [...entries.entries()].sort(([, a], [, b]) => a.full - b.full);
	smallFirst.forEach(([index, { full }], place) => {
		const least = given[index] as number;
		const share = Math.max(0, Math.floor(left / (entries.length - place)));
		const more = Math.min(full - least, share);
		given[index] = least + more;
		left -= more;
	});
	return given;
}

/** The number of marks between picked entries. An object has one for all its gaps. */
export function countGaps(picked: readonly number[], count: number, isObject: boolean): number {
	if (isObject) return picked.length < count ? 1 : 0;
	return [...picked, count].filter((index, place) => index > (picked[place - 1] ?? -1) + 1).length;
}

/** How often what stands between matched values is matched again by itself. */
const deepest = 32;

/** Part of a list of keys, from `start` to before `end`. */
interface Part {
	readonly start: number;
	readonly end: number;
}

/**
 * Finds which values of a list are still there in another, in the same order: for each value afterwards the index of the
 * equal one before, or -1. Values are given by keys, which are equal where they are. What both lists begin and end with
 * is matched first, then what occurs once in both (patience diff), and the same again between these. Takes time in
 * proportion to the lists, times at most 32 and a logarithm.
 */
export function matchValues(before: readonly string[], after: readonly string[]): Int32Array {
	const matches = new Int32Array(after.length).fill(-1);
	match({ start: 0, end: before.length }, { start: 0, end: after.length }, 0);
	return matches;

	function match(old: Part, current: Part, depth: number): void {
		let [oldStart, start] = [old.start, current.start];
		let [oldEnd, end] = [old.end, current.end];
		while (oldStart < oldEnd && start < end && before[oldStart] === after[start]) {
			matches[start] = oldStart;
			start += 1;
			oldStart += 1;
		}
		while (oldStart < oldEnd && start < end && before[oldEnd - 1] === after[end - 1]) {
			end -= 1;
			oldEnd -= 1;
			matches[end] = oldEnd;
		}
		if (oldStart === oldEnd || start === end) return;
		const anchors = depth < deepest ? anchorsIn({ start: oldStart, end: oldEnd }, { start, end }) : [];
		if (anchors.length === 0) {
			matchGreedily({ start: oldStart, end: oldEnd }, { start, end });
			return;
		}
		for (const [oldIndex, index] of anchors) {
			matches[index] = oldIndex;
			match({ start: oldStart, end: oldIndex }, { start, end: index }, depth + 1);
			[oldStart, start] = [oldIndex + 1, index + 1];
		}
		match({ start: oldStart, end: oldEnd }, { start, end }, depth + 1);
	}

	/** The values that occur once in both parts, as far as their order is the same. */
	function anchorsIn(old: Part, current: Part): readonly Anchor[] {
		const oldIndexes = indexesOfUnique(before, old);
		const pairs: Anchor[] = [];
		for (const [key, index] of indexesOfUnique(after, current)) {
			const oldIndex = oldIndexes.get(key);
			if (index !== -1 && oldIndex !== undefined && oldIndex !== -1) pairs.push([oldIndex, index]);
		}
		return longestIncreasing(pairs.toSorted((a, b) => a[1] - b[1]));
	}

	/** Each value goes with the next equal one that is left. */
	function matchGreedily(old: Part, current: Part): void {
		const occurrences = new Map<string, number[]>();
		for (let index = old.end - 1; index >= old.start; index -= 1) {
			const key = before[index] as string;
			const known = occurrences.get(key);
			if (known) known.push(index);
			else occurrences.set(key, [index]);
		}
		let next = old.start;
		for (let index = current.start; index < current.end; index += 1) {
			const left = occurrences.get(after[index] as string);
			while (left && (left.at(-1) ?? next) < next) left.pop();
			const found = left?.pop();
			if (found === undefined) continue;
			matches[index] = found;
			next = found + 1;
		}
	}
}

/** Index before, index afterwards. */
type Anchor = readonly [number, number];

/** The index of each key that occurs once in a part; -1 of one that occurs more often. */
function indexesOfUnique(keys: readonly string[], { start, end }: Part): Map<string, number> {
	const indexes = new Map<string, number>();
	for (let index = start; index < end; index += 1) {
		const key = keys[index] as string;
		indexes.set(key, indexes.has(key) ? -1 : index);
	}
	return indexes;
}

/** The longest subsequence whose first members increase. */
function longestIncreasing(pairs: readonly Anchor[]): readonly Anchor[] {
	/** By length less one: the position in `pairs` of the smallest last pair of a subsequence of that length. */
	const lasts: number[] = [];
	const previous = new Int32Array(pairs.length).fill(-1);
	pairs.forEach(([oldIndex], position) => {
		let [low, high] = [0, lasts.length];
		while (low < high) {
			const middle = (low + high) >> 1;
			if ((pairs[lasts[middle] as number] as Anchor)[0] < oldIndex) low = middle + 1;
			else high = middle;
		}
		if (low > 0) previous[position] = lasts[low - 1] as number;
		lasts[low] = position;
	});
	const found: Anchor[] = [];
	for (let position = lasts.at(-1) ?? -1; position !== -1; position = previous[position] as number) {
		found.push(pairs[position] as Anchor);
	}
	return found.reverse();
}

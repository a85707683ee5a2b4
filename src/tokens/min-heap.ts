export interface MinHeap {
	push(value: number): void;
	/** The smallest number, taken out; `undefined` once empty. */
	pop(): number | undefined;
}

/** A binary heap of numbers, in an array that doubles as it fills. */
export function createMinHeap(capacity: number): MinHeap {
	let values = new Float64Array(Math.max(capacity, 16));
	let size = 0;

	function push(value: number): void {
		if (size === values.length) {
			const grown = new Float64Array(size * 2);
			grown.set(values);
			values = grown;
		}
		let hole = size++;
		while (hole > 0) {
			const parent = (hole - 1) >> 1;
			const above = values[parent] as number;
			if (above <= value) break;
			values[hole] = above;
			hole = parent;
		}
		values[hole] = value;
	}

	function pop(): number | undefined {
		if (size === 0) return undefined;
		const smallest = values[0] as number;
		const last = values[--size] as number;
		let hole = 0;
		for (let child = 1; child < size; child = 2 * hole + 1) {
			const right = child + 1;
			if (right < size && (values[right] as number) < (values[child] as number)) child = right;
			const below = values[child] as number;
			if (below >= last) break;
			values[hole] = below;
			hole = child;
		}
		values[hole] = last;
		return smallest;
	}

	return { push, pop };
}

/** Bytes that can be read in words of four, also past the last byte: what stands there is masked off. */
export interface PieceBytes {
	readonly bytes: Uint8Array;
	readonly view: DataView;
	/** Number of bytes that may be used. */
	readonly capacity: number;
}

/** The longest piece, in bytes, that `PieceCache` and the hash treat as three words. */
export const threeWords = 12;

const padding = 16;

export function createPieceBytes(capacity: number): PieceBytes {
	const bytes = new Uint8Array(capacity + padding);
	return { bytes, view: new DataView(bytes.buffer), capacity };
}

/** Leaves the first `length` bytes (1 to 4) of a word. */
export function lastWordMask(length: number): number {
	return -1 >>> (32 - 8 * length);
}

/** Hash of the `length` bytes (at least one) from `start` on. */
export function hashBytes(view: DataView, start: number, length: number): number {
	let hash = length;
	let offset = 0;
	for (; offset + 4 < length; offset += 4) hash = addWord(hash, view.getInt32(start + offset, true));
	return finish(addWord(hash, view.getInt32(start + offset, true) & lastWordMask(length - offset)));
}

/** The hash of up to `threeWords` bytes, which are these words; those past the last byte are 0. */
export function hashThreeWords(first: number, second: number, third: number, length: number): number {
	let hash = addWord(length, first);
	if (length > 4) hash = addWord(hash, second);
	if (length > 8) hash = addWord(hash, third);
	return finish(hash);
}

function addWord(hash: number, word: number): number {
	const mixed = Math.imul(hash ^ word, 0x9e3779b1);
	return mixed ^ (mixed >>> 15);
}

function finish(hash: number): number {
	const mixed = Math.imul(hash, 0x85ebca6b);
	return mixed ^ (mixed >>> 13);
}

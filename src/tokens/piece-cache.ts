/**
 * Pieces counted before: their own bytes and their counts, in typed arrays of a fixed size. It holds no
 * string and never grows; a count is found only where every byte is the same.
 */
interface PieceCache {
	/** Four words for each piece of at most `threeWords` bytes: its bytes, then length << 8 | tokens; 0 where free. */
	readonly short: Int32Array;
	/** Where in `entries` the entry of a longer piece starts, and above that the bits of its hash; 0 where free. */
	readonly slots: Int32Array;
	/** Entries of longer pieces, one behind the other: length << 16 | tokens, then the bytes. */
	readonly entries: Int32Array;
	/** Words of `entries` in use. */
	used: number;
	/** Slots in use. */
	filled: number;
	/** Longer pieces that found no room since the cache was full. */
	refused: number;
}

/** Numbers of entries, each a power of two, and so is that of the words for longer pieces. */
export interface PieceCacheSize {
	readonly short: number;
	readonly slots: number;
	readonly words: number;
}

/** 2 MB for short pieces and 4.5 MB for longer ones, for each encoding in use. */
export const pieceCacheSize: PieceCacheSize = { short: 1 << 17, slots: 1 << 17, words: 1 << 20 };

/** The longest piece, in bytes, that is remembered. */
export const longestCachedPiece = 1024;

export function createPieceCache(size: PieceCacheSize): PieceCache {
	return {
		short: new Int32Array(size.short * 4),
		slots: new Int32Array(size.slots),
		entries: new Int32Array(size.words),
		used: 1,
		filled: 0,
		refused: 0,
	};
}

/** The count of a piece of more than `threeWords` bytes, or 0 where it is not known. */
export function findLongPiece(cache: PieceCache, view: DataView, start: number, length: number, hash: number): number {
	const { slots, entries } = cache;
	const mask = slots.length - 1;
	const place = entries.length - 1;
	let slot = hash & mask;
	for (let entry = slots[slot] as number; entry !== 0; entry = slots[slot] as number) {
		// Another piece's entry is hardly ever read: it would come from far away in memory.
		if (((entry ^ hash) & ~place) === 0) {
			const head = entries[entry & place] as number;
			if (head >>> 16 === length && isPiece(entries, (entry & place) + 1, view, start, length)) return head & 0xffff;
		}
		slot = (slot + 1) & mask;
	}
	return 0;
}

/**
 * Remembers the count of a piece that `findLongPiece` does not know. A full cache turns away as many as it holds before
 * it forgets those: a text that is read again and is somewhat too large for it still finds most of its pieces.
 */
export function rememberLongPiece(
	cache: PieceCache,
	piece: { view: DataView; start: number; length: number; hash: number; tokens: number },
): void {
	const { slots, entries } = cache;
	const { view, start, length, hash, tokens } = piece;
	const words = 1 + ((length + 3) >> 2);
	if (words >= entries.length) return;
	if (cache.used + words > entries.length || cache.filled * 4 >= slots.length * 3) {
		if (++cache.refused < cache.filled) return;
		slots.fill(0);
		cache.used = 1;
		cache.filled = 0;
		cache.refused = 0;
	}
	const mask = slots.length - 1;
	let slot = hash & mask;
	while (slots[slot] !== 0) slot = (slot + 1) & mask;
	slots[slot] = cache.used | (hash & -entries.length);
	cache.filled++;
	entries[cache.used++] = (length << 16) | tokens;
	let offset = 0;
	for (; offset + 4 < length; offset += 4) entries[cache.used++] = view.getInt32(start + offset, true);
	entries[cache.used++] = view.getInt32(start + offset, true) & lastWordMask(length - offset);
}

function isPiece(entries: Int32Array, entry: number, view: DataView, start: number, length: number): boolean {
	let word = entry;
	let offset = 0;
	for (; offset + 4 < length; offset += 4) {
		if (entries[word++] !== view.getInt32(start + offset, true)) return false;
	}
	return ((entries[word] as number) ^ (view.getInt32(start + offset, true) & lastWordMask(length - offset))) === 0;
}

/** Bytes that can be read in words of four, also past the last byte: the bytes behind it are masked off. */
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

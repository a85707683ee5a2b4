/** 2 MB for short pieces and 4.5 MB for longer ones. */
export const pieceCacheSize = { short: 1 << 17, slots: 1 << 17, words: 1 << 20 };
/** In bytes. */
export const longestCachedPiece = 1024;
/** Pieces with their counts, in typed arrays of a fixed size. Compares all bytes of a piece. */
export function createPieceCache(size) {
	return {
		/** Four words for each piece of at most `threeWords` bytes: its bytes, then length << 8 | tokens; 0: free. */
		short: new Int32Array(size.short * 4),
		/** The start of a longer piece's entry in `entries`, and above that the bits of its hash; 0: free. */
		slots: new Int32Array(size.slots),
		/** Entries of longer pieces: length << 16 | tokens, then the bytes. */
		entries: new Int32Array(size.words),
		used: 1,
		filled: 0,
		/** Longer pieces refused since the cache was full. */
		refused: 0,
	};
}
/** The count of a piece of more than `threeWords` bytes, or 0 if it is not known. */
export function findLongPiece(cache, view, start, length, hash) {
	const { slots, entries } = cache;
	const mask = slots.length - 1;
	const place = entries.length - 1;
	let slot = hash & mask;
	for (let entry = slots[slot]; entry !== 0; entry = slots[slot]) {
		// So the entry of another piece is rarely read: it is far away in memory.
		if (((entry ^ hash) & ~place) === 0) {
			const head = entries[entry & place];
			if (head >>> 16 === length && isPiece(entries, (entry & place) + 1, view, start, length)) return head & 0xffff;
		}
		slot = (slot + 1) & mask;
	}
	return 0;
}
/** A full cache refuses as many pieces as it has before it is emptied, so a slightly larger text still finds most. */
export function rememberLongPiece(cache, piece) {
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
function isPiece(entries, entry, view, start, length) {
	let word = entry;
	let offset = 0;
	for (; offset + 4 < length; offset += 4) {
		if (entries[word++] !== view.getInt32(start + offset, true)) return false;
	}
	return (entries[word] ^ (view.getInt32(start + offset, true) & lastWordMask(length - offset))) === 0;
}
/** The longest piece, in bytes, that is treated as three words. */
export const threeWords = 12;
export const padding = 16;
/** Bytes that can be read in words of four, also past the last of the `capacity` that may be used. */
export function createPieceBytes(capacity) {
	const bytes = new Uint8Array(capacity + padding);
	return { bytes, view: new DataView(bytes.buffer), capacity };
}
export function lastWordMask(length) {
	return -1 >>> (32 - 8 * length);
}
export function hashBytes(view, start, length) {
	let hash = length;
	let offset = 0;
	for (; offset + 4 < length; offset += 4) hash = addWord(hash, view.getInt32(start + offset, true));
	return finish(addWord(hash, view.getInt32(start + offset, true) & lastWordMask(length - offset)));
}
/** The same of up to `threeWords` bytes, given as words. */
export function hashThreeWords(first, second, third, length) {
	let hash = addWord(length, first);
	if (length > 4) hash = addWord(hash, second);
	if (length > 8) hash = addWord(hash, third);
	return finish(hash);
}
function addWord(hash, word) {
	const mixed = Math.imul(hash ^ word, 0x9e3779b1);
	return mixed ^ (mixed >>> 15);
}
function finish(hash) {
	const mixed = Math.imul(hash, 0x85ebca6b);
	return mixed ^ (mixed >>> 13);
}

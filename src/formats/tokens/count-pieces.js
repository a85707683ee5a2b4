import { endOfBytes } from "./character-classes.js";
import { createLongPieceCounter, createPieceMerger } from "./merge.js";
import {
	createPieceBytes,
	createPieceCache,
	findLongPiece,
	hashBytes,
	hashThreeWords,
	lastWordMask,
	longestCachedPiece,
	pieceCacheSize,
	rememberLongPiece,
	threeWords,
} from "./piece-cache.js";
import {
	cl100kPieceEnd,
	createAsciiPieces,
	ended,
	endedEarlier,
	noLimit,
	o200kPieceEnd,
	unclear,
	undecided,
} from "./pieces.js";
import { findToken, readTokenTable } from "./table.js";
export function readEncoding(name) {
	const pieceEnd = name === "o200k_base" ? o200kPieceEnd : cl100kPieceEnd;
	return { table: readTokenTable(name), asciiPieces: createAsciiPieces(name), pieceEnd };
}
// Room for 16 384 UTF-16 code units.
const bufferBytes = 3 << 14;
// Longer pieces are counted faster by the linear way.
const longestQuadratic = 16;
/** Exact, in linear time. Remembers counts of pieces between calls in a cache of a fixed size. */
export function createCounter(encoding, cacheSize = pieceCacheSize) {
	const { table, asciiPieces, pieceEnd } = encoding;
	const cache = createPieceCache(cacheSize);
	const mergePiece = createPieceMerger(table);
	let longPieces;
	let buffer = createPieceBytes(bufferBytes);
	let writer = Buffer.from(buffer.bytes.buffer);
	let counted = 0;
	function countPieces(filled, limit) {
		const { bytes, view } = buffer;
		const { short } = cache;
		const { pairs } = table;
		const setMask = short.length / 8 - 1;
		// V8 reads an imported constant from memory each time.
		const endedState = ended;
		const longestShort = threeWords;
		const pieces = asciiPieces;
		let total = 0;
		let start = 0;
		while (start < filled) {
			let end = start;
			let state = pieces[bytes[end]];
			while (state < endedState) state = pieces[state | bytes[++end]];
			if (state !== endedState) {
				end = state < unclear ? endedEarlier(bytes, state, end) : pieceEnd(bytes, start, limit);
				if (end === undecided) break;
			}
			const length = end - start;
			if (length > longestShort) {
				total += countLonger(view, start, length);
				start = end;
				continue;
			}
			// Every byte is a token, and so two bytes are one token or two.
			if (length <= 2) {
				total += length === 1 || pairs[view.getUint16(start)] >= 0 ? 1 : 2;
				start = end;
				continue;
			}
			let first = view.getInt32(start, true);
			let second = 0;
			let third = 0;
			if (length <= 4) first &= lastWordMask(length);
			else {
				second = view.getInt32(start + 4, true);
				if (length <= 8) second &= lastWordMask(length - 4);
				else third = view.getInt32(start + 8, true) & lastWordMask(length - 8);
			}
			const hash = hashThreeWords(first, second, third, length);
			const slot = (hash & setMask) << 3;
			let known = short[slot + 3];
			if (known >>> 8 === length && short[slot] === first && short[slot + 1] === second && short[slot + 2] === third) {
				total += known & 0xff;
				start = end;
				continue;
			}
			known = short[slot + 7];
			if (
				known >>> 8 === length &&
				short[slot + 4] === first &&
				short[slot + 5] === second &&
				short[slot + 6] === third
			) {
				total += known & 0xff;
				start = end;
				continue;
			}
			const tokens = findToken(table, view, start, length, hash) >= 0 ? 1 : mergePiece(view, start, length).tokens;
			// `copyWithin` takes longer than this.
			short[slot + 4] = short[slot];
			short[slot + 5] = short[slot + 1];
			short[slot + 6] = short[slot + 2];
			short[slot + 7] = short[slot + 3];
			short[slot] = first;
			short[slot + 1] = second;
			short[slot + 2] = third;
			short[slot + 3] = (length << 8) | tokens;
			total += tokens;
			start = end;
		}
		counted += total;
		return start;
	}
	function countLonger(view, start, length) {
		if (length > longestCachedPiece) return countLong(view, start, length);
		const hash = hashBytes(view, start, length);
		const known = findLongPiece(cache, view, start, length, hash);
		if (known !== 0) return known;
		let tokens = 1;
		if (findToken(table, view, start, length, hash) < 0) {
			tokens = length <= longestQuadratic ? mergePiece(view, start, length).tokens : countLong(view, start, length);
		}
		rememberLongPiece(cache, { view, start, length, hash, tokens });
		return tokens;
	}
	function countLong(view, start, length) {
		longPieces ??= createLongPieceCounter(table);
		return longPieces.count(view, start, length);
	}
	function resize(capacity, kept) {
		buffer = createPieceBytes(capacity);
		buffer.bytes.set(kept);
		writer = Buffer.from(buffer.bytes.buffer);
	}
	function count(text) {
		counted = 0;
		let units = 0;
		let filled = 0;
		while (units < text.length) {
			let next = units + Math.floor((buffer.capacity - filled) / 3);
			if (next >= text.length) next = text.length;
			else if ((text.charCodeAt(next - 1) & 0xfc00) === 0xd800) next--;
			const part = units === 0 && next === text.length ? text : text.slice(units, next);
			filled += writer.write(part, filled);
			units = next;
			buffer.bytes[filled] = endOfBytes;
			const done = countPieces(filled, units === text.length ? noLimit : filled);
			const rest = filled - done;
			if (rest > buffer.capacity >> 1) resize(buffer.capacity * 2, buffer.bytes.subarray(done, filled));
			else if (rest > 0) buffer.bytes.copyWithin(0, done, filled);
			filled = rest;
		}
		if (buffer.capacity > bufferBytes) resize(bufferBytes, new Uint8Array(0));
		return counted;
	}
	return { count };
}

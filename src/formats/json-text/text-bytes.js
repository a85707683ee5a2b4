import { isUtf8 } from "node:buffer";
import crypto from "node:crypto";

// Lone surrogates become bytes that UTF-8 forbids (WTF-8, https://simonsapin.github.io/wtf-8/), so nothing is lost.
/** A large text is encoded in pieces, so that memory never holds it twice. */
const pieceLength = 1 << 20;
export function* encodeText(text) {
	for (let start = 0; start < text.length; ) {
		const end = onCharacter(text, start + pieceLength);
		yield encodePiece(text.slice(start, end));
		start = end;
	}
}
/** The index, or its neighbour if it is within a surrogate pair; at most the text's length. */
export function onCharacter(text, index, aside = -1) {
	const [before, after] = [text.charCodeAt(index - 1), text.charCodeAt(index)];
	const splits = (before & 0xfc00) === 0xd800 && (after & 0xfc00) === 0xdc00;
	return Math.min(splits ? index + aside : index, text.length);
}
function encodePiece(piece) {
	if (piece.isWellFormed()) return Buffer.from(piece, "utf8");
	const parts = piece.split(/(\p{Surrogate})/u).map((part) => {
		if (part.length !== 1 || part.isWellFormed()) return Buffer.from(part, "utf8");
		const unit = part.charCodeAt(0);
		return Buffer.from([0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)]);
	});
	return Buffer.concat(parts);
}
export async function* decodeText(pieces) {
	let rest = Buffer.alloc(0);
	for await (const piece of pieces) {
		const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
		const end = endOfWholeSequences(bytes);
		rest = bytes.subarray(end);
		if (end > 0) yield decodeBytes(bytes.subarray(0, end));
	}
	if (rest.length > 0) yield decodeBytes(rest);
}
/** Bytes that hold whole characters. */
export function decodeBytes(bytes) {
	if (isUtf8(bytes)) return bytes.toString("utf8");
	let text = "";
	let start = 0;
	for (let at = bytes.indexOf(0xed); at !== -1; at = bytes.indexOf(0xed, at + 1)) {
		const [second = 0, third = 0] = [bytes[at + 1], bytes[at + 2]];
		if (second < 0xa0 || second > 0xbf || third < 0x80 || third > 0xbf) continue;
		text += bytes.toString("utf8", start, at);
		text += String.fromCharCode(0xd000 | ((second & 0x3f) << 6) | (third & 0x3f));
		start = at + 3;
	}
	return text + bytes.toString("utf8", start);
}
/** The start of an incomplete sequence at the end, else the length. */
function endOfWholeSequences(bytes) {
	for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
		const byte = bytes[bytes.length - back];
		if (byte >= 0x80 && byte < 0xc0) continue;
		const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
		return length > back ? bytes.length - back : bytes.length;
	}
	return bytes.length;
}
/** The longest beginning of a text that fits, without half a character at its end. */
export function firstBytes(text, most) {
	const all = Buffer.byteLength(text, "utf8");
	if (all <= most) return { text, bytes: all };
	const { read, written } = new TextEncoder().encodeInto(text, Buffer.allocUnsafe(Math.max(0, most)));
	return { text: text.slice(0, read), bytes: written };
}
/** Hashes the text as UTF-8, in which each lone surrogate is U+FFFD, and returns hex digits. */
export function sha256(text) {
	return crypto.hash("sha256", text, "hex");
}

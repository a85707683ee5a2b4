import { base64 } from "./generate-text.ts";
import { createRandom } from "./random.ts";

/** A kind of text that is hard to count: `make` answers so many bytes of UTF-8 of it, or a few less. */
export interface PathologicalKind {
	readonly kind: string;
	readonly make: (bytes: number) => string;
}

function repeated(unit: string): (bytes: number) => string {
	const size = Buffer.byteLength(unit);
	// By way of bytes, since `repeat` answers a tree of strings; lone surrogates would not survive that.
	return (bytes) => {
		const text = unit.repeat(Math.floor(bytes / size));
		return unit.isWellFormed() ? Buffer.from(text).toString("utf8") : text.split("").join("");
	};
}

/** Random code units of a range. */
function drawn(first: number, count: number, bytesEach: number): (bytes: number) => string {
	return (bytes) => {
		const random = createRandom(first + count);
		const units = Uint16Array.from(
			{ length: Math.floor(bytes / bytesEach) },
			() => first + Math.floor(random() * count),
		);
		return Buffer.from(units.buffer).toString("utf16le");
	};
}

/** The twenty kinds, none of which has a place where a pattern of words would end a piece early. */
export const pathologicalKinds: readonly PathologicalKind[] = [
	{ kind: "one letter", make: repeated("a") },
	{ kind: "two letters in turn", make: repeated("xq") },
	{ kind: "random letters", make: drawn(97, 26, 1) },
	{ kind: "digits", make: drawn(48, 10, 1) },
	{ kind: "spaces", make: repeated(" ") },
	{ kind: "tabs", make: repeated("\t") },
	{ kind: "newlines", make: repeated("\n") },
	{ kind: "CR LF", make: repeated("\r\n") },
	{ kind: "no-break spaces", make: repeated("\u00a0") },
	{ kind: "one punctuation mark", make: repeated("=") },
	{ kind: "random punctuation", make: drawn(33, 15, 1) },
	{ kind: "slashes and newlines", make: repeated("//\n") },
	{ kind: "emoji", make: repeated("😀") },
	{ kind: "joined emoji", make: repeated("👩‍👩‍👧‍👦") },
	{ kind: "CJK", make: drawn(0x4e00, 20_000, 3) },
	{ kind: "Hangul", make: drawn(0xac00, 11_000, 3) },
	{ kind: "NUL", make: repeated("\0") },
	{ kind: "combining marks", make: drawn(0x300, 0x6f, 2) },
	{ kind: "lone surrogates", make: repeated("\ud800") },
	{ kind: "base64", make: (bytes) => base64(createRandom(64), bytes) },
];

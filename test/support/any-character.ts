import fc from "fast-check";

/** Code points that stand for halves of others. */
const surrogates = { first: 0xd800, count: 0x800 };

/**
 * Any character of Unicode, as the unit "binary" of fast-check, which makes a map of all 1.1 million of them: a second in each
 * process, and more for each garbage collection after it.
 */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - surrogates.count }).map(
	(index) => String.fromCodePoint(index < surrogates.first ? index : index + surrogates.count),
	(character) => {
		const point = typeof character === "string" ? (character.codePointAt(0) ?? -1) : -1;
		if (point === -1 || String.fromCodePoint(point) !== character) throw new Error("Expected one character.");
		return point < surrogates.first ? point : point - surrogates.count;
	},
);

import { describe, expect, it } from "vitest";
import { endOfBytes } from "../../../src/formats/tokens/character-classes.ts";
import { cl100kPieceEnd, noLimit, o200kPieceEnd, undecided } from "../../../src/formats/tokens/pieces.ts";
import { numberOfCases } from "../../support/case-divisor.ts";
import { piecesOf } from "./heap-oracle.ts";
import { alphabets, createDraw, pick } from "./random-text.ts";
import { tableNames } from "./reference.ts";

const ends = { o200k_base: o200kPieceEnd, cl100k_base: cl100kPieceEnd };

function bytesOf(text: string): { bytes: Uint8Array; length: number } {
	const written = Buffer.from(text);
	const bytes = new Uint8Array(written.length + 4).fill(endOfBytes);
	bytes.set(written);
	return { bytes, length: written.length };
}

/** One character of each class and each number of bytes, and the characters that the patterns name. */
const characters = [..."aS'/7 .\n\té\u01c5ʰ漢\u0301²\u00a0\u3000—，😀𠀀\u{1d7d8}"];

/** Texts in which any two and three of them meet, and random ones. */
function* texts(): Generator<string> {
	for (const first of characters) {
		for (const second of characters) {
			yield `${first}${second}`;
			for (const third of characters) yield `${first}${second}${third}`;
		}
	}
	const draw = createDraw(17);
	for (let run = 0; run < numberOfCases(2_000); run++) {
		yield Array.from({ length: 2 + draw(14) }, () => pick(pick(alphabets, draw), draw)).join("");
	}
	for (const stop of ["'re", "'VE", "'ll", "'lx", "'rx", "'xe", "'S", "'\u017f", "'\u0153", "'l", "'r", "'", "''s"]) {
		for (const before of ["", "x", "X", "漢", "漢X", "xX", "7", "!", " ", "\n"]) yield `${before}${stop}`;
		for (const after of ["x", "!", " ", "é"]) yield `x${stop}${after}`;
	}
}

describe.each(tableNames)("the end of a piece of %s", (name) => {
	const endOf = ends[name];

	it("is that of the pattern, for characters of every class side by side", () => {
		const differing: string[] = [];
		for (const text of texts()) {
			const { bytes, length } = bytesOf(text);
			let start = 0;
			for (const piece of piecesOf(name, text)) {
				const end = endOf(bytes, start, noLimit);
				start += Buffer.byteLength(piece);
				if (end !== start) differing.push(JSON.stringify([text, piece, end]));
				if (end !== start) break;
			}
			if (start !== length) differing.push(text);
		}
		expect(differing).toEqual([]);
	});

	it("is undecided, or the same, while the text is not read to its end, and decided soon after it", () => {
		const differing: string[] = [];
		let [early, late] = [0, 0];
		for (const text of texts()) {
			const { bytes: whole } = bytesOf(text);
			const [first = "", second = ""] = piecesOf(name, text);
			const expected = Buffer.byteLength(first);
			// A contraction has up to three bytes, and the end of the next piece can decide that of the first.
			const enough = expected + Buffer.byteLength(second) + 4;
			let limit = 0;
			for (const character of text.toWellFormed()) {
				limit += Buffer.byteLength(character);
				const bytes = whole.slice(0, limit + 4).fill(endOfBytes, limit);
				const end = endOf(bytes, 0, limit);
				if (end !== expected && end !== undecided) differing.push(JSON.stringify([text, limit, end]));
				if (end === undecided && limit >= enough) differing.push(JSON.stringify([text, limit, "late"]));
				if (end === undecided) early++;
				else late++;
			}
		}
		expect(differing).toEqual([]);
		expect(early).toBeGreaterThan(10_000);
		expect(late).toBeGreaterThan(10_000);
	});
});

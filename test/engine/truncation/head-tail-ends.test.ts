import fc from "fast-check";
import { expect, it } from "vitest";
import { cutEnds, endsNeeded, readEnds, truncateHeadTail } from "../../../src/engine/truncation/head-tail.ts";

const markers = ["\n\n[... {omitted_chars} caractères omis ...]\n\n", "…", "", "<{original_chars}-{omitted_chars}>"];
const text = fc
	.array(fc.oneof(fc.constantFrom("😀", "a", "\n", "\uD800", "漢"), fc.string({ maxLength: 6 })), { maxLength: 120 })
	.map((parts) => parts.join(""));

/** A text in pieces of any lengths, surrogate pairs parted too. */
function inPieces(whole: string, lengths: readonly number[]): string[] {
	const pieces: string[] = [];
	for (let start = 0, index = 0; start < whole.length; index += 1) {
		const length = Math.max(1, lengths[index % Math.max(1, lengths.length)] ?? 7);
		pieces.push(whole.slice(start, start + length));
		start += length;
	}
	return pieces;
}

it("cuts a text in pieces like the complete text, character by character", () => {
	let cut = 0;
	fc.assert(
		fc.property(
			text,
			fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
			fc.record({
				maxChars: fc.integer({ min: 0, max: 150 }),
				headChars: fc.integer({ min: 0, max: 90 }),
				tailChars: fc.integer({ min: 0, max: 90 }),
				marker: fc.constantFrom(...markers),
			}),
			(whole, lengths, limits) => {
				const expected = truncateHeadTail(whole, limits);
				fc.pre(expected.truncated);
				cut += 1;
				const reader = readEnds(endsNeeded(limits));
				for (const piece of inPieces(whole, lengths)) reader.push(piece);
				const got = cutEnds(reader.ends(), limits);
				expect(got).toEqual(expected);
			},
		),
		{ numRuns: 600 },
	);
	expect(cut).toBeGreaterThan(300);
});

it("counts characters, and holds only the ends of a long text", () => {
	const reader = readEnds({ headChars: 10, tailChars: 20 });
	const line = `${"x".repeat(99)}\n`;
	for (let index = 0; index < 100_000; index += 1) reader.push(line);
	reader.push("end");
	const ends = reader.ends();
	expect(ends).toEqual({
		head: "x".repeat(10),
		tail: `${"x".repeat(16)}\nend`,
		chars: 10_000_003,
	});
});

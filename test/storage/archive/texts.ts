import fc from "fast-check";
import { anyCharacter } from "../../support/any-character.ts";

const awkward = [
	"",
	"\0",
	"\r\n",
	"\uFEFFtext",
	"a\nb",
	"\uD800",
	"\uDC00",
	"é",
	"漢字",
	"😀",
	"\u00ED\u00A0\u0080",
	"\uFFFD",
];

/** Texts with what is hard to keep: lone surrogates, NUL, byte order marks, every kind of line end, pairs. */
export const anyText: fc.Arbitrary<string> = fc
	.array(
		fc.oneof(
			fc.constantFrom(...awkward),
			fc.string({ unit: anyCharacter, maxLength: 20 }),
			fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 }).map((units) => String.fromCharCode(...units)),
		),
		{ maxLength: 8 },
	)
	.map((parts) => parts.join(""));

/** Pseudo-random words, the same for the same seed, in lines of some 80 characters. */
export function wordyText(length: number, seed: number): string {
	let state = seed + 1;
	const parts: string[] = [];
	for (let chars = 0; chars < length; ) {
		state = (state * 48_271) % 2_147_483_647;
		const word = `${state.toString(36)}${state % 9 === 0 ? "\n" : " "}`;
		parts.push(word);
		chars += word.length;
	}
	return parts.join("").slice(0, length);
}

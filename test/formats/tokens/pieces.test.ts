import { describe, expect, it } from "vitest";
import { endOfBytes } from "../../../src/formats/tokens/character-classes.ts";
import { createAsciiPieces, ended, endedEarlier, unclear } from "../../../src/formats/tokens/pieces.ts";
import { caseDivisor } from "../../support/case-divisor.ts";
import { tableNames } from "./reference.ts";

// The patterns as published; `(?i:...)` is spelled out, which JavaScript does not have everywhere.
const contraction = "(?:'[sStTmMdD\\u017f]|'[rR][eE]|'[vV][eE]|'[lL][lL])";

const capitals = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";

const smallLetters = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";

const before = "[^\\r\\n\\p{L}\\p{N}]?";

const white = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

const patterns = {
	o200k_base: `${before}${capitals}*${smallLetters}+${contraction}?|${before}${capitals}+${smallLetters}*${contraction}?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${white}`,
	cl100k_base: `${contraction}|${before}\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|${white}`,
};

/** The end of the first piece by the table, as the counter asks it; `undefined` where that cannot tell. */
function firstEnd(table: ReturnType<typeof createAsciiPieces>, bytes: Uint8Array): number | undefined {
	let end = 0;
	let state = table[bytes[end] as number] as number;
	while (state < ended) state = table[state | (bytes[++end] as number)] as number;
	if (state >= unclear) return undefined;
	return state === ended ? end : endedEarlier(bytes, state, end);
}

/** Every text of so many of these characters. */
function* textsOf(alphabet: readonly string[], length: number): Generator<string> {
	if (length === 0) yield "";
	else for (const text of textsOf(alphabet, length - 1)) for (const character of alphabet) yield text + character;
}

describe.each(tableNames)("the table of plain pieces of %s", (name) => {
	const pattern = new RegExp(patterns[name], "uy");

	function differences(texts: Iterable<string>): { answered: number; differing: string[] } {
		const differing: string[] = [];
		const table = createAsciiPieces(name);
		let answered = 0;
		for (const text of texts) {
			const bytes = new Uint8Array(text.length + 1).fill(endOfBytes);
			bytes.set(Buffer.from(text, "latin1"));
			const end = firstEnd(table, bytes);
			if (end === undefined) continue;
			answered++;
			pattern.lastIndex = 0;
			if (pattern.exec(text)?.[0].length !== end) differing.push(text);
		}
		return { answered, differing };
	}

	it("splits like the pattern, for every text of five of these characters", () => {
		const { answered, differing } = differences(
			Array.from(textsOf([" ", "\t", "\n", "\r", "a", "S", "l", "'", ".", "/", "7"], 5)).filter(
				(_, index) => index % caseDivisor === 0,
			),
		);
		expect(differing).toEqual([]);
		expect(answered).toBeGreaterThan(60_000 / caseDivisor);
	});

	it("splits like the pattern, for any letters in a contraction and after it", () => {
		const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
		const texts = ascii.flatMap((first) =>
			ascii.flatMap((second) => [`we'${first}${second}.`, ` WE'${first}${second} `]),
		);
		const { answered, differing } = differences(texts);
		expect(differing).toEqual([]);
		expect(answered).toBe(texts.length);
	});

	it("splits by itself whatever two characters a text begins with, but for a contraction without a word", () => {
		const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
		const found = ascii.map((first) => differences(ascii.map((second) => `${first}${second}a x`)));
		expect(ascii.filter((_, index) => found[index]?.answered !== 128)).toEqual(name === "cl100k_base" ? ["'"] : []);
		expect(found.flatMap(({ differing }) => differing)).toEqual([]);
	});

	it("splits like the pattern after white space of any kind and length", () => {
		const runs = [1, 2, 3, 4, 5].flatMap((length) => [...textsOf([" ", "\t", "\v", "\n", "\r"], length)]);
		const { answered, differing } = differences(
			runs.flatMap((run) => ["x", "X", "7", ".", "'", "/", "<"].map((next) => `${run}${next} `)),
		);
		expect(differing).toEqual([]);
		expect(answered).toBe(runs.length * 7);
	});
});

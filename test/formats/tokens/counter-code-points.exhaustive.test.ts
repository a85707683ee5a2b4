import { describe, expect, it } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { tableNames, tiktoken } from "./reference.ts";

/**
 * What a character is decides where pieces end, and only some neighbours make a count of that: a contraction behind a
 * word or a symbol, digits in threes, line ends behind symbols, white space before what follows it.
 */
const contexts: readonly ((character: string) => string)[] = [
	(character) => character,
	(character) => `a${character}b`,
	(character) => `A${character}B`,
	(character) => `  ${character}${character}`,
	(character) => `${character}1`,
	(character) => `1${character}00000`,
	(character) => `\n${character}`,
	(character) => `${character}\n\n`,
	(character) => `${character}'ll`,
	(character) => `a${character}'ll`,
	(character) => `!!${character}'ll`,
	(character) => `x'${character}ll`,
	(character) => `   ${character}!`,
];

const batch = 64;

/** Blocks whose characters are all letters of one kind, so that what holds of one in context holds of its neighbours. */
const uniform: readonly (readonly [number, number])[] = [
	[0x3400, 0x4dc0],
	[0x4e00, 0xa000],
	[0xac00, 0xd780],
	[0x20000, 0x32380],
];
/** In such a block, and where no character is assigned, one batch of so many is compared in context. */
const oneOf = 32;

function isSampledOut(from: number): boolean {
	if ((from / batch) % oneOf === 0) return false;
	if (uniform.some(([start, end]) => from >= start && from + batch <= end)) return true;
	return Array.from({ length: batch }, (_, offset) => String.fromCodePoint(from + offset)).every((character) =>
		/\p{Cn}/u.test(character),
	);
}

describe.each(tableNames)("the %s counter on every code point", (name) => {
	// The older encoding shares the classes of characters: a third of the contexts is enough.
	const compared = name === "o200k_base" ? contexts : contexts.slice(0, 4);

	it(`agrees with tiktoken in ${compared.length} contexts`, async () => {
		const count = await loadCounter(name);
		const differing: string[] = [];
		let characters = 0;

		function compare(texts: readonly string[]): void {
			// A full stop and a line end keep neighbours apart, whatever they are.
			const joined = `. x\n${texts.map((text) => `${text}. x\n`).join("")}`;
			if (count(joined) === tiktoken[name](joined)) return;
			if (texts.length === 1) differing.push(`${texts[0]} ${texts[0]?.codePointAt(0)?.toString(16)}`);
			else {
				compare(texts.slice(0, texts.length / 2));
				compare(texts.slice(texts.length / 2));
			}
		}

		for (const [index, context] of compared.entries()) {
			for (let from = 0; from < 0x110000; from += batch) {
				// Past plane 3 there are but marks and tags in 14, private use and nothing: some of each do in context.
				if (index > 0 && ((from >= 0x40000 && from % 0x10000 >= 0x200) || isSampledOut(from))) continue;
				const own = Array.from({ length: batch }, (_, offset) => String.fromCodePoint(from + offset));
				compare(own.map(context));
				characters += batch;
			}
		}
		expect(differing).toEqual([]);
		expect(characters).toBeGreaterThan(0x110000 + (compared.length - 1) * 0x8000);
	});
});

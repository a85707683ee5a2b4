import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { hasLongRun } from "../../src/tokens/has-long-run.ts";
import { loadCounter } from "../../src/tokens/load-counter.ts";
import { encodingNames, reference } from "./reference.ts";

const casesPerEncoding = 1500;

// U+FEFF is left out: gpt-tokenizer drops it from the bytes it looks up, so it is no reference there.
const alphabets = [
	"abcdefghijklmnopqrstuvwxyz",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	"abcXYZ'sStTreVEllm",
	"0123456789",
	"٠१२३४五",
	" ",
	"\n",
	"\t \u00a0\u3000",
	"\r\n",
	" \t\r\n",
	"/\r\n",
	"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
	"=",
	"_",
	"-",
	"\0\u0001\u001f\u007f\u0085",
	"漢字仮名交じり文的一是不了人我在有他",
	"，。！？「」、",
	"한국어조선말",
	"абвгдЖЗИЙ",
	"αβγδΩΨ",
	"אבגדה",
	"ابتثج",
	"ภาษาไทยั้",
	"हिन्दीभाषा",
	"ǅʰªº",
	"\u0301\u0300\u20dd",
	"eé\u0301",
	"😀😃🎉👩‍💻🇩🇪",
	"𝐀𝐛𠀀𠀁",
	"\ufffd",
].map((alphabet) => [...alphabet]);

const run = (minimum: number, maximum: number): fc.Arbitrary<string> =>
	fc.constantFrom(...alphabets).chain((alphabet) =>
		fc.oneof(
			fc
				.array(fc.constantFrom(...alphabet), { minLength: minimum, maxLength: maximum, size: "max" })
				.map((characters) => characters.join("")),
			fc
				.tuple(fc.constantFrom(...alphabet), fc.integer({ min: minimum, max: maximum }))
				.map(([character, length]) => character.repeat(length)),
		),
	);

const glue = fc.oneof(
	run(0, 12),
	fc.constantFrom(
		"",
		" ",
		"  ",
		"\n",
		"\n\n",
		"\r\n",
		" \n ",
		"\t\t",
		"____",
		" ____",
		"'s",
		"'LL ",
		"//\n",
		" a",
		"1",
	),
	fc.string({ unit: "grapheme", maxLength: 12 }).map((text) => text.replaceAll("\ufeff", "")),
);

const mixture = fc
	.array(fc.oneof({ arbitrary: run(120, 400), weight: 1 }, { arbitrary: glue, weight: 3 }), {
		minLength: 1,
		maxLength: 10,
		size: "max",
	})
	.map((parts) => parts.join(""));

describe.each(encodingNames)("the %s counter against gpt-tokenizer", (encoding) => {
	let guarded = 0;
	let total = 0;

	it("agrees on mixtures of scripts, runs and white space", async () => {
		const count = await loadCounter(encoding);
		fc.assert(
			fc.property(mixture, (text) => {
				total++;
				if (hasLongRun(text, 128)) guarded++;
				expect(count(text)).toBe(reference[encoding](text.toWellFormed()));
			}),
			{ numRuns: casesPerEncoding },
		);
	}, 120_000);

	it("agrees on runs of every kind with every kind beside it", async () => {
		const count = await loadCounter(encoding);
		for (const alphabet of alphabets) {
			for (const neighbour of alphabets) {
				const long = (alphabet[0] ?? "").repeat(300);
				const beside = (neighbour[0] ?? "").repeat(2);
				const text = `${beside}${long}${beside} ${long}\n${beside}`;
				expect(count(text)).toBe(reference[encoding](text));
			}
		}
	}, 120_000);

	afterAll(() => {
		expect(total).toBeGreaterThanOrEqual(casesPerEncoding);
		expect(guarded).toBeGreaterThan(casesPerEncoding / 3);
	});
});

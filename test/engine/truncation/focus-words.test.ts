import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { focusFinder, focusWords } from "../../../src/engine/truncation/focus.ts";
import { numberOfCases } from "../../support/case-divisor.ts";

const entries = (words: ReadonlyMap<string, number>) => [...words].map(([word, weight]) => `${word} ${weight}`);

const found = (focus: string, text: string) => focusFinder(focusWords(focus))(text);

describe("the words of a focus", () => {
	it("weigh by their kind", () => {
		expect(
			entries(
				focusWords(
					"Where is totalPrice computed in src/order-list.ts, HTTPServer load_users E404 v2 x 12 123 the file?",
				),
			),
		).toEqual([
			"totalprice 2",
			"order 2",
			"list 2",
			"ts 2",
			"load_users 2",
			"e404 2",
			"is 1",
			"total 0.5",
			"price 0.5",
			"computed 1",
			"in 1",
			"httpserver 1",
			"http 0.5",
			"server 0.5",
			"load 0.5",
			"404 0.5",
			"v2 2",
			"123 2",
		]);
	});

	it("are those of other writing too", () => {
		expect(entries(focusWords("déjà naïveTest 读取文件 ひらがな 한국"))).toEqual([
			"vetest 2",
			"déjà 1",
			"naïvetest 2",
			"naïve 0.5",
			"读取文件 1",
			"读取 0.5",
			"取文 0.5",
			"文件 0.5",
			"ひらがな 1",
			"ひら 0.5",
			"らが 0.5",
			"がな 0.5",
			"한국 1",
		]);
	});

	it("are at most 400", () => {
		expect([
			focusWords(
				Array.from(
					{ length: 900 },
					(_, index) =>
						`word${"abcdefghij"[index % 10]}${"abcdefghij"[Math.floor(index / 10) % 10]}${"abcdefghij"[Math.floor(index / 100)]}`,
				).join(" "),
			).size,
		]).toEqual([400]);
	});

	it("are read in 4000 characters at both ends", () => {
		expect(entries(focusWords(`first ${"x ".repeat(2_500)} middle ${"x ".repeat(2_500)} last`))).toEqual(["last 1"]);
	});

	it("are read in all of 8000 characters", () => {
		expect(entries(focusWords(`${"x ".repeat(1_990)} middle ${"x ".repeat(1_990)}`))).toEqual(["middle 1"]);
	});

	it("are not split at 8000 characters", () => {
		const around = (behind: number) => `${"x ".repeat(1_998)}middleword${" x".repeat(1_997)}${".".repeat(behind)}`;
		expect([0, 1].map((behind) => entries(focusWords(around(behind))))).toEqual([
			["middleword 1"],
			["midd 1", "eword 1"],
		]);
	});

	it("have parts of three letters or more, and 199 pairs of characters at most", () => {
		expect(entries(focusWords("foo_bcd_ab"))).toEqual(["foo_bcd_ab 2", "foo 0.5", "bcd 0.5"]);
		const characters = String.fromCharCode(...Array.from({ length: 300 }, (_, index) => 0x4e00 + index));
		expect(focusWords(characters).size).toBe(200);
	});

	it("are none in common words", () => {
		expect(entries(focusWords("the and for 1 12 a"))).toEqual([]);
	});
});

describe("words of a focus in a text", () => {
	it("are found once next to other writing", () => {
		expect([found("vu", "déjà—vu vu"), found("ab", "—"), found("ab", "—ab")]).toEqual([["vu"], [], ["ab"]]);
	});

	it("are found whole, in any case, and in parts", () => {
		expect([
			found("total price", "The TotalPrice of it"),
			found("total", "total_price totals subtotal TOTAL"),
			found("totalPrice", "totalPrice price total"),
			found("ab", "ab AB abc a_b"),
			found("déjà", "déjà vu"),
			found("déjà total", "total é"),
			found("x9", "x9 x"),
			found("load", "loadUser _load $load load9"),
			found("", "anything"),
			found("total price", "price total price"),
		]).toEqual([
			["total", "price"],
			["total"],
			["totalprice", "total", "price"],
			["ab"],
			["déjà"],
			["total"],
			["x9"],
			["load"],
			[],
			["price", "total"],
		]);
	});
});

/** The parts of a name, character by character. */
function plainParts(name: string): string[] {
	const isLetter = (one = "") => /[A-Za-z]/.test(one);
	const isUpper = (one = "") => /[A-Z]/.test(one);
	const isLower = (one = "") => /[a-z]/.test(one);
	const isDigit = (one = "") => /\d/.test(one);
	const parts = [""];
	for (const [at, one] of [...name].entries()) {
		const [before, after] = [name[at - 1], name[at + 1]];
		const begins =
			(isUpper(one) && (isLower(before) || isDigit(before) || (isUpper(before) && isLower(after)))) ||
			(isDigit(one) && isLetter(before));
		if (one === "_" || begins) parts.push("");
		if (one !== "_") parts[parts.length - 1] += one;
	}
	return parts.filter(({ length }) => length > 2);
}

it("are found in any text as by a plain search of its words and their parts", () => {
	const piece = fc.constantFrom("abc", "Abc", "ABC", "bca", "Bca", "12", "9", "_", "a", "B", " ", " ", ".", "-");
	const text = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(""));
	const seen = { found: 0, none: 0 };
	fc.assert(
		fc.property(text, text, (given, other) => {
			const focus = focusWords(other);
			const words = (given.match(/\w{2,}/g) ?? []).flatMap((one) => [one, ...plainParts(one)]);
			const expected = [...new Set(words.map((one) => one.toLowerCase()).filter((one) => focus.has(one)))];
			expect(focusFinder(focus)(given)).toEqual(expected);
			seen[expected.length > 0 ? "found" : "none"] += 1;
		}),
		{ numRuns: numberOfCases(3_000) },
	);
	expect(Math.min(seen.found, seen.none)).toBeGreaterThan(numberOfCases(300));
});

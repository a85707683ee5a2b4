import { describe, expect, it } from "vitest";
import { type HeadTailLimits, truncateHeadTail } from "../../../src/engine/truncation/head-tail.ts";
import { textOfLength } from "../../support/sample-text.ts";

const limits = (fields: Partial<HeadTailLimits> = {}): HeadTailLimits => ({
	maxChars: 100,
	headChars: 20,
	tailChars: 10,
	marker: "<{omitted_chars}/{original_chars}>",
	...fields,
});

describe("truncateHeadTail", () => {
	it("keeps a text at the limit and cuts it one character over", () => {
		const text = textOfLength(101);
		expect(truncateHeadTail(text.slice(0, 100), limits())).toEqual({
			text: text.slice(0, 100),
			truncated: false,
			originalChars: 100,
			omittedChars: 0,
			omitted: undefined,
		});
		expect(truncateHeadTail(text, limits())).toEqual({
			text: `${text.slice(0, 20)}<71/101>${text.slice(-10)}`,
			truncated: true,
			originalChars: 101,
			omittedChars: 71,
			omitted: { start: 20, end: 91 },
		});
	});

	it("never splits a surrogate pair, at the head or at the tail", () => {
		for (let offset = 0; offset < 4; offset += 1) {
			const text = "x".repeat(offset) + "🦊".repeat(200) + "y".repeat(offset % 3);
			for (const [headChars, tailChars] of [
				[20, 10],
				[21, 11],
				[20, 11],
				[21, 10],
			] as const) {
				const cut = truncateHeadTail(text, limits({ headChars, tailChars }));
				expect(cut.text.isWellFormed()).toBe(true);
				expect(cut.omitted?.start).toBeGreaterThanOrEqual(headChars - 1);
				expect(text.length - (cut.omitted?.end ?? 0)).toBeGreaterThanOrEqual(tailChars - 1);
			}
		}
	});

	it("counts the omitted characters when a pair makes it keep less", () => {
		const cut = truncateHeadTail("🦊".repeat(100), limits({ headChars: 21, tailChars: 11 }));
		expect(cut.text).toBe(`${"🦊".repeat(10)}<170/200>${"🦊".repeat(5)}`);
		expect(cut.omittedChars).toBe(170);
	});

	it("takes U+FFFF for one character", () => {
		const text = `abc\uffff${"d".repeat(99)}`;
		expect(truncateHeadTail(text, limits({ headChars: 4 })).text.startsWith("abc\uffff<")).toBe(true);
	});

	it("keeps lone surrogates of the input", () => {
		const text = `\ud83d${"a".repeat(200)}\udd8a`;
		expect(truncateHeadTail(text, limits()).text).toMatch(/^\ud83da{19}<172\/202>a{9}\udd8a$/);
	});

	it.each(Array.from({ length: 61 }, (_, maxChars) => maxChars))(
		"limit %i: within the limit, well-formed, once is enough",
		(maxChars) => {
			const text = "a🦊".repeat(70);
			for (const kept of [0, 1, 7, 30, 400]) {
				const tight = limits({ maxChars, headChars: kept, tailChars: kept });
				const cut = truncateHeadTail(text, tight);
				expect(cut.truncated).toBe(true);
				expect(cut.text.length).toBeLessThan(text.length);
				if (2 * kept > maxChars) expect(cut.text.length).toBeLessThanOrEqual(maxChars);
				expect(cut.text.isWellFormed()).toBe(true);
				expect(truncateHeadTail(cut.text, tight).text).toBe(cut.text);
			}
		},
	);

	it("keeps only the head when the limit leaves no room for a marker", () => {
		expect(truncateHeadTail(textOfLength(50), limits({ maxChars: 3 }))).toMatchObject({
			text: "0,1",
			omittedChars: 47,
			omitted: { start: 3, end: 50 },
			leastLimit: 7,
		});
		expect(truncateHeadTail(textOfLength(50), limits({ maxChars: 3, headChars: 3, tailChars: 2 }))).toMatchObject({
			text: "0,1",
			leastLimit: 5,
		});
		expect(truncateHeadTail(textOfLength(5), limits({ maxChars: 3, headChars: 0, tailChars: 0 }))).toMatchObject({
			text: "0,1",
			leastLimit: 5,
		});
		expect(truncateHeadTail("🦊🦊", limits({ maxChars: 1 })).text).toBe("");
		expect(truncateHeadTail("text", limits({ maxChars: 0 })).text).toBe("");
	});

	it("head + tail over the limit: both shrink in proportion to fit", () => {
		const text = textOfLength(1_000);
		const cut = truncateHeadTail(text, limits({ maxChars: 110, headChars: 300, tailChars: 100 }));
		expect(cut.text.length).toBeLessThanOrEqual(110);
		expect(cut.text).toBe(`${text.slice(0, 74)}<901/1000>${text.slice(-25)}`);
	});

	it("head and tail of 0 leave only the marker", () => {
		expect(truncateHeadTail(textOfLength(500), limits({ headChars: 0, tailChars: 0 })).text).toBe("<500/500>");
	});

	it("only a head, or only a tail", () => {
		const text = textOfLength(500);
		expect(truncateHeadTail(text, limits({ tailChars: 0 })).text).toBe(`${text.slice(0, 20)}<480/500>`);
		expect(truncateHeadTail(text, limits({ headChars: 0 })).text).toBe(`<490/500>${text.slice(-10)}`);
	});

	it("half and half just over the limit: never longer than before, with the marker", () => {
		const halves = limits({
			maxChars: 8_000,
			headChars: 4_000,
			tailChars: 4_000,
			marker: "\n\n[... {omitted_chars} caractères omis ...]\n\n",
		});
		for (let length = 8_001; length < 8_060; length += 1) {
			const cut = truncateHeadTail(textOfLength(length), halves);
			expect(cut.text.length).toBeLessThan(length);
			expect(cut.text).toContain(`${cut.omittedChars} caractères omis`);
			expect(cut.text.length).toBe(
				length - cut.omittedChars + `\n\n[... ${cut.omittedChars} caractères omis ...]\n\n`.length,
			);
		}
	});

	it("cutting twice equals cutting once when the result itself exceeds the limit", () => {
		const halves = limits({ maxChars: 100, headChars: 50, tailChars: 50 });
		const once = truncateHeadTail(textOfLength(900), halves);
		expect(once.text.length).toBeGreaterThan(100);
		expect(truncateHeadTail(once.text, halves)).toMatchObject({ text: once.text, truncated: false });
	});

	it("… also when the text contained such a marker before", () => {
		const halves = limits({ maxChars: 100, headChars: 50, tailChars: 50 });
		for (const place of [0, 10, 45, 400, 850, 890]) {
			const plain = textOfLength(900);
			const once = truncateHeadTail(`${plain.slice(0, place)}<5/9>${plain.slice(place)}`, halves);
			expect(truncateHeadTail(once.text, halves).text).toBe(once.text);
		}
	});

	it("a long text that only contains a marker somewhere is cut anyway", () => {
		const text = `${textOfLength(15)}<5/9>${textOfLength(500)}`;
		expect(truncateHeadTail(text, limits()).truncated).toBe(true);
	});

	it("takes a marker's special characters literally", () => {
		const odd = limits({ marker: "$& (.*) [\\d] {omitted_chars}|^$", headChars: 50, tailChars: 50 });
		const once = truncateHeadTail(textOfLength(900), odd);
		expect(once.text).toContain("$& (.*) [\\d] 800|^$");
		expect(truncateHeadTail(once.text, odd).text).toBe(once.text);
	});
});

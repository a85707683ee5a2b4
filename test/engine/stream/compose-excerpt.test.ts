import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { composeExcerpt } from "../../../src/engine/stream/compose-excerpt.ts";
import { excerptNotices } from "../../../src/pipeline/stream/excerpt-notices.ts";
import { readOutput } from "../../../src/pipeline/stream/read-output.ts";

const notices = excerptNotices({ locale: "en" });

function excerpt(text: string, most: number) {
	const reader = readOutput(most);
	reader.push(text);
	return composeExcerpt(reader.source(), notices, (one) => one.length <= most);
}

const line = fc.oneof(
	fc.constantFrom("", "error: bad", "  at x (y.js:1:2)", "FAIL a", "😀😀", "\uD800", "漢字".repeat(30)),
	fc.string({ maxLength: 120 }),
);
const anyLines = fc.array(line, { minLength: 40, maxLength: 120 }).map((lines) => lines.join("\n"));

describe("an excerpt", () => {
	it("is within its limit and shorter than the text, and every line of it is one of the text or a notice", () => {
		let composed = 0;
		fc.assert(
			fc.property(
				anyLines,
				fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 200, max: 1_500 })),
				(text, most) => {
					fc.pre(text.length > most);
					const { text: short } = excerpt(text, most);
					expect(short.length).toBeLessThanOrEqual(most);
					expect(short.length).toBeLessThan(text.length);
					if (text.isWellFormed()) expect(short.isWellFormed()).toBe(true);
					if (!short.startsWith("[Output shortened")) {
						expect(text.startsWith(short.replace(/^\[shortened: \d+ characters left out\]\n?/, ""))).toBe(true);
						return;
					}
					composed += 1;
					for (const shown of short.split("\n")) {
						const bare = shown.replace(/^\d+: /, "");
						const isNotice = /^\[(?:Output shortened|\.\.\. )/.test(shown);
						if (!isNotice && !text.includes(shown)) expect(text.includes(bare)).toBe(true);
					}
				},
			),
			{ numRuns: 400 },
		);
		expect(composed).toBeGreaterThan(60);
	});

	it("keeps a failure in the middle of 20 000 lines, with its number", () => {
		const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index + 1} is fine`);
		lines[11_999] = "FATAL: the disk is on fire";
		const { text } = excerpt(lines.join("\n"), 2_000);
		expect(text).toContain("\n12000: FATAL: the disk is on fire\n12001: line 12001 is fine\n");
		expect(text).toContain("line 1 is fine\n");
		expect(text.endsWith("\nline 20000 is fine")).toBe(true);
		expect(text.length).toBeGreaterThan(1_800);
	});

	it("says which lines are left out, and no others are", () => {
		const lines = Array.from({ length: 500 }, (_, index) => `line ${index + 1}`);
		const { text } = excerpt(`${lines.join("\n")}\n`, 1_000);
		const [, first = "", last = ""] = /\[\.\.\. lines (\d+)-(\d+) left out \.\.\.\]/.exec(text) ?? [];
		const shown = lines.filter((one) => text.split("\n").includes(one));
		const isLeftOut = (number: number) => number >= Number(first) && number <= Number(last);
		expect(shown).toEqual(lines.filter((_, index) => !isLeftOut(index + 1)));
		expect(text).toContain(`${shown.length} of 500 lines`);
		expect(shown.length).toBeGreaterThan(80);
	});

	it("of one line without an end, shows its beginning and its end, in characters", () => {
		const text = Array.from({ length: 20_000 }, (_, index) => `${index},`).join("");
		const { text: short } = excerpt(text, 600);
		const [, start, end] = /\[\.\.\. characters (\d+)-(\d+) left out \.\.\.\]/.exec(short) ?? [];
		const [, head, tail] = /^[^\n]*\n([^\n]*)\n[^\n]*\n(.*)$/s.exec(short) ?? [];
		expect(head).toBe(text.slice(0, Number(start)));
		expect(tail).toBe(text.slice(Number(end)));
		expect(short.length).toBeGreaterThan(560);
	});

	it("is the beginning under a short notice where there is room for no other", () => {
		expect(excerpt("0123456789".repeat(50), 45).text).toBe("[shortened: 492 characters left out]\n01234567");
		expect(excerpt("0123456789".repeat(50), 36).text).toBe("[shortened: 500 characters left out]");
	});

	it("is the bare beginning where there is no room for a notice", () => {
		expect(excerpt("0123456789".repeat(50), 20).text).toBe("01234567890123456789");
		expect(excerpt("😀".repeat(50), 5).text).toBe("😀😀");
		expect(excerpt("abc", 0).text).toBe("");
		const noticesAlone = "[Output shortened: 0 of 1 lines, 500 characters in all.]\n[... lines 1-1 left out ...]\n"
			.length;
		expect(excerpt("0123456789".repeat(50), noticesAlone + 2).text).toHaveLength(noticesAlone + 2);
	});
});

import { describe, expect, it } from "vitest";
import {
	addRange,
	assembleUnits,
	type CharRange,
	type Draft,
	fitBudget,
	lineStarts,
	omittedRanges,
	rangesBeforeStripping,
	shortNotice,
} from "../../../src/engine/truncation/draft.ts";
import { textUnits } from "../../../src/engine/truncation/lines.ts";
import { noticesOf } from "../../support/notices-of.ts";
import { roughCount } from "../../support/rough-count.ts";

const range = (start: number, end: number): CharRange => ({ start, end });

describe("addRange", () => {
	it("joins adjacent ranges and leaves out empty ones", () => {
		const ranges: CharRange[] = [];
		for (const [start, end] of [
			[3, 3],
			[0, 2],
			[2, 5],
			[7, 9],
			[9, 8],
			[9, 9],
		] as const)
			addRange(ranges, start, end);
		expect(ranges).toEqual([range(0, 5), range(7, 9)]);
	});
});

describe("lineStarts", () => {
	it.each([
		["", [0, 0]],
		["a", [0, 1]],
		["a\nb", [0, 2, 3]],
		["a\n\nb\n", [0, 2, 3, 5, 5]],
		["\n", [0, 1, 1]],
	])("%j", (text, starts) => {
		expect([...lineStarts(text)]).toEqual(starts);
	});
});

describe("omittedRanges", () => {
	const text = "one\ntwo\nthree\r\nfour\n";
	const omitted = (...kept: readonly (readonly [number, number])[]) => {
		const found = omittedRanges(
			text,
			kept.map(([start, end]) => range(start, end)),
			lineStarts(text),
		);
		const spans = found.omittedLines.map(({ from, to }) => `${from}–${to}`).join(" ");
		return [found.omitted.map(({ start, end }) => [start, end]), spans, found.omittedCount];
	};

	it("leaves out single line ends between kept ranges", () => {
		expect(omitted([0, 20])).toEqual([[], "", 0]);
		expect(omitted([0, 3], [4, 7], [8, 13], [15, 19])).toEqual([[], "", 0]);
		expect(omitted()).toEqual([[[0, 20]], "1–4", 4]);
	});

	it("names lines, counting the line feed to the line before", () => {
		expect(omitted([0, 3])).toEqual([[[3, 20]], "2–4", 3]);
		expect(omitted([0, 4])).toEqual([[[4, 20]], "2–4", 3]);
		expect(omitted([8, 13])).toEqual([
			[
				[0, 8],
				[13, 20],
			],
			"1–4",
			4,
		]);
		expect(omitted([0, 3], [8, 20])).toEqual([[[3, 8]], "2–2", 1]);
		expect(omitted([0, 3], [5, 6], [8, 20])).toEqual([
			[
				[3, 5],
				[6, 8],
			],
			"2–2",
			1,
		]);
		expect(omitted([4, 7], [15, 19])).toEqual([
			[
				[0, 4],
				[7, 15],
			],
			"1–1 3–3",
			2,
		]);
	});
});

describe("rangesBeforeStripping", () => {
	const before = "a\n[1mbb[0m\nccc\n[2md";
	const after = "a\nbb\nccc\nd";
	const moved = (...ranges: readonly (readonly [number, number])[]) =>
		rangesBeforeStripping(
			ranges.map(([start, end]) => range(start, end)),
			lineStarts(before),
			lineStarts(after),
		).map(({ start, end }) => before.slice(start, end));

	it("takes complete lines where something was removed", () => {
		expect(moved([0, 1])).toEqual(["a"]);
		expect(moved([2, 3])).toEqual(["[1mbb[0m"]);
		expect(moved([2, 4])).toEqual(["[1mbb[0m"]);
		expect(moved([2, 5])).toEqual(["[1mbb[0m\n"]);
		expect(moved([6, 7])).toEqual(["c"]);
		expect(moved([5, 10])).toEqual(["ccc\n[2md"]);
		expect(moved([9, 10])).toEqual(["[2md"]);
		expect(moved([0, 10])).toEqual([before]);
	});

	it("ends with the text in its last line", () => {
		const [whole, stripped] = ["a\n\u001b[1mbc\u001b[0m", "a\nbc"].map(lineStarts) as [Uint32Array, Uint32Array];
		expect(rangesBeforeStripping([range(2, 3)], whole, stripped)).toEqual([range(2, 12)]);
	});

	it("joins adjacent ranges and leaves out empty ones", () => {
		const starts = lineStarts("a\nb\nc");
		expect(rangesBeforeStripping([range(0, 2), range(2, 4)], starts, starts)).toEqual([range(0, 4)]);
		expect(rangesBeforeStripping([range(2, 2)], starts, starts)).toEqual([]);
	});

	it("joins ranges of one line", () => {
		expect(moved([2, 3], [3, 4])).toEqual(["[1mbb[0m"]);
		expect(moved([0, 1], [6, 7])).toEqual(["a", "c"]);
		expect(moved([5, 6], [7, 8])).toEqual(["c", "c"]);
		expect(moved([2, 3], [3, 8])).toEqual([before.slice(2, before.indexOf("ccc") + 3)]);
	});
});

describe("fitBudget", () => {
	const keep = (size: number): Draft => ({ text: "x".repeat(size), kept: [], notices: [] });

	it("asks for the characters once, and for less than there are", () => {
		const asked: number[] = [];
		const shorten = (size: number) => {
			asked.push(size);
			return keep(size);
		};
		fitBudget("x".repeat(100), shorten, { unit: "chars", max: 40 });
		fitBudget("x".repeat(100), shorten, { unit: "chars", max: 400 });
		expect(asked).toEqual([40, 99]);
	});

	it("comes close to a number of tokens, within it", () => {
		for (const max of [1, 5, 20, 24]) {
			const { text } = fitBudget("x".repeat(100), keep, { unit: "tokens", max, countTokens: roughCount });
			expect(roughCount(text)).toBe(max);
		}
		const dear = (text: string) => (text.length > 30 ? 1_000 : 1);
		expect(
			fitBudget("x".repeat(10_000), keep, { unit: "tokens", max: 2, countTokens: dear }).text.length,
		).toBeGreaterThan(0);
		expect(
			fitBudget("x".repeat(100), keep, { unit: "tokens", max: 0, countTokens: (one) => one.length + 1 }).text,
		).toBe("");
	});

	it("stays within a number of tokens that hardly any size has", () => {
		const text = "x".repeat(4_000);
		const dear = (one: string) => (one === text ? 2_000 : one.length > 3 ? 1e9 : 1_000);
		expect(fitBudget(text, keep, { unit: "tokens", max: 1_000, countTokens: dear }).text).toBe("xxx");
		const dearer = (one: string) => (one === text ? 2_000 : 1e9);
		expect(fitBudget(text, keep, { unit: "tokens", max: 1_000, countTokens: dearer }).text).toBe("");
	});

	it("estimates a stream by a part of it, in at most nine tries", () => {
		let tries = 0;
		const stubborn = (size: number) => {
			tries += 1;
			return keep(Math.min(size, 10));
		};
		const budget = { unit: "tokens", max: 50, countTokens: roughCount } as const;
		expect(fitBudget({ chars: 100_000, some: "x".repeat(400) }, stubborn, budget).text).toBe("x".repeat(10));
		expect(tries).toBe(9);
	});
});

describe("assembleUnits", () => {
	const wording = {
		...noticesOf("en"),
		gap: "<{from}-{to}>",
		folded: "<{from}-{to} alike>",
		inside: "<{omitted_chars}>",
	};
	const marks = { wording, ref: undefined };
	const lines = textUnits("aa\nbb\ncc\ndd\nee");
	// Lines of one, three and one units.
	const states = textUnits("aa\nb\rcc\rddd\nee");
	const joined = (units: typeof lines, kept: readonly number[], isLike?: () => boolean) =>
		assembleUnits({ units, kept, marks, notice: "none", isLike }).text.replaceAll("\r", "_");

	it("joins kept lines, and marks the gaps between them", () => {
		expect(joined(lines, [0, 1, 2, 3, 4])).toBe("aa\nbb\ncc\ndd\nee");
		expect(joined(lines, [0, 4])).toBe("aa\n<2-4>\nee");
		expect(joined(lines, [2])).toBe("<1-2>\ncc\n<4-5>");
		expect(joined(lines, [1, 3])).toBe("<1-1>\nbb\n<3-3>\ndd\n<5-5>");
	});

	it("marks lines like the one before them, not those at the top", () => {
		expect(joined(lines, [0, 4], () => true)).toBe("aa\n<2-4 alike>\nee");
		expect(joined(lines, [2], () => true)).toBe("<1-2>\ncc\n<4-5 alike>");
		expect(joined(lines, [2], () => false)).toBe("<1-2>\ncc\n<4-5>");
	});

	it("marks the characters that are omitted inside a line", () => {
		expect(joined(states, [0, 1, 2, 3, 4])).toBe("aa\nb_cc_ddd\nee");
		expect(joined(states, [0, 1, 3, 4])).toBe("aa\nb_<3>ddd\nee");
		expect(joined(states, [0, 3, 4])).toBe("aa\n<5>ddd\nee");
		expect(joined(states, [0, 1, 4])).toBe("aa\nb_<6>\nee");
		expect(joined(states, [1])).toBe("<1-1>\nb_<6>\n<3-3>");
		expect(joined(states, [2])).toBe("<1-1>\n<2>cc_<3>\n<3-3>");
		expect(joined(states, [0, 1, 2, 3])).toBe("aa\nb_cc_ddd\n<3-3>");
	});

	it("has a notice with the numbers of what is omitted, the reference, and the kept ranges", () => {
		const draft = assembleUnits({ units: states, kept: [0, 3], marks: { wording, ref: "abc" }, notice: "full" });
		expect(draft.text).toBe(`${draft.notices[0]}\naa\n<5>ddd\n<3-3>`);
		expect(draft.notices[0]).toContain("2 of 3 lines left out (9 of 14 characters), ref=abc]");
		expect(draft.notices.slice(1)).toEqual(["<5>", "<3-3>"]);
		expect(draft.kept).toEqual([range(0, 2), range(8, 11)]);
		const short = assembleUnits({ units: states, kept: [0, 1, 2], marks, notice: "short" });
		expect(short.text).toBe("[shortened: 7 characters left out]\naa\nb\rcc\r<3>\n<3-3>");
		// The line feed between two kept lines belongs to the range.
		expect(short.kept).toEqual([range(0, 8)]);
	});
});

describe("marks", () => {
	const wording = noticesOf("en");

	it("name the reference in little room", () => {
		expect(shortNotice({ wording, ref: undefined })).toBe("[shortened: {omitted_chars} characters left out]");
		expect(shortNotice({ wording, ref: "abc" })).toBe("[shortened: {omitted_chars} characters left out, ref=abc]");
	});
});

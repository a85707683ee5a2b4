import { describe, expect, it } from "vitest";
import type { FirstLine } from "../../src/truncation/failures.ts";
import { textUnits, type Units } from "../../src/truncation/lines.ts";
import { selectUnits } from "../../src/truncation/select.ts";
import { noticesOf } from "../support/notices-of.ts";

/** An empty notice takes one character, a mark two, a line one more than its length. */
const wording = {
	...noticesOf("en"),
	notice: "",
	archived: "",
	short: "<{omitted_chars}>",
	shortArchived: "<{omitted_chars}, {ref}>",
	gap: "…",
	folded: "≈",
	inside: ".",
};
const gapCost = 2;

interface Choice {
	readonly units: Units;
	readonly priority?: readonly number[];
	readonly head?: number | ((maxChars: number) => number);
	readonly tail?: number;
	readonly first?: readonly FirstLine[];
	readonly ref?: string;
	readonly given?: Partial<typeof wording>;
}

const select = ({ units, priority = [], head = 0, tail = 0, first, ref, given }: Choice) =>
	selectUnits({
		units,
		priority: Float32Array.from({ length: units.count }, (_, unit) => priority[unit] ?? 0),
		headShare: head,
		tailShare: tail,
		first,
		marks: { wording: { ...wording, ...given }, ref },
	});

/** Lines of given lengths: the first of the letter a, the next of b. */
const linesOf = (lengths: readonly number[]) =>
	textUnits(lengths.map((length, index) => String.fromCharCode(97 + index).repeat(length)).join("\n"));

/** The letters of the lines in an excerpt of so much room, with a dot for each gap. */
const lettersOf = (choice: Choice, room: number) =>
	select(choice)(room + 1)
		.text.split("\n")
		.map((line) => (line === "…" ? "." : line[0]))
		.join("");

const failure = (match: number, given: Partial<FirstLine> = {}): FirstLine => ({
	kind: "failure",
	share: 0.5,
	from: match,
	to: match,
	match,
	...given,
});

interface Subset {
	readonly units: readonly number[];
	readonly used: number;
	readonly worth: number;
}

/** All choices among some units that contain the kept ones. */
function subsetsOf(units: Units, among: readonly number[], priority: readonly number[], kept: readonly number[] = []) {
	return Array.from({ length: 2 ** among.length }, (_, bits): Subset => {
		const chosen = among.filter((_, index) => (bits >> index) & 1);
		const gaps = [...chosen, units.count].filter((unit, place) => unit > (chosen[place - 1] ?? -1) + 1).length;
		const chars = chosen.reduce(
			(sum, unit) => sum + (units.end[unit] as number) - (units.start[unit] as number) + 1,
			0,
		);
		const worth = chosen.reduce((sum, unit) => sum + (kept.includes(unit) ? 0 : (priority[unit] ?? 0)), 0);
		return { units: chosen, used: chars + gaps * gapCost, worth };
	}).filter((one) => kept.every((unit) => one.units.includes(unit)));
}

/** The choices that are best at some price for a character. */
function bestAtPrices(subsets: readonly Subset[]): Subset[] {
	const found = new Map<string, Subset>();
	for (let step = 0; step < 60; step += 1) {
		const price = 1e-3 * 1.18 ** step;
		const value = (one: Subset) => one.worth - price * one.used;
		const best = subsets.reduce((most, one) => (value(one) > value(most) ? one : most));
		if (best.units.length > 0) found.set(best.units.join(" "), best);
	}
	return [...found.values()];
}

const unitsIn = (units: Units, text: string) =>
	Array.from({ length: units.count }, (_, unit) => unit).filter((unit) =>
		text.split("\n").includes(units.slice(units.start[unit] as number, units.end[unit] as number)),
	);

describe("the units that are worth most", () => {
	const lengths = [5, 9, 6, 12, 4, 7, 5, 8, 6];
	const worths = [
		[1, 0, 5, 0, 0, 4, 3, 0, 0],
		[3, 1, 4, 1, 5, 9, 2, 6, 5],
		[0.2, 0.9, 0.1, 0.8, 0.3, 0.7, 0.4, 0.6, 0.5],
		[9, 0, 0, 0.1, 0, 0, 0, 0, 8],
		[0, 0, 0, 0, 7, 0, 0, 0, 0],
		[2, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8],
	];

	it.each(worths.map((priority) => ({ priority })))("are kept in exactly their room: $priority", ({ priority }) => {
		const units = linesOf(lengths);
		const best = bestAtPrices(subsetsOf(units, [...lengths.keys()], priority)).filter(
			({ units: chosen }) => chosen.length < lengths.length,
		);
		expect(best.length).toBeGreaterThan(0);
		for (const { units: chosen, used } of best)
			expect(unitsIn(units, select({ units, priority })(used + 1).text), `${used}`).toEqual(chosen);
	});

	it.each(worths.map((priority) => ({ priority })))("are kept with both ends: $priority", ({ priority }) => {
		const units = linesOf(lengths);
		for (const { used, units: chosen } of bestAtPrices(subsetsOf(units, [...lengths.keys()], priority, [0, 8]))) {
			// The shares have room for the first and the last line only.
			if (used < 30 || chosen.length === lengths.length) continue;
			const { text } = select({ units, priority, head: 1e-9, tail: 1e-9 })(used + 1);
			expect(unitsIn(units, text), `${used}`).toEqual(chosen);
		}
	});

	it.each(worths.map((priority) => ({ priority })))("are those in memory: $priority", ({ priority }) => {
		const whole = linesOf(lengths);
		for (const missing of [2, 0, 8]) {
			const units = { ...whole, isHeld: (unit: number) => unit % 5 !== missing % 5 || unit < missing };
			const held = [...lengths.keys()].filter(units.isHeld);
			for (const { units: chosen, used } of bestAtPrices(subsetsOf(units, held, priority)))
				expect(unitsIn(units, select({ units, priority })(used + 1).text), `${used}`).toEqual(chosen);
		}
	});

	it("are found among very many", () => {
		const worth = new Map([
			[10, 3],
			[200, 5],
			[201, 5],
			[450, 8],
			[700, 1],
			[990, 2],
		]);
		const text = Array.from({ length: 1_000 }, (_, index) => `line ${index}`).join("\n");
		const units = textUnits(text);
		const priority = Array.from({ length: 1_000 }, (_, unit) => worth.get(unit) ?? 0);
		for (const { units: chosen, used } of bestAtPrices(subsetsOf(units, [...worth.keys()], priority))) {
			expect(unitsIn(units, select({ units, priority })(used + 1).text), `${used}`).toEqual(chosen);
			const low = priority.map((one) => one || 1e-4);
			expect(unitsIn(units, select({ units, priority: low })(used + 1).text), `${used}`).toEqual(chosen);
		}
	});

	it("are chosen next to a failure of no worth among very many", () => {
		const units = textUnits(Array.from({ length: 2_000 }, (_, unit) => (unit === 1_500 ? "F" : "x")).join("\n"));
		const priority = Array.from({ length: 2_000 }, (_, unit) => (unit === 1_500 ? 0 : 1 + (unit % 7)));
		expect(lettersOf({ units, priority, first: [failure(1_500)] }, 40)).toBe(".x.x.x.x.x.x.x.x.x.F.");
	});

	it("are the first of very many that are equal", () => {
		const units = textUnits(Array.from({ length: 900 }, () => "abcd").join("\n"));
		const priority = Array.from({ length: 900 }, () => 1);
		expect(select({ units, priority, head: 1e-9 })(101).kept).toEqual([{ start: 0, end: 99 }]);
	});

	it("are not units that are worth nothing", () => {
		expect(lettersOf({ units: linesOf(lengths), priority: [0, 0, 1] }, 100)).toBe(".c.");
	});
});

describe("the lines that come first", () => {
	const units = linesOf([4, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
	const likely = (unit: number, share: number) => failure(unit, { kind: "likely", share });

	it("are the first failure in all the room, if it fits with its gaps", () => {
		// A line takes five characters, two gaps four; line feeds inside a failure count twice.
		expect(lettersOf({ units, first: [failure(5, { share: 0.1 })] }, 9)).toBe(".f.");
		const around = [failure(5, { share: 0.1, from: 4, to: 6 })];
		expect([21, 20].map((room) => lettersOf({ units, first: around }, room))).toEqual([".efg.", ".f."]);
	});

	it("are others up to the share of their kind", () => {
		const lettersIn = (share: number, kind: FirstLine["kind"]) =>
			lettersOf({ units, head: 1e-9, first: [likely(2, share), failure(7, { kind, share })] }, 28);
		// Each takes seven characters with its gap.
		expect([0.25, 0.24, 0.5, 0.49].map((share) => lettersIn(share, "likely"))).toEqual([
			...["a.c.", "a.", "a.c.h.", "a.c."],
		]);
		expect(lettersIn(0.25, "odd")).toBe("a.c.h.");
		// One behind the other takes no gap.
		const joined = [2, 3, 4].map((unit) => likely(unit, 0.64));
		expect(lettersOf({ units, first: joined }, 30)).toBe(".cde.");
	});

	it("are not more than the room", () => {
		const first = [failure(2), failure(7, { share: 1 })];
		expect([16, 15].map((room) => lettersOf({ units, first }, room))).toEqual([".c.h.", ".c."]);
	});

	it("are not looked for after 40 in a row that did not fit", () => {
		const many = linesOf([4, 4, ...Array.from({ length: 40 }, () => 30), 4, 4]);
		const long = Array.from({ length: 40 }, (_, index) => likely(index + 2, 0.5));
		const isKept = (...first: readonly FirstLine[]) => {
			const { kept } = select({ units: many, first, head: 1e-9 })(60);
			return kept.some(({ end }) => end === many.chars);
		};
		expect(isKept(...long, likely(43, 0.5))).toBe(false);
		expect(isKept(...long.slice(1), likely(43, 0.5))).toBe(true);
		// One that fits begins the count anew, and another kind has its own.
		expect(isKept(...long.slice(1), likely(1, 0.5), ...long.slice(1), likely(43, 0.5))).toBe(true);
		expect(isKept(...long, failure(43, { kind: "odd", share: 0.5 }))).toBe(true);
	});

	it("are the pieces around the match of a failure that is too long, up to half its share", () => {
		const states = textUnits("aaa\rbbb\rccc\rddd\reee\rfff\rggg\rhhh\riii\rjjj");
		const shown = (share: number, given: Partial<FirstLine> = {}) =>
			select({ units: states, first: [failure(5, { from: 0, to: 9, share, ...given })] })(31)
				.text.replace(/[^a-j]/g, "")
				.replace(/(.)\1+/g, "$1");
		expect([0, 1, 1.13, 1.14, 1.46, 1.47, 3].map((share) => shown(share))).toEqual([
			...["f", "fg", "fg", "efg", "efg", "efgh", "defgh"],
		]);
		const wholeIn = (room: number) => lettersOf({ units, first: [failure(2, { from: 0, to: 2, share: 9 })] }, room);
		expect([16, 17].map(wholeIn)).toEqual([".bc.", "abc."]);
		expect([shown(3, { from: 4 }), shown(3, { to: 6 }), shown(3, { from: 5 }), shown(3, { to: 5 })]).toEqual([
			...["efghi", "cdefg", "fghij", "bcdef"],
		]);
	});
});

describe("both ends", () => {
	const units = linesOf([4, 4, 4, 4, 4, 4, 4, 4, 4, 4]);

	it("are kept up to their shares of the room", () => {
		expect(lettersOf({ units, head: 0.5, tail: 0.5 }, 30)).toBe("abc.ij");
		expect(lettersOf({ units, head: 0.5, tail: 0.5 }, 29)).toBe("ab.ij");
		expect(lettersOf({ units, head: 0.5 }, 30)).toBe("abc.");
		expect(lettersOf({ units, tail: 0.5 }, 30)).toBe(".hij");
		expect(lettersOf({ units, head: (maxChars) => (maxChars === 31 ? 0.5 : 0) }, 30)).toBe("abc.");
		expect(lettersOf({ units, head: 1, tail: 1 }, 22)).toBe("abcd.");
		expect(lettersOf({ units, head: 0.5, tail: 0.5, first: [failure(5)] }, 30)).toBe("ab.f.ij");
	});

	it("are one line in half of the room at the start, and in a quarter at the end", () => {
		const startIn = (length: number, head: number) =>
			lettersOf({ units: linesOf([length, 30, 4, 30]), head, priority: [0, 0, 1] }, 30);
		expect([startIn(14, 0.01), startIn(15, 0.01), startIn(14, 0)]).toEqual(["a.c.", ".c.", ".c."]);
		const endIn = (length: number, tail: number) =>
			lettersOf({ units: linesOf([30, 4, 30, length]), tail, priority: [0, 1] }, 30);
		expect([endIn(6, 0.01), endIn(7, 0.01), endIn(6, 0)]).toEqual([".b.d", ".b.", ".b."]);
	});
});

describe("small gaps", () => {
	const lettersWith = (gap: string, between: readonly number[]) => {
		// Of so many lines, those that are worth nothing are no candidates.
		const lines = [9, ...between, 9, ...Array.from({ length: 600 }, () => 40)].map((length) => "x".repeat(length));
		const units = textUnits(lines.join("\n"));
		const priority = [1, ...between.map(() => 0), 1];
		const { kept } = select({ units, priority, given: { gap, folded: gap } })(70);
		return kept.length;
	};

	it("are closed if the lines in them are no longer than a mark", () => {
		expect([5, 6].map((length) => lettersWith("[---]", [length]))).toEqual([1, 2]);
		expect([lettersWith("[---]", [2, 2]), lettersWith("[---]", [2, 3])]).toEqual([1, 2]);
	});

	it("are closed over three lines, not over four", () => {
		expect([lettersWith("[---]", [0, 0, 0]), lettersWith("[---]", [0, 0, 0, 0])]).toEqual([1, 2]);
	});
});

describe("without room for a unit with its marks", () => {
	const bare = (text: string, maxChars: number, given: Partial<Choice> = {}) => {
		const { text: shown, kept, notices } = select({ units: textUnits(text), ...given })(maxChars);
		return [shown, kept.map(({ start, end }) => `${start}-${end}`).join(" "), notices.length];
	};
	const text = `\n \n  abcdefghijklmnopqrstuvwxyz\n${"z".repeat(67)}`;

	it("is the first line that is not blank cut, below a notice if it fits with a character", () => {
		expect(bare(text, 7)).toEqual(["<97>\nab", "5-7", 1]);
		expect(bare(text, 6)).toEqual(["<98>\na", "5-6", 1]);
		expect(bare(text, 5)).toEqual(["abcde", "5-10", 0]);
		expect(bare(text, 1)).toEqual(["a", "5-6", 0]);
		expect(bare(text, 0)).toEqual(["", "", 0]);
		expect(bare("ab\ncdefgh", 4)).toEqual(["ab\nc", "0-4", 0]);
		expect(bare(" \n  \n ", 1)).toEqual([" ", "5-6", 0]);
	});

	it("has a notice without the reference if there is no room for both", () => {
		expect(bare(text, 11, { ref: "abc" })).toEqual(["<98, abc>\na", "5-6", 1]);
		expect(bare(text, 10, { ref: "abc" })).toEqual(["<94>\nabcde", "5-10", 1]);
	});

	it("is the match of the first failure", () => {
		expect(bare(text, 5, { first: [failure(3)] })).toEqual(["zzzzz", "32-37", 0]);
		expect(bare(text, 5, { first: [failure(3, { kind: "likely" })] })).toEqual(["abcde", "5-10", 0]);
	});

	it("is the notice or an ellipsis if not even a character fits", () => {
		const foxes = "🦊".repeat(5);
		expect(bare(foxes, 6)).toEqual(["<10>", "", 1]);
		expect(bare(foxes, 1)).toEqual(["…", "", 0]);
		expect(bare(foxes, 0)).toEqual(["", "", 0]);
	});
});

describe("the notice", () => {
	const units = linesOf([9, 9, 9]);
	const topOf = (maxChars: number) =>
		select({ units, priority: [1], given: { notice: "[full]", short: "[s]" } })(maxChars).text.split("\n")[0];

	it("is in a third of the room, or a short one in half of it", () => {
		// With its line feed, the one takes seven characters and the other four.
		expect([21, 20].map(topOf)).toEqual(["[full]", "[s]"]);
		const short = (maxChars: number) =>
			select({ units: linesOf([1, 9]), priority: [1], given: { notice: "x".repeat(99), short: "[sss]" } })(maxChars)
				.text;
		expect([12, 11].map(short)).toEqual(["[sss]\na\n…", "a\n…"]);
	});
});

describe("states of a line", () => {
	const states = textUnits("aaa\rbbb\rccc\rddd\reee\rfff\rggg\rhhh\riii\rjjj");
	const shown = (maxChars: number, inside: string) =>
		select({ units: states, priority: [0, 1, 0, 2, 0, 1, 0, 1.5, 0, 1], given: { inside } })(maxChars).text;

	it("are fewer if the marks inside their line take more room than those of most gaps", () => {
		expect(shown(31, ".").replaceAll("\r", "_")).toBe(".bbb_.ddd_.fff_.hhh_.jjj");
		// The first choice has as many states, whose marks of nine characters do not fit.
		expect(shown(45, "[inside ]").replaceAll("\r", "_")).toBe("[inside ]ddd_[inside ]jjj");
	});
});

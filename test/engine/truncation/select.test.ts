import { describe, expect, it } from "vitest";
import type { FirstLine } from "../../../src/engine/truncation/failures.ts";
import { textUnits, type Units } from "../../../src/engine/truncation/lines.ts";
import { selectUnits } from "../../../src/engine/truncation/select.ts";
import { noticesOf } from "../../support/notices-of.ts";

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

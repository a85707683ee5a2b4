import { fillTemplate } from "../masking/template.ts";
import type { RepeatWordings } from "../policy/wordings.ts";
import { isMention } from "./failure-signs.ts";
import { byForm, failureSigns } from "./failures.ts";
import { countOf } from "./head-tail.ts";
import { textUnits, unitText } from "./lines.ts";
import {
	createLines,
	grown,
	isBinary,
	isTelling,
	type Lines,
	noNumber,
	readLines,
	windowHash,
	windowLines,
	withNumberShifted,
} from "./repeat-lines.ts";
import { isWritten } from "./shape.ts";

/** Lines of a text that stand in an earlier one. Lines count from 1, both ends included. */
export interface Repeat {
	readonly from: number;
	readonly to: number;
	/** The number that `add` returned for the earlier text. */
	readonly source: number;
	/** The line of the earlier text that `from` repeats. */
	readonly sourceFrom: number;
	/** How much higher the number is that stands before each line; 0 where the lines are the same to the character. */
	readonly shift: number;
}

/** Shorter runs stay. Numbers before lines are not counted. */
export const leastRun = { lines: 6, chars: 400 } as const;

/** The latest places of the same window that are compared. */
const mostPlaces = 8;
/** Lines that are compared for each line of a text, all in all. */
const mostComparisons = 24;

export type RepeatFinder = ReturnType<typeof startRepeatFinder>;

/**
 * Finds runs of lines that stand unchanged in texts that the model was sent before. Hashes say where to look; texts are
 * compared. Lines that stand for others (`isReference`) are part of no run, on either side, so that no reference points to a reference. Takes
 * linear time: a long line, equal lines and binary text have no runs.
 */
export function startRepeatFinder(isReference: (line: string) => boolean) {
	const known = createLines();
	let texts = 0;
	/** By text, its first line in `known`; and the end of the last one. */
	const starts = [0];
	const gone = new Set<number>();
	/** By hash of a window, its latest place; by window, its line, and the place before it with the same slot. */
	let latest = new Int32Array(256).fill(-1);
	let [lineOfWindow, earlier] = [new Int32Array(128), new Int32Array(128)];
	let windows = 0;

	const slotOf = (hash: number) => (hash ^ (hash >>> 15)) & (latest.length - 1);
	const enter = (one: number) => {
		const slot = slotOf(windowHash(known, lineOfWindow[one] as number));
		earlier[one] = latest[slot] as number;
		latest[slot] = one;
	};
	const addWindow = (line: number) => {
		if (windows === lineOfWindow.length) {
			lineOfWindow = grown(lineOfWindow);
			earlier = grown(earlier);
			latest = new Int32Array(4 * lineOfWindow.length).fill(-1);
			for (let one = 0; one < windows; one += 1) enter(one);
		}
		lineOfWindow[windows] = line;
		enter(windows);
		windows += 1;
	};
	const sourceOf = (line: number) => {
		let [low, high] = [0, texts - 1];
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if ((starts[middle] as number) <= line) low = middle;
			else high = middle - 1;
		}
		return low;
	};

	/** The run around two equal windows. */
	const extend = (own: Lines, at: number, line: number, from: number): FoundRun => {
		const source = sourceOf(line);
		const [first, end] = [starts[source] as number, starts[source + 1] as number];
		const pair = startPair(own, known);
		let [back, forth] = [0, 0];
		while (at + forth < own.count && line + forth < end && pair.follows(at + forth, line + forth)) forth += 1;
		while (at - back - 1 >= from && line - back - 1 >= first && pair.precedes(at - back - 1, line - back - 1))
			back += 1;
		return {
			source,
			start: at - back,
			end: at + forth,
			line: line - back,
			shift: pair.shift(),
			compared: back + forth,
		};
	};

	/** The same without what only its hashes have in common, and what looks alike but is written otherwise. */
	const compareText = (own: Lines, text: string, run: FoundRun, earlierText: string): FoundRun => {
		if (run.shift === 0) {
			const last = run.end - 1 - run.start + run.line;
			const mine = text.slice(own.start[run.start], own.end[run.end - 1]);
			if (mine === earlierText.slice(known.start[run.line], known.end[last])) return run;
		}
		let end = run.start;
		for (let line = run.line; end < run.end; line += 1) {
			const theirs = earlierText.slice(known.start[line], known.end[line]);
			if (text.slice(own.start[end], own.end[end]) !== withNumberShifted(theirs, run.shift)) break;
			end += 1;
		}
		return { ...run, end };
	};

	return {
		/** Adds a text that the model was sent, and returns its number. The text itself is not held. */
		add(text: string): number {
			const first = known.count;
			if (!isBinary(text)) readLines(text, known, isReference);
			for (let line = first; line + windowLines <= known.count; line += windowLines) {
				if (isTelling(known, line)) addWindow(line);
			}
			texts += 1;
			starts.push(known.count);
			return texts - 1;
		},
		/** The model no longer sees the text with this number. */
		remove(source: number): void {
			gone.add(source);
		},
		/** The runs of a text, in order and without overlaps. `textOf` returns an added text, with which they are compared. */
		find(text: string, textOf: (source: number) => string): readonly Repeat[] {
			if (windows === 0 || text.length < leastRun.chars || isBinary(text)) return [];
			const own = createLines(countOf(text, "\n") + 1);
			readLines(text, own, isReference);
			const repeats: Repeat[] = [];
			let comparisons = mostComparisons * own.count;
			let from = 0;
			for (let at = 0; at + windowLines <= own.count && comparisons > 0; at += 1) {
				if (!isTelling(own, at)) continue;
				let best: FoundRun | undefined;
				let places = 0;
				const hash = windowHash(own, at);
				for (
					let one = latest[slotOf(hash)] as number;
					one !== -1 && places < mostPlaces;
					one = earlier[one] as number
				) {
					comparisons -= 1;
					places += 1;
					const line = lineOfWindow[one] as number;
					if (windowHash(known, line) !== hash || gone.has(sourceOf(line))) continue;
					const run = extend(own, at, line, from);
					comparisons -= run.compared;
					if (!best || run.end - run.start > best.end - best.start) best = run;
				}
				const run = best && isLongEnough(own, best) ? compareText(own, text, best, textOf(best.source)) : undefined;
				if (!run || !isLongEnough(own, run)) continue;
				repeats.push({
					from: run.start + 1,
					to: run.end,
					source: run.source,
					sourceFrom: run.line - (starts[run.source] as number) + 1,
					shift: run.shift,
				});
				from = run.end;
				at = from - 1;
			}
			return repeats.length === 0 ? repeats : withoutFailures(repeats, { text, own });
		},
	};
}

/** Puts one line in the place of each run. `nameOf` says whose result a source is; the first line names the original. */
export function leaveOutRepeats(
	text: string,
	repeats: readonly Repeat[],
	{
		wording,
		nameOf,
		ref,
	}: {
		readonly wording: RepeatWordings;
		readonly nameOf: (source: number) => string;
		readonly ref?: string | undefined;
	},
): string {
	const starts = lineStarts(text);
	let shown = "";
	let next = 0;
	for (const [index, { from, to, source, sourceFrom, shift }] of repeats.entries()) {
		const end = (starts[to] as number) - (text[(starts[to] as number) - 1] === "\n" ? 1 : 0);
		const template = index === 0 && ref !== undefined ? wording.line : wording.further;
		const numbers = shift === 0 ? "" : shift > 0 ? wording.higher : wording.lower;
		const reference = fillTemplate(template, {
			from,
			to,
			source_from: sourceFrom,
			source_to: sourceFrom + to - from,
			source: nameOf(source),
			numbers: fillTemplate(numbers, { shift: Math.abs(shift) }),
			ref: ref ?? "",
		});
		shown += text.slice(next, starts[from - 1]) + reference;
		next = end;
	}
	return shown + text.slice(next);
}

interface FoundRun {
	readonly source: number;
	/** Lines of the text, from 0, the end not included. */
	readonly start: number;
	readonly end: number;
	/** The line of `known` that `start` repeats. */
	readonly line: number;
	readonly shift: number;
	readonly compared: number;
}

/** Compares lines of two texts by their hashes, and the numbers before them, which have to be equally far apart. */
function startPair(own: Lines, known: Lines) {
	let shift: number | undefined;
	const isSame = (mine: number, theirs: number) => {
		if (own.hash[mine] !== known.hash[theirs] || own.isReference[mine] === 1) return false;
		const [number, before] = [own.number[mine] as number, known.number[theirs] as number];
		if (number === noNumber || before === noNumber) return number === before;
		shift ??= number - before;
		return number - before === shift;
	};
	/** Times look like numbers: numbers that are apart by more than nothing count only one by one. */
	const isConsecutive = (mine: number, next: number) => {
		const [one, two] = [own.number[mine] as number, own.number[next] as number];
		return !shift || one === noNumber || two === noNumber || two === one + 1;
	};
	let last = -1;
	let first = -1;
	return {
		follows(mine: number, theirs: number): boolean {
			if (!isSame(mine, theirs) || (last !== -1 && !isConsecutive(last, mine))) return false;
			last = mine;
			if (first === -1) first = mine;
			return true;
		},
		precedes(mine: number, theirs: number): boolean {
			if (!isSame(mine, theirs) || !isConsecutive(mine, first)) return false;
			first = mine;
			return true;
		},
		shift: () => shift ?? 0,
	};
}

function isLongEnough({ end, content }: Lines, run: Pick<FoundRun, "start" | "end">): boolean {
	const { lines, chars } = leastRun;
	if (run.end - run.start < lines) return false;
	let sum = 0;
	for (let line = run.start; line < run.end; line += 1) {
		sum += (end[line] as number) - (content[line] as number) + 1;
		if (sum >= chars) return true;
	}
	return false;
}

/** Lines that report a failure stay, and so do runs that they leave too short. */
function withoutFailures(repeats: readonly Repeat[], { text, own }: { readonly text: string; readonly own: Lines }) {
	const isText = isWritten(text);
	const left: Repeat[] = [];
	for (const repeat of repeats) {
		const begin = own.start[repeat.from - 1] as number;
		const units = textUnits(text.slice(begin, own.end[repeat.to - 1] as number));
		const failing = new Set<number>();
		for (const [unit, sign] of failureSigns(units).entries()) {
			if (sign === byForm && !(isText && isMention(unitText(units, unit)))) failing.add(units.line[unit] as number);
		}
		let from = repeat.from;
		const take = (to: number) => {
			const run = { ...repeat, from, to, sourceFrom: repeat.sourceFrom + from - repeat.from };
			if (isLongEnough(own, { start: from - 1, end: to })) left.push(run);
		};
		for (const line of [...failing].sort((a, b) => a - b)) {
			take(repeat.from + line - 2);
			from = repeat.from + line;
		}
		take(repeat.to);
	}
	return left;
}

function lineStarts(text: string): number[] {
	const starts = [0];
	for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
	if (starts.at(-1) !== text.length) starts.push(text.length);
	return starts;
}

import { fillTemplate } from "../masking/template.ts";
import { type Draft, fitBudget, type Marks, shortNotice, type TruncationBudget } from "./draft.ts";
import {
	byForm,
	type FailureSigns,
	failureSigns,
	failuresFirst,
	mostlyRare,
	passedFrames,
	withoutTimes,
	wordHashes,
} from "./failures.ts";
import { stripEscapes, textUnits, type Units } from "./lines.ts";
import { selectUnits } from "./select.ts";
import { isWritten } from "./shape.ts";

/** The units of a stream in memory, with others for the gaps, and their failure signs. */
interface PassedText {
	readonly units: Units;
	readonly signs: FailureSigns;
	readonly some: string;
}

/** Positions are characters from the start of the stream. */
interface HeldUnit {
	readonly text: string;
	readonly start: number;
	readonly end: number;
	readonly line: LinePlace;
	readonly sign: number;
}

interface LinePlace {
	readonly number: number;
	readonly start: number;
	end: number;
}

/** Characters that are read at once, and those at the end of an unfinished line that are read again with the next. */
const [stretch, readAgain] = [65_536, 480];
const lead = 60;
/** Lines that are held after a failure, and the most characters of its own line. */
const [linesBehind, longestLine] = [3, 16_000];
/** How many distinct failures are held: the first, the last, and some that are unlike the others. */
const mostSure = { first: 160, unlike: 80, last: 160 };
const mostLikely = { first: 160, unlike: 40, last: 160 };
const mostRemembered = 20_000;

/** Reads a text by pieces, for excerpts of at most `mostChars`. Holds the start, the end and failures between. */
export function readPassing(mostChars: number, strip?: (text: string) => string) {
	const failures = { sure: keepSome(mostSure), likely: keepSome(mostLikely) };
	const seen = new Set<string>();
	const head: HeldUnit[] = [];
	const recent: { readonly units: HeldUnit[]; readonly chars: number }[] = [];
	let recentChars = 0;
	/** Characters that are not yet split into units, after `restLead` characters that are. */
	let [rest, restLead] = ["", 0];
	let raw = "";
	/** Characters before the rest, and its first line. */
	let at = 0;
	let line: LinePlace = { number: 1, start: 0, end: -1 };
	let isContinued = false;
	/** The last failure, while the lines after it are added, and the number of its line. */
	let open: { readonly failure: HeldUnit[]; readonly number: number } | undefined;

	const hold = (units: readonly HeldUnit[]) => {
		for (const [index, unit] of units.entries()) {
			const { number } = unit.line;
			if (open !== undefined && number > open.number) {
				if (number > open.number + linesBehind || unit.text.trim() === "") open = undefined;
				else open.failure.push(unit);
			}
			if (unit.sign === 0) continue;
			const message = withoutTimes(unit.text);
			if (seen.has(message)) continue;
			if (seen.size >= mostRemembered) seen.clear();
			seen.add(message);
			const failure = lineAround(units, index);
			failures[unit.sign === byForm ? "sure" : "likely"].keep(failure, unit.text);
			if (unit.sign === byForm) open = { failure, number };
		}
	};
	const take = (units: HeldUnit[], chars: number) => {
		const last = head.at(-1);
		if (last === undefined || last.end < mostChars) {
			head.push(...units);
			return;
		}
		recent.push({ units, chars });
		recentChars += chars;
		while (recent.length > 1 && recentChars - (recent[0]?.chars ?? 0) > mostChars) {
			const first = recent.shift();
			recentChars -= first?.chars ?? 0;
			hold(first?.units ?? []);
		}
	};
	const read = (until: number, { endsLine }: { readonly endsLine: boolean }) => {
		const text = (endsLine ? rest.slice(0, until) : rest).toWellFormed();
		const units = textUnits(text, restLead, isContinued);
		const signs = failureSigns(units);
		const held: HeldUnit[] = [];
		const place = at - restLead;
		const firstNumber = line.number;
		let behind = restLead;
		for (let unit = 0; unit < units.count; unit += 1) {
			const [start, end] = [units.start[unit] as number, units.end[unit] as number];
			if (!endsLine && end > until) break;
			const number = firstNumber + (units.line[unit] as number) - 1;
			if (number !== line.number) {
				line.end = place + start - 1;
				line = { number, start: place + start, end: -1 };
			}
			const sign = signs[unit] as number;
			held.push({ text: text.slice(start, end), start: place + start, end: place + end, line, sign });
			behind = end;
		}
		const done = endsLine ? until : behind;
		take(held, done - restLead);
		at += done - restLead;
		if (endsLine) {
			line.end = at - 1;
			line = { number: line.number + 1, start: at, end: -1 };
		}
		isContinued = !endsLine;
		restLead = endsLine ? 0 : Math.min(lead, done);
		rest = rest.slice(done - restLead);
	};
	const readLines = (text: string) => {
		rest += strip === undefined ? text : stripEscapes(text, strip);
		const newline = rest.lastIndexOf("\n");
		if (newline !== -1) read(newline + 1, { endsLine: true });
		if (rest.length - restLead > stretch) read(rest.length - readAgain, { endsLine: false });
	};
	return {
		push(piece: string): void {
			// Stretches have one length, so that the lengths of the pieces make no difference.
			for (let from = 0; from < piece.length; ) {
				const to = Math.min(piece.length, from + stretch - raw.length);
				raw += piece.slice(from, to);
				from = to;
				if (raw.length < stretch) break;
				const newline = raw.lastIndexOf("\n");
				// An escape sequence may continue in the next piece.
				const sequence = newline === -1 ? raw.indexOf("\u001b", raw.length - lead) : -1;
				const until = newline !== -1 ? newline + 1 : sequence === -1 ? raw.length : sequence;
				readLines(raw.slice(0, until));
				raw = raw.slice(until);
			}
		},
		end(): PassedText {
			readLines(raw);
			while (rest.length > restLead) read(rest.length, { endsLine: false });
			line.end = at;
			const tail = recent.flatMap(({ units }) => units);
			const between = [failures.sure, failures.likely].flatMap(({ all }) => all()).flat();
			const held = [...new Map([...head, ...between, ...tail].map((unit) => [unit.start, unit])).values()];
			held.sort((a, b) => a.start - b.start || a.end - b.end);
			return {
				...withGaps(held, { chars: at, lines: line.start === at ? line.number - 1 : line.number }),
				some: textOf(head).slice(0, mostChars) + textOf(tail).slice(-mostChars),
			};
		},
	};
}

function textOf(units: readonly HeldUnit[]): string {
	return units.map(({ text, line }, index) => (line === units[index - 1]?.line ? text : `\n${text}`)).join("");
}

function lineAround(units: readonly HeldUnit[], index: number): HeldUnit[] {
	const { line, text } = units[index] as HeldUnit;
	let [from, to] = [index, index];
	let chars = text.length;
	const takes = (unit: HeldUnit | undefined) => {
		if (unit?.line !== line || chars + unit.text.length > longestLine) return false;
		chars += unit.text.length;
		return true;
	};
	for (let [before, behind] = [true, true]; before || behind; ) {
		before &&= takes(units[from - 1]);
		if (before) from -= 1;
		behind &&= takes(units[to + 1]);
		if (behind) to += 1;
	}
	return units.slice(from, to + 1);
}

function withGaps(
	held: readonly HeldUnit[],
	{ chars, lines }: Pick<Units, "chars" | "lines">,
): Pick<PassedText, "units" | "signs"> {
	const [start, end, line, signs]: [number[], number[], number[], number[]] = [[], [], [], []];
	const texts: (string | undefined)[] = [];
	const add = (unit: { start: number; end: number; number: number }, sign = 0, text?: string) => {
		start.push(unit.start);
		end.push(unit.end);
		line.push(unit.number);
		signs.push(sign);
		texts.push(text);
	};
	let before: HeldUnit | undefined;
	for (const unit of held) {
		if (before !== undefined) for (const gap of gapBetween(before, unit)) add(gap);
		add({ start: unit.start, end: unit.end, number: unit.line.number }, unit.sign, unit.text);
		before = unit;
	}
	const placeOf = new Map(start.map((from, unit) => [from, unit]));
	const slice = (from: number, to: number) => {
		let shown = "";
		for (let unit = placeOf.get(from) ?? start.length; from + shown.length < to; unit += 1) {
			const text = texts[unit];
			if (text === undefined) break;
			shown += (shown !== "" && line[unit] !== line[unit - 1] ? "\n" : "") + text;
		}
		return shown.slice(0, to - from);
	};
	const isHeld = (unit: number) => texts[unit] !== undefined;
	const units = {
		chars,
		count: start.length,
		start,
		end,
		line,
		lines,
		slice,
		isHeld,
		isContinued: false,
		encoded: new Map(),
	};
	return { units, signs: Uint8Array.from(signs) };
}

function gapBetween(before: HeldUnit, behind: HeldUnit): { start: number; end: number; number: number }[] {
	if (before.line === behind.line)
		return before.end < behind.start ? [{ start: before.end, end: behind.start, number: before.line.number }] : [];
	const gaps = [{ start: before.end, end: before.line.end, number: before.line.number }];
	const [first, last] = [before.line.number + 1, behind.line.number - 1];
	const [start, end] = [before.line.end + 1, behind.line.start - 1];
	if (first < last) gaps.push({ start, end: start, number: first });
	if (first <= last) gaps.push({ start, end, number: last });
	gaps.push({ start: behind.line.start, end: behind.start, number: behind.line.number });
	return gaps.filter(({ start, end, number }) => end > start || (number >= first && number <= last));
}

/** Holds the first and the last failures, and those with rare words between. */
function keepSome(most: { readonly first: number; readonly unlike: number; readonly last: number }) {
	const [first, unlike]: [HeldUnit[][], HeldUnit[][]] = [[], []];
	let last: HeldUnit[][] = [];
	let count = 0;
	const counts = new Map<number, number>();
	const isUnlike = (text: string): boolean => {
		const here = wordHashes(text);
		if (counts.size > mostRemembered) counts.clear();
		for (const word of here) counts.set(word, (counts.get(word) ?? 0) + 1);
		return mostlyRare(here, counts, Math.max(2, count * 0.02));
	};
	return {
		keep(failure: HeldUnit[], text: string): void {
			count += 1;
			const isOther = isUnlike(text);
			if (first.length < most.first) first.push(failure);
			else if (isOther && unlike.length < most.unlike) unlike.push(failure);
			else last.push(failure);
			if (last.length >= 2 * most.last) last = last.slice(-most.last);
		},
		all: (): readonly HeldUnit[][] => [...first, ...unlike, ...last.slice(-most.last)],
	};
}

interface ShortenPassedParameters extends Marks {
	readonly budget: TruncationBudget;
	readonly headShare?: number | undefined;
	readonly hasFailed?: boolean | undefined;
}

/** Shortens a stream to failures, head and tail. `leastBudget` has room for the shortest notice, if this has none. */
export function shortenPassed(
	{ units, signs, some }: PassedText,
	{ budget, wording, ref, headShare = 0.5, hasFailed = false }: ShortenPassedParameters,
): Draft & { readonly leastBudget?: number } {
	const marks = { wording, ref };
	const source = hasFailed ? "failed" : isWritten(some) ? "written" : "output";
	const first = failuresFirst(units, signs, source);
	const priority = new Float32Array(units.count);
	const shorten = selectUnits({
		units,
		priority,
		first,
		headShare,
		tailShare: 1 - headShare,
		marks,
		passed: passedFrames(units, signs),
	});
	const draft = fitBudget({ chars: units.chars, some }, shorten, budget);
	const notice = fillTemplate(shortNotice(marks), { omitted_chars: units.chars });
	const least = budget.unit === "chars" ? notice.length : budget.countTokens(notice);
	if (budget.max < least) return { ...draft, leastBudget: least };
	return draft.notices.length > 0 ? draft : { text: notice, kept: [], notices: [notice] };
}

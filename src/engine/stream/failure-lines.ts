import { type FailureSign, failureReader } from "../truncate/failure-lines.ts";
import { wordHashes } from "../truncate/failures-first.ts";

/** A line of a text. */
export interface NumberedLine {
	/** Its number in the text, from 1 on. */
	readonly number: number;
	/** The line without its end; of a very long one the beginning, or the part that tells of a failure. */
	readonly text: string;
}

/** A line that tells of a failure, and the lines right behind it. */
export interface FailureLine extends NumberedLine {
	/** Whether it tells of the failure by its form; otherwise by a word. */
	readonly isSure: boolean;
	/** Where it begins in the whole text, in characters. */
	readonly start: number;
	/** Where in it the failure is told, in characters. */
	readonly match: number;
	readonly after: readonly NumberedLine[];
}

/** The distinct lines of a text that tell of failures, in order. */
export interface FailureLines {
	readonly lines: readonly FailureLine[];
	/** Distinct ones that there was no room for, from the middle. */
	readonly dropped: number;
}

/** Takes a text piece by piece. */
export interface FailureReader {
	readonly push: (piece: string) => void;
	readonly end: () => FailureLines;
}

/** Characters of a line that are kept, where no other number is given. */
const usualLine = 1_000;
/** Longer lines are read in parts of so many characters, each with the end of the one before it. */
const [longestPart, overlap] = [1_000, 300];
/** Lines behind a failure that are kept with it. */
const linesAfter = 2;
/** Of more distinct failures than these the first, the last, and some that are unlike the others are kept. */
const mostSure = { first: 160, unlike: 80, last: 160 };
const mostLikely = { first: 160, unlike: 40, last: 160 };
const mostRemembered = 20_000;

/**
 * Finds the lines that tell of failures in a text whose whole is never held. Of lines that say the same, a time at their
 * beginning aside, the first is kept. A carriage return ends a line as far as its words are concerned, so that what
 * stands behind a progress bar is seen; numbers count line feeds alone.
 */
export function readFailureLines({ longestLine = usualLine } = {}): FailureReader {
	const [sure, likely] = [keepSome(mostSure), keepSome(mostLikely)];
	const signOf = failureReader();
	const seen = new Set<string>();
	let line = "";
	let lineChars = 0;
	/** The rest of a long line, behind the part that is kept; not read yet. */
	let rest = "";
	let isFound = false;
	let number = 1;
	/** Characters before the line, and of the line before the part that is read. */
	let [lineStart, restStart] = [0, 0];
	let open: Mutable | undefined;
	let returned = false;

	const found = (sign: FailureSign, { text, start, match }: Pick<FailureLine, "text" | "start" | "match">): void => {
		const key = withoutTime(text);
		open = undefined;
		isFound = true;
		if (seen.has(key)) return;
		if (seen.size >= mostRemembered) seen.clear();
		seen.add(key);
		open = { number, text, isSure: sign === "sure", start, match, after: [] };
		(sign === "sure" ? sure : likely).keep(open);
	};
	/** Reads the line as far as it is kept. */
	const readKept = (): void => {
		const told = tellingPart(line, signOf);
		if (told !== undefined) found(told.sign, { text: line, start: lineStart, match: told.at });
	};
	const readRest = ({ isLast }: { readonly isLast: boolean }): void => {
		const match = placeInPart(rest, signOf);
		if (match !== undefined && (isLast || !isReadAgain(match, rest)))
			found("sure", { text: rest, start: lineStart + restStart, match });
		restStart += rest.length - overlap;
		rest = rest.slice(-overlap);
	};
	const endLine = (): void => {
		if (lineChars <= longestLine) readKept();
		else if (rest.length > overlap) readRest({ isLast: true });
		if (line.trim() === "") open = undefined;
		else if (!isFound && open !== undefined) {
			open.after.push({ number, text: line.slice(0, usualLine) });
			if (open.after.length === linesAfter) open = undefined;
		}
		lineStart += lineChars;
		[line, rest, lineChars, isFound] = ["", "", 0, false];
	};
	const take = (piece: string, start: number, end: number): void => {
		const before = lineChars;
		const room = Math.max(0, longestLine - before);
		if (room > 0) line += piece.slice(start, Math.min(end, start + room));
		lineChars += end - start;
		if (lineChars <= longestLine) return;
		if (before <= longestLine) {
			readKept();
			rest = line.slice(-overlap);
			restStart = line.length - overlap;
		}
		for (let at = Math.min(end, start + room); at < end; ) {
			const to = Math.min(end, at + longestPart - rest.length);
			rest += piece.slice(at, to);
			at = to;
			if (rest.length >= longestPart) readRest({ isLast: false });
		}
	};
	return {
		push(piece) {
			let start = 0;
			for (let at = 0; at < piece.length; at += 1) {
				const unit = piece.charCodeAt(at);
				if (unit !== 10 && unit !== 13) {
					returned = false;
					continue;
				}
				// A line feed behind a carriage return ends no second line.
				if (unit === 13 || !returned) {
					take(piece, start, at);
					endLine();
				}
				lineStart += 1;
				returned = unit === 13;
				if (unit === 10) number += 1;
				start = at + 1;
			}
			take(piece, start, piece.length);
		},
		end() {
			if (line !== "") endLine();
			const [ofSure, ofLikely] = [sure.end(), likely.end()];
			const lines = [...ofSure.lines, ...ofLikely.lines].sort((a, b) => a.number - b.number);
			return { lines, dropped: ofSure.dropped + ofLikely.dropped };
		},
	};
}

type Mutable = FailureLine & { readonly after: NumberedLine[] };

/** The part of a line that tells of a failure; of a long one, which is read in parts, the first that has the form of one. */
function tellingPart(
	line: string,
	signOf: (line: string) => FailureSign,
): { readonly sign: FailureSign; readonly at: number } | undefined {
	const sign = signOf(line);
	if (sign === "sure" || line.length <= longestPart) return sign === "none" ? undefined : { sign, at: 0 };
	for (let at = 0; at < line.length; at += longestPart - overlap) {
		const part = line.slice(at, at + longestPart);
		const place = placeInPart(part, signOf);
		const isLast = at + longestPart >= line.length;
		if (place !== undefined && (isLast || !isReadAgain(place, part))) return { sign: "sure", at: at + place };
	}
	return sign === "none" ? undefined : { sign, at: 0 };
}

/** Whether a place stands in the next part too, where what follows it is seen. */
function isReadAgain(place: number, part: string): boolean {
	return place >= part.length - overlap;
}

/** Characters of a part that are read at once to find where in it a failure is told. */
const readAtOnce = 240;

/**
 * Finds where a part of a long line tells of a failure. JSON escapes the line ends of an output that it carries, so the text
 * between two escaped line ends is read as a line.
 */
function placeInPart(part: string, signOf: (line: string) => FailureSign): number | undefined {
	for (let at = 0; at < part.length; ) {
		const end = part.indexOf("\\n", at);
		const isSpelled = at > 0 && end !== -1;
		if (isSpelled && signOf(part.slice(at, end)) === "sure") return at;
		if (end === -1) break;
		at = end + 2;
	}
	// An ellipsis keeps a part from passing for the start of a line: here nothing but a form inside of it tells.
	if (signOf(`…${part}`) !== "sure") return undefined;
	for (let at = 0; at < part.length; at += readAtOnce / 2) {
		if (signOf(`…${part.slice(at, at + readAtOnce)}`) === "sure") return at;
	}
	return 0;
}

/** Keeps the first and the last of more failures than can be held, and those whose words hardly any other has. */
function keepSome(most: { readonly first: number; readonly unlike: number; readonly last: number }) {
	const [first, unlike]: [Mutable[], Mutable[]] = [[], []];
	let last: Mutable[] = [];
	let count = 0;
	const counts = new Map<number, number>();
	const isUnlike = (text: string): boolean => {
		const here = wordHashes(text);
		if (counts.size > mostRemembered) counts.clear();
		for (const word of here) counts.set(word, (counts.get(word) ?? 0) + 1);
		const few = here.filter((word) => (counts.get(word) ?? 0) <= Math.max(2, count * 0.02)).length;
		return few >= here.length / 2;
	};
	return {
		keep(failure: Mutable): void {
			count += 1;
			const isOther = isUnlike(failure.text);
			if (first.length < most.first) first.push(failure);
			else if (isOther && unlike.length < most.unlike) unlike.push(failure);
			else last.push(failure);
			if (last.length >= 2 * most.last) last = last.slice(-most.last);
		},
		end(): { readonly lines: readonly Mutable[]; readonly dropped: number } {
			const lines = [...first, ...unlike, ...last.slice(-most.last)];
			return { lines, dropped: count - lines.length };
		},
	};
}

/** What a line says: logs put the time first, and the same failure at another time is the same. */
function withoutTime(line: string): string {
	return line.replace(/^[\s[(]*\d[\d:.,/TZ+\- ]*/, "").slice(0, 300);
}

import { tellsOfFailure } from "./failure-line.ts";

/** A line of a text. */
export interface NumberedLine {
	/** Its number in the text, from 1 on. */
	readonly number: number;
	/** The line without its end; of a very long one the beginning. */
	readonly text: string;
}

/** A line that tells of a failure, and the lines right behind it. */
export interface FailureLine extends NumberedLine {
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

/** Characters of a line that are looked at and kept. */
const longestLine = 1_000;
/** Lines behind a failure that are kept with it. */
const linesAfter = 2;
/** Of more distinct failures than this the first and the last are kept. */
const mostKept = 400;
const mostRemembered = 20_000;

/**
 * Finds the lines that tell of failures in a text whose whole is never held. Of lines that say the same, a time at their
 * beginning aside, the first is kept. A carriage return ends a line as far as its words are concerned, so that what
 * stands behind a progress bar is seen; numbers count line feeds alone.
 */
export function readFailureLines(): FailureReader {
	const first: Mutable[] = [];
	let last: Mutable[] = [];
	let dropped = 0;
	const seen = new Set<string>();
	let line = "";
	let lineChars = 0;
	let number = 1;
	let open: Mutable | undefined;
	let returned = false;

	const keep = (failure: Mutable): void => {
		if (first.length < mostKept / 2) {
			first.push(failure);
			return;
		}
		last.push(failure);
		if (last.length < mostKept) return;
		dropped += last.length - mostKept / 2;
		last = last.slice(-mostKept / 2);
	};
	const endLine = (): void => {
		const text = line;
		line = "";
		lineChars = 0;
		if (text.trim() === "") {
			open = undefined;
			return;
		}
		if (tellsOfFailure(text)) {
			const key = withoutTime(text);
			open = undefined;
			if (seen.has(key)) return;
			if (seen.size >= mostRemembered) seen.clear();
			seen.add(key);
			open = { number, text, after: [] };
			keep(open);
		} else if (open !== undefined) {
			open.after.push({ number, text });
			if (open.after.length === linesAfter) open = undefined;
		}
	};
	const take = (piece: string, start: number, end: number): void => {
		const room = longestLine - lineChars;
		if (room > 0) line += piece.slice(start, Math.min(end, start + room));
		lineChars += end - start;
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
				returned = unit === 13;
				if (unit === 10) number += 1;
				start = at + 1;
			}
			take(piece, start, piece.length);
		},
		end() {
			if (line !== "") endLine();
			if (first.length + last.length > mostKept) {
				const surplus = first.length + last.length - mostKept;
				dropped += surplus;
				last = last.slice(surplus);
			}
			return { lines: [...first, ...last], dropped };
		},
	};
}

type Mutable = FailureLine & { readonly after: NumberedLine[] };

/** What a line says: logs put the time first, and the same failure at another time is the same. */
function withoutTime(line: string): string {
	return line.replace(/^[\s[(]*\d[\d:.,/TZ+\- ]*/, "").slice(0, 300);
}

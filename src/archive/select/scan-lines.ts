import { setImmediate } from "node:timers/promises";
import { endOnCharacter } from "../text-bytes.ts";

/** A line of a text, or a piece of a very long one. Lines end with `\n`; a `\r` before it is part of the line. */
export interface Segment {
	/** From 1 on. */
	readonly line: number;
	/** Where it begins in the text, in UTF-16 code units. */
	readonly start: number;
	/** Without the line's end. */
	readonly text: string;
	/** Whether the line's end follows; otherwise more of the line does, or the text is over. */
	readonly endsLine: boolean;
	/** Whether it goes on with a line that began before. */
	readonly continues: boolean;
}

/** The size of a text. What follows the last `\n` is a line unless it is empty. */
export interface TextSize {
	readonly lines: number;
	readonly chars: number;
}

/** Longest segment, in UTF-16 code units: what is done with one must not hold up everything else. */
export const longestSegment = 1 << 16;

/** What a segment covers of the text, the line's end included. */
export function spanOf({ start, text, endsLine }: Segment): { readonly start: number; readonly end: number } {
	return { start, end: start + text.length + (endsLine ? 1 : 0) };
}

/** Shows every segment of a text to `visit`, in order, and lets others work in between. */
export async function scanLines(pieces: AsyncIterable<string>, visit: (segment: Segment) => void): Promise<TextSize> {
	let line = 1;
	let start = 0;
	let continues = false;
	let pending = "";
	let unpaused = 0;

	const show = (text: string, endsLine: boolean): void => {
		visit({ line, start, text, endsLine, continues });
		start += text.length + (endsLine ? 1 : 0);
		unpaused += text.length;
		continues = !endsLine;
		if (endsLine) line += 1;
	};

	for await (const piece of pieces) {
		const text = pending + piece;
		let at = 0;
		for (;;) {
			const found = text.indexOf("\n", at);
			const end = found === -1 ? text.length : found;
			while (end - at > longestSegment) {
				const cut = endOnCharacter(text, at + longestSegment);
				show(text.slice(at, cut), false);
				at = cut;
				if (unpaused >= longestSegment) {
					unpaused = 0;
					await setImmediate();
				}
			}
			if (found === -1) break;
			show(text.slice(at, found), true);
			at = found + 1;
			if (unpaused >= longestSegment) {
				unpaused = 0;
				await setImmediate();
			}
		}
		pending = text.slice(at);
	}
	if (pending !== "") show(pending, false);
	return { lines: continues ? line : line - 1, chars: start };
}

import { characterEdge } from "./head-tail.ts";

export const valueKinds = { object: 0, array: 1, string: 2, other: 3, lines: 4 } as const;

/** The values of a JSON text as positions in it, so that their spelling stays, by their starts. Value 0 is the root. */
export interface JsonSpans {
	readonly text: string;
	readonly kind: readonly number[];
	readonly start: readonly number[];
	readonly end: readonly number[];
	/** The key before each value, quotes included; 0 and 0 if it has none. */
	readonly keyStart: readonly number[];
	readonly keyEnd: readonly number[];
	/** The first value after each one and its descendants. */
	readonly next: readonly number[];
	/** Characters of each value without its key and the white space outside its strings. */
	readonly size: readonly number[];
}

/** A text with more values needs too much memory and is cut as text. */
const mostValues = 4_000_000;

/** Finds the values of valid JSON (RFC 8259) or JSON Lines; `undefined` if there are more than four million. */
export function jsonSpans(text: string, { isLines }: { readonly isLines: boolean }): JsonSpans | undefined {
	const make = (): number[] => [];
	const spans = {
		kind: make(),
		start: make(),
		end: make(),
		keyStart: make(),
		keyEnd: make(),
		next: make(),
		size: make(),
	};
	const open: number[] = [];
	let [keyStart, keyEnd] = [0, 0];
	const add = (kind: number, start: number, end: number) => {
		const value = spans.kind.length;
		spans.kind.push(kind);
		spans.start.push(start);
		spans.end.push(end);
		spans.keyStart.push(keyStart);
		spans.keyEnd.push(keyEnd);
		spans.next.push(value + 1);
		spans.size.push(end - start);
		[keyStart, keyEnd] = [0, 0];
		return value;
	};
	const close = (end: number) => {
		const value = open.pop() as number;
		spans.end[value] = end;
		spans.next[value] = spans.kind.length;
		let size = spans.kind[value] === valueKinds.lines ? -1 : 1;
		for (let child = value + 1; child < spans.kind.length; child = spans.next[child] as number) {
			const key = (spans.keyEnd[child] as number) - (spans.keyStart[child] as number);
			size += (spans.size[child] as number) + (key === 0 ? 0 : key + 1) + 1;
		}
		spans.size[value] = Math.max(size, 2);
	};
	if (isLines) open.push(add(valueKinds.lines, 0, text.length));
	for (let at = 0; at < text.length; ) {
		if (spans.kind.length > mostValues) return undefined;
		const unit = text.charCodeAt(at);
		if (unit === 123 || unit === 91) open.push(add(unit === 123 ? valueKinds.object : valueKinds.array, at, at));
		else if (unit === 125 || unit === 93) close(at + 1);
		else if (unit === 34) {
			const end = endOfString(text, at);
			const after = behindSpace(text, end);
			if (text.charCodeAt(after) === 58 && spans.kind[open.at(-1) ?? -1] === valueKinds.object) {
				[keyStart, keyEnd] = [at, end];
				at = after + 1;
			} else {
				add(valueKinds.string, at, end);
				at = end;
			}
			continue;
		} else if (unit !== 44 && unit > 32) {
			const end = endOfPlain(text, at);
			add(valueKinds.other, at, end);
			at = end;
			continue;
		}
		at += 1;
	}
	if (isLines) close(text.length);
	return { text, ...spans };
}

export function endOfString(text: string, start: number): number {
	for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
		let slashes = quote;
		while (text.charCodeAt(slashes - 1) === 92) slashes -= 1;
		if ((quote - slashes) % 2 === 0) return quote + 1;
	}
	return text.length;
}

function behindSpace(text: string, start: number): number {
	let at = start;
	while (text.charCodeAt(at) <= 32) at += 1;
	return at;
}

function endOfPlain(text: string, start: number): number {
	let at = start + 1;
	for (; at < text.length; at += 1) {
		const unit = text.charCodeAt(at);
		if (unit <= 32 || unit === 44 || unit === 93 || unit === 125) break;
	}
	return at;
}

const longestStep = 100;

/** The last place up to `end` where the inside of a JSON string can be cut without splitting an escape or a character. */
export function jsonStringEdge(text: string, start: number, end: number): number {
	return startOfEscape(text, start, characterEdge(text, start, end));
}

/** The first place from `from` on where it can be cut; `end` if none is near. */
export function jsonStringEdgeAfter(text: string, start: number, from: number, end: number): number {
	const opening = startOfEscape(text, start, from);
	let at = opening === from ? from : opening + lengthOfEscape(text, opening);
	while (at < Math.min(end, from + longestStep)) {
		if (characterEdge(text, start, at) === at) return at;
		at += text[at] === "\\" ? lengthOfEscape(text, at) : 1;
	}
	return end;
}

function startOfEscape(text: string, start: number, at: number): number {
	// Escapes may be adjacent, so search for the first of a run of them.
	let from = text.lastIndexOf("\\", at - 1);
	if (from < start || at - from > 12) return at;
	while (from > start) {
		const before = text.lastIndexOf("\\", from - 1);
		if (before < start || from - before > 12) break;
		from = before;
	}
	for (let opening = from; opening !== -1 && opening < at; ) {
		const length = lengthOfEscape(text, opening);
		if (opening + length > at) return opening;
		opening = text.indexOf("\\", opening + length);
	}
	return at;
}

/** The place after an escape. It stands for one UTF-16 code unit. */
export function endOfEscape(text: string, at: number): number {
	return at + (text[at + 1] === "u" ? 6 : 2);
}

function lengthOfEscape(text: string, at: number): number {
	if (text[at + 1] !== "u") return 2;
	const isPair = /^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]/.test(text.slice(at, at + 10));
	return isPair ? 12 : 6;
}

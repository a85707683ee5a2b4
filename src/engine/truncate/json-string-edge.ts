import { characterEdge } from "./character-edge.ts";

/** Longest step to the next place where a string can be cut, in characters. */
const longestStep = 100;

/** A place at or before `end` where the inside of a JSON string can be cut: inside no escape and no character. */
export function jsonStringEdge(text: string, start: number, end: number): number {
	const character = characterEdge(text, start, end);
	return startOfEscape(text, start, character);
}

/** The same at or behind `from`; `end` where there is none near. */
export function jsonStringEdgeAfter(text: string, start: number, from: number, end: number): number {
	const opening = startOfEscape(text, start, from);
	let at = opening === from ? from : opening + lengthOfEscape(text, opening);
	while (at < Math.min(end, from + longestStep)) {
		if (characterEdge(text, start, at) === at) return at;
		at += text[at] === "\\" ? lengthOfEscape(text, at) : 1;
	}
	return end;
}

/** Where the escape that `at` stands in begins; `at` where it stands in none. */
function startOfEscape(text: string, start: number, at: number): number {
	// An escape stands in a run of them: none begins more than a few characters behind the last plain character.
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

function lengthOfEscape(text: string, at: number): number {
	if (text[at + 1] !== "u") return 2;
	const isPair = /^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]/.test(text.slice(at, at + 9));
	return isPair ? 12 : 6;
}

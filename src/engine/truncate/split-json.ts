import { isJson } from "./detect-shape.ts";

/** Share of a text that JSON inside it must make up. */
const leastShare = 0.6;
/** Lines from the start among which it may begin. */
const mostLinesBefore = 40;

/** A text around one JSON value. */
export interface SplitJson {
	readonly before: string;
	readonly json: string;
	readonly behind: string;
}

/** Finds the JSON object or list that makes up most of a text, such as behind the heading of a command's output. */
export function splitJson(text: string): SplitJson | undefined {
	const start = startOfJson(text);
	if (start === -1) return undefined;
	const close = text[start] === "{" ? "}" : "]";
	// Behind it may stand a line or two that hold no such bracket, or that do: the last two places are tried.
	let end = text.lastIndexOf(close) + 1;
	for (let attempt = 0; attempt < 2 && end - start > text.length * leastShare; attempt += 1) {
		const json = text.slice(start, end);
		if (isJson(json)) return { before: text.slice(0, start), json, behind: text.slice(end) };
		end = text.lastIndexOf(close, end - 2) + 1;
	}
	return undefined;
}

function startOfJson(text: string): number {
	let at = 0;
	for (let line = 0; line < mostLinesBefore && at < text.length; line += 1) {
		const first = text[at];
		if (first === "{" || (first === "[" && /^\[\s*(?:[[{"\d]|$)/.test(text.slice(at, at + 50)))) return at;
		const newline = text.indexOf("\n", at);
		if (newline === -1) return -1;
		at = newline + 1;
	}
	return -1;
}

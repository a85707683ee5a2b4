import type { JsonObject } from "../conversation/json.ts";
import { objectOf } from "./json-values.ts";

/** The keys of the conversation in a request body. */
const messageKeys = ["messages", "contents", "input"];

/**
 * The request body with the longest conversation in a VCR cassette (YAML, as go-vcr, vcrpy and Ruby's VCR write it); a later
 * one of equal length wins. `undefined` for any other text.
 */
export function readCassette(text: string): JsonObject | undefined {
	if (!/^(?:http_)?interactions:/m.test(text)) return undefined;
	let longest: { readonly body: JsonObject; readonly messages: number } | undefined;
	for (const body of requestBodies(text)) {
		const lists = messageKeys.map((key) => body[key]).filter(Array.isArray);
		const messages = Math.max(0, ...lists.map((list) => list.length));
		if (messages > 0 && messages >= (longest?.messages ?? 0)) longest = { body, messages };
	}
	return longest?.body;
}

/** Of the keys of a cassette, these are on lines of their own. In Ruby's VCR a body is a map with a `string`. */
const keyLine = /^([ \t]*(?:- )?)(request|response|body|string):[ \t]*/gm;

function* requestBodies(text: string): Generator<JsonObject> {
	let isRequest = false;
	for (const match of text.matchAll(keyLine)) {
		const [line, indent = "", key] = match;
		if (key === "request" || key === "response") isRequest = key === "request";
		else if (isRequest) {
			const body = parseJson(scalarAt(text, match.index + line.length, indent.length));
			if (body) yield body;
		}
	}
}

function parseJson(scalar: string | undefined): JsonObject | undefined {
	if (!scalar?.trimStart().startsWith("{")) return undefined;
	// Programs that mask secrets in cassettes leave single backslashes.
	for (const text of [scalar, scalar.replace(/\\(["\\/bfnrtu]?)/g, (pair, known) => (known ? pair : "\\\\"))]) {
		try {
			return objectOf(JSON.parse(text));
		} catch {
			// The next spelling, or a body that is no JSON.
		}
	}
	return undefined;
}

/** A scalar of YAML 1.2: in double quotes (7.3.1), in single quotes (7.3.2), a block (8.1) or plain on one line. */
function scalarAt(text: string, offset: number, indent: number): string | undefined {
	const first = text[offset];
	if (first === '"') {
		const quoted = /"([^"\\]*(?:\\[\s\S][^"\\]*)*)"/y;
		quoted.lastIndex = offset;
		return quoted
			.exec(text)?.[1]
			?.replace(/\\(x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4}|U[\dA-Fa-f]{8}|\r?\n[ \t]*|[\s\S])|[ \t]*\r?\n\s*/g, unescaped);
	}
	if (first === "'") {
		const quoted = /'([^']*(?:''[^']*)*)'/y;
		quoted.lastIndex = offset;
		return quoted
			.exec(text)?.[1]
			?.replace(/[ \t]*\r?\n\s*/g, folded)
			.replaceAll("''", "'");
	}
	if (first !== "|" && first !== ">") return text.slice(offset, endOfLine(text, offset));
	const lines: string[] = [];
	for (let start = endOfLine(text, offset) + 1; start < text.length; ) {
		const end = endOfLine(text, start);
		const line = text.slice(start, end);
		if (line.trim() !== "" && line.search(/\S/) <= indent) break;
		lines.push(line.trim());
		start = end + 1;
	}
	// JSON has no line breaks inside its strings, so that the kind of block makes no difference.
	return lines.join(" ");
}

function endOfLine(text: string, offset: number): number {
	const end = text.indexOf("\n", offset);
	return end === -1 ? text.length : end;
}

const escapes: Readonly<Record<string, string>> = {
	...{ "0": "\0", a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r", e: "\x1b" },
	...{ N: "\x85", _: "\xa0", L: "\u2028", P: "\u2029" },
};

function unescaped(match: string, escaped: string | undefined): string {
	if (escaped === undefined) return folded(match);
	if (/^[xuU]./.test(escaped)) {
		const code = Number.parseInt(escaped.slice(1), 16);
		return code <= 0x10_ffff ? String.fromCodePoint(code) : "\ufffd";
	}
	if (/^\r?\n/.test(escaped)) return "";
	return escapes[escaped] ?? escaped;
}

/** A line break is a space, and each empty line after it a line break (6.5). */
function folded(breaks: string): string {
	const count = breaks.split("\n").length - 2;
	return count === 0 ? " " : "\n".repeat(count);
}

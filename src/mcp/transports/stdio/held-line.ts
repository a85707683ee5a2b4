import { randomUUID } from "node:crypto";
import { scanJson } from "../../scan-json.ts";

/** A line that was read, for lines whose list of messages begins alike. */
export interface HeldLine {
	readonly bytes: Buffer;
	/** Where the first message begins, as far as a search can tell. */
	readonly start: number;
	/** What was read as `params.arguments.messages`; nobody else has this list. */
	readonly messages: readonly unknown[];
	/** All between the brackets of that list; looked for once it is asked for, and then it is sure that it is that list. */
	body: Buffer | "unknown" | "none";
}

/** What was read. */
export interface ReadLine {
	readonly message: unknown;
	/** What is worth holding of it. */
	readonly held: HeldLine | undefined;
}

/** Stands for messages that are known; nobody outside this process can know it. */
const marker = randomUUID();

/** Reads all of a line. */
export function readWhole(line: Buffer): ReadLine {
	const message: unknown = JSON.parse(line.toString("utf8"));
	const start = startOfMessages(line);
	const messages = start === -1 ? [] : (argumentsWithMessages(message)?.messages ?? []);
	const held: HeldLine = { bytes: line, start, messages: [...messages], body: "unknown" };
	return { message, held: messages.length === 0 ? undefined : held };
}

/** The earlier line with all of whose messages this one begins, the longest of several. */
export function longestBefore(lines: readonly HeldLine[], line: Buffer): HeldLine | undefined {
	const start = lines.length === 0 ? -1 : startOfMessages(line);
	if (start === -1) return undefined;
	let longest: { readonly held: HeldLine; readonly bytes: number } | undefined;
	for (const held of lines) {
		if (!beginsAlike(held, line, start)) continue;
		if (held.body === "unknown") held.body = bodyOf(held) ?? "none";
		const { body } = held;
		if (typeof body === "string" || body.length <= (longest?.bytes ?? 0)) continue;
		if (body.equals(line.subarray(start, start + body.length))) longest = { held, bytes: body.length };
	}
	return longest?.held;
}

/** Whether a quarter of an earlier line stands in this one too: looking for the end of its list takes longer. */
function beginsAlike(held: HeldLine, line: Buffer, start: number): boolean {
	const length = (held.bytes.length - held.start) >> 2;
	return held.bytes.subarray(held.start, held.start + length).equals(line.subarray(start, start + length));
}

/**
 * Reads a line whose list begins with the body of an earlier one: with a string in its place, which is then replaced by
 * the messages that were read from it. `undefined` where that does not give what reading the whole line gives.
 *
 * JSON is read from left to right, so what stands before the body is read alike; that the string comes out as the first of
 * the messages shows that the reader was in this list there, and that no later key of the same name replaced it. In that
 * very state the body was read as whole values. What follows is read alike behind a string as behind the last of them: a
 * blank, a comma or the end of the list. A number that would go on is an error behind a string, as is the rest of any
 * line that is an error anyway. The body begins and ends with a character of one byte, so that no other is cut.
 */
export function readOn(line: Buffer, { messages: known, body }: HeldLine): ReadLine | undefined {
	if (typeof body === "string") return undefined;
	const start = startOfMessages(line);
	const place = start + body.length;
	const read = readWithMarker(line, start, place);
	if (!read) return undefined;
	const messages = [...known, ...read.given.messages.slice(1)];
	read.given.messages = [...messages];
	const grown = line.subarray(start, scanJson(line).listEnd(place));
	return { message: read.message, held: { bytes: line, start, messages, body: grown } };
}

/** What stands between the brackets of a line's list, where what the search found is that list. */
function bodyOf({ bytes, start }: HeldLine): Buffer | undefined {
	const end = scanJson(bytes).skipValue(start - 1) - 1;
	return readWithMarker(bytes, start, end) && bytes.subarray(start, end);
}

/** Reads a line with the marker in the place of a part of it; `undefined` where that is not the first message then. */
function readWithMarker(line: Buffer, start: number, end: number) {
	let message: unknown;
	try {
		message = JSON.parse(`${line.toString("utf8", 0, start)}"${marker}"${line.toString("utf8", end)}`);
	} catch {
		return undefined;
	}
	const given = argumentsWithMessages(message);
	return given?.messages[0] === marker ? { message, given } : undefined;
}

const messagesKey = '"messages"';
const [colon, openBracket] = [0x3a, 0x5b];

/** Where the first message may begin: behind the first `"messages": [` of a line; -1 where there is none. */
function startOfMessages(line: Buffer): number {
	const { skipBlanks } = scanJson(line);
	for (let at = line.indexOf(messagesKey); at !== -1; at = line.indexOf(messagesKey, at + 1)) {
		const behindKey = skipBlanks(at + messagesKey.length);
		const value = skipBlanks(behindKey + 1);
		if (line[behindKey] === colon && line[value] === openBracket) return value + 1;
	}
	return -1;
}

/** The arguments of a tool call that hold a list of messages. */
function argumentsWithMessages(message: unknown): { messages: readonly unknown[] } | undefined {
	const given = memberOf(memberOf(message, "params"), "arguments");
	return Array.isArray(memberOf(given, "messages")) ? (given as { messages: unknown[] }) : undefined;
}

function memberOf(value: unknown, key: string): unknown {
	return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

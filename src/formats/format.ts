import type { MessageWriter, WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import {
	childPath,
	type MediaNode,
	type Message,
	type Path,
	type Role,
	type ThinkingBlock,
	type ToolCall,
	type ToolResult,
	type Transcript,
} from "../conversation/transcript.ts";
import { sha256Of } from "../json-text/value.ts";
import type { AnswerReader } from "./answer.ts";
import { asCountedText, stringAt } from "./json-values.ts";
import { tokensOfMedia } from "./media.ts";
import { type ReadMedia, readJsonTexts, type ToolContent } from "./parts.ts";

/** A wire format: how to recognise it, and where its texts are. It never converts a conversation. */
export interface Format {
	readonly name: string;
	readonly title: string;
	/** What makes a conversation of this format, for error messages. */
	readonly looksFor: string;
	readonly probe: (located: LocatedMessages) => Fit;
	/** Reads messages that fit. Never throws: it counts what it does not know. */
	readonly read: (located: LocatedMessages) => Transcript;
	/**
	 * The ids of all calls that anything in the list answers, read without the ties between records, so that the verifier
	 * notices a result that reading has lost. Absent where each value of the list is read as a message.
	 */
	readonly answeredCalls?: (located: LocatedMessages) => readonly string[];
	/** How the records of a session are tied to each other. Absent where a format has no such ties. */
	readonly links?: RecordLinks;
	/** How an answer of its API is read. Absent for session files. */
	readonly answer?: AnswerReader;
	/** How a message of plain text is written: a summary, a request to go on. */
	readonly write: MessageWriter;
}

export interface LocatedMessages {
	/** The request body, which has a model, tools and a system prompt beside the messages; or the document. */
	readonly document: unknown;
	/** Path of the list of messages in the whole document: empty for a bare list. */
	readonly base: Path;
	readonly messages: readonly unknown[];
}

/**
 * How well a list of messages fits a format. `certain`: something in it exists in this format only. `likely`: its shape
 * is this format's habit, though another would allow it. `possible`: nothing speaks against it.
 */
export type Fit =
	| { readonly fit: "certain" | "likely" | "possible" }
	| { readonly fit: "none"; readonly message: number; readonly expected: string };

/**
 * Where the records of a session name themselves and the record before them, as paths within a record. When records are
 * dropped, those that followed them are tied to the nearest that stays.
 */
export interface RecordLinks {
	readonly id: Path;
	readonly parent: Path;
	/** Where the record of a compaction names the first record that it kept. */
	readonly firstKept?: Path;
	/** The records of the conversation from the last one back: for ties that are missing or lead nowhere. */
	readonly chain?: (located: LocatedMessages) => readonly number[];
}

/** The roles that most APIs share. */
export const plainRoles: Readonly<Record<string, Role>> = { system: "system", user: "user", assistant: "assistant" };

/** The same where results are messages of their own. */
export const rolesWithTool: Readonly<Record<string, Role>> = { ...plainRoles, tool: "tool" };

/** The role that a message names, by a format's table; `unnamed` is the name where it names none. */
export function roleOf(message: JsonObject, roles: Readonly<Record<string, Role>>, unnamed = ""): Role {
	const name = stringAt(message, "role") ?? unnamed;
	return (Object.hasOwn(roles, name) && roles[name]) || "other";
}

/** `true`: only this format has such a value; `false`: others may have it too; a text: what was expected instead. */
type Probed = boolean | string;

/** Probes each value of a list. `otherwise` is the fit where none is certain: a text says what was looked for in vain. */
export function probeEach(
	values: readonly unknown[],
	otherwise: Fit | string,
	probe: (value: unknown, index: number) => Probed,
): Fit {
	let certain = false;
	for (let message = 0; message < values.length; message += 1) {
		const probed = probe(values[message], message);
		if (typeof probed === "string") return { fit: "none", message, expected: probed };
		certain ||= probed;
	}
	if (certain) return { fit: "certain" };
	return typeof otherwise === "string" ? { fit: "none", message: 0, expected: otherwise } : otherwise;
}

/** Probes a list of messages that are objects with a role. */
export function probeMessages(
	messages: readonly unknown[],
	otherwise: Fit | string,
	probe: (message: JsonObject, role: string) => Probed,
): Fit {
	return probeEach(messages, otherwise, (message) => {
		if (!isJsonObject(message)) return "an object with `role`";
		const role = stringAt(message, "role");
		return role === undefined ? "an object with a string `role`" : probe(message, role);
	});
}

/** The parts in which formats write calls and results: each belongs to few of them. */
const callParts: readonly string[] = ["tool_use", "tool_result", "tool-call", "tool-result", "toolCall"];

/** Probes parts that name their `type`: only this format has the types of `own`, and it has none of those of `foreign`. */
export function probeParts(
	parts: readonly unknown[],
	{ own, foreign }: { readonly own: readonly string[]; readonly foreign: readonly string[] },
	isOwn?: (part: JsonObject) => boolean,
): Probed {
	let certain = false;
	for (const part of parts) {
		if (!isJsonObject(part) || typeof part.type !== "string") return "content parts with a `type`";
		const { type } = part;
		if (own.includes(type) || isOwn?.(part)) certain = true;
		else if (callParts.includes(type) || foreign.includes(type)) {
			return `content parts of its own kinds, not \`${type}\``;
		}
	}
	return certain;
}

/** Reads a conversation value by value. `keys` are those of `readSurroundings`. */
export function readTranscript(
	format: string,
	located: LocatedMessages,
	keys: readonly string[],
	read: (value: JsonObject, path: Path, index: number) => Message | readonly Message[],
): Transcript {
	const { messages, base, document } = located;
	const found = messages.flatMap((value, index) => read(value as JsonObject, childPath(base, index), index));
	return transcriptOf(format, found, readSurroundings(document, keys));
}

export function transcriptOf(
	format: string,
	messages: readonly Message[],
	surroundings: readonly string[] = [],
): Transcript {
	return { format, messages, surroundings, opensWithUser: false };
}

/** The texts of a request body's own fields that each call sends along: tool schemas, a system prompt. */
export function readSurroundings(body: unknown, keys: readonly string[]): string[] {
	if (!isJsonObject(body)) return [];
	return keys.flatMap((key) => {
		const value = Object.hasOwn(body, key) ? body[key] : undefined;
		return value === undefined || value === null ? [] : [asCountedText(value)];
	});
}

/** A message while its parts are read. */
export interface MessageDraft extends Message {
	readonly paths: Path[];
	readonly counted: string[];
	readonly calls: ToolCall[];
	readonly results: ToolResult[];
	readonly thinking: ThinkingBlock[];
	mediaTokens: number;
}

export function startMessage(role: Role, path?: Path): MessageDraft {
	return { role, paths: path ? [path] : [], counted: [], mediaTokens: 0, calls: [], results: [], thinking: [] };
}

/** Counts values that are sent: a text as it is, anything else as JSON, null not at all. */
export function count(draft: MessageDraft, ...values: readonly unknown[]): void {
	for (const value of values) {
		if (value !== undefined && value !== null) draft.counted.push(asCountedText(value));
	}
}

/** Counts a part by its media where it holds any, else as JSON. */
export function countPart(draft: MessageDraft, part: unknown, media: MediaNode | undefined): void {
	if (!media) count(draft, part);
	draft.mediaTokens += media?.tokens ?? 0;
	for (const { text } of media?.texts ?? []) count(draft, text);
}

/** Adds a reasoning block and counts its text. `isItem`: OpenAI wants it beside the call that followed it. */
export function addThinking(draft: MessageDraft, path: Path, content: unknown, bound: boolean, isItem = false): void {
	const text = asCountedText(content);
	draft.thinking.push({ path, text, bound, ...(isItem ? { fixed: true } : {}) });
	count(draft, text);
}

/** Counts a value of any shape with its media, of which nothing is edited. */
export function countJson(draft: MessageDraft, value: unknown, path: Path, readMedia: ReadMedia): void {
	const { texts, media, counted } = readJsonTexts(value, path, readMedia);
	count(draft, ...counted, ...texts.map(({ text }) => text));
	draft.mediaTokens += tokensOfMedia(media);
}

/** Reads the parts of a content that is a list, and counts any other content and what is no object among the parts. */
export function readParts(
	content: unknown,
	path: Path,
	draft: MessageDraft,
	read: (part: JsonObject, path: Path, index: number) => void,
): void {
	if (!Array.isArray(content)) {
		count(draft, content);
		return;
	}
	content.forEach((part: unknown, index) => {
		if (isJsonObject(part)) read(part, childPath(path, index), index);
		else count(draft, part);
	});
}

/** Adds a call. Its name and its arguments are counted one behind the other, as `locateCallArguments` expects. */
export function addCall(draft: MessageDraft, id: string | undefined, name: string | undefined, input: unknown): void {
	draft.calls.push({ id, name });
	draft.counted.push(name ?? "", asCountedText(input));
}

type ReadResult = ToolContent & Pick<ToolResult, "callId"> & Partial<Pick<ToolResult, "copies" | "isError">>;

/** Adds a result, and counts what it holds beside its texts. */
export function addResult(draft: MessageDraft, result: ReadResult): void {
	// Much faster than spreading: conversations have thousands of results.
	const { callId, texts, whole, copies = none, media, isError } = result;
	draft.results.push({ callId, texts, whole, copies, media, isError });
	draft.counted.push(...result.counted);
	draft.mediaTokens += tokensOfMedia(media);
}

const none: readonly never[] = [];

/** One message made of several that were written apart. */
export function joinMessages(parts: readonly [Message, ...Message[]]): Message {
	if (parts.length === 1) return parts[0];
	return {
		...parts[0],
		paths: parts.flatMap(({ paths }) => paths),
		counted: parts.flatMap(({ counted }) => counted),
		mediaTokens: parts.reduce((sum, { mediaTokens }) => sum + mediaTokens, 0),
		calls: parts.flatMap(({ calls }) => calls),
		results: parts.flatMap(({ results }) => results),
		thinking: parts.flatMap(({ thinking }) => thinking),
	};
}

/** A call of a tool, or its result, at its place in a message. Its own id is absent where it has none. */
export interface Exchange {
	readonly kind: "call" | "result";
	readonly name: string | undefined;
	readonly ownId: string | undefined;
}

/**
 * The ids by which calls and results are paired in APIs that don't demand any, by message and part; `undefined` for parts
 * that are neither, and for results without an id that answer no call. Ids of the API's own count where both sides have
 * the same one. Where one side has none, a result answers the first open call of its name in the nearest message with
 * calls before it, and both go by the id that one of them has. Where neither has one they go by the tool's name and the
 * call's number among those of that name in its message (`read_file#1`): such an id stays the same when other messages
 * are dropped, and is readable in a placeholder. A result without a name answers the first open call of any.
 */
export function pairByPosition(messages: readonly (readonly (Exchange | undefined)[])[]): (string | undefined)[][] {
	const ids: (string | undefined)[][] = [];
	const seen = new Set<string>();
	let open: (Exchange & { readonly row: (string | undefined)[]; readonly part: number })[] = [];

	const answer = ({ name, ownId }: Exchange): string | undefined => {
		let position = ownId === undefined ? -1 : open.findIndex((call) => call.ownId === ownId);
		if (position === -1 && !(ownId !== undefined && seen.has(ownId))) {
			const fits = (call: Exchange) => name === undefined || call.name === name;
			position = open.findIndex((call) => fits(call) && (call.ownId === undefined || ownId === undefined));
		}
		const [call] = position === -1 ? [] : open.splice(position, 1);
		if (call && ownId !== undefined) call.row[call.part] = ownId;
		return call ? call.row[call.part] : ownId;
	};

	for (const parts of messages) {
		const row: (string | undefined)[] = [];
		ids.push(row);
		const numbers = new Map<string | undefined, number>();
		parts.forEach((exchange, part) => {
			if (exchange?.kind === "result") row[part] = answer(exchange);
			if (exchange?.kind !== "call") return;
			if (numbers.size === 0) open = [];
			const { name = "", ownId } = exchange;
			const number = (numbers.get(name) ?? 0) + 1;
			numbers.set(name, number);
			if (ownId !== undefined) seen.add(ownId);
			row[part] = ownId ?? `${name || "call"}#${number}`;
			open.push({ ...exchange, row, part });
		});
	}
	return ids;
}

/** An id in the shape of a UUID (version 8, RFC 9562) that is the same for the same text: writing uses no chance. */
export function idOfText(text: string): string {
	const hash = sha256Of(text);
	const groups = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`];
	return [...groups, hash.slice(20, 32)].join("-");
}

/** The members of a value at the given keys: what a record takes over from the one in whose place it is put. */
export function keptFields(value: unknown, keys: readonly string[]): JsonObject {
	if (!isJsonObject(value)) return {};
	return Object.fromEntries(keys.filter((key) => Object.hasOwn(value, key)).map((key) => [key, value[key]]));
}

/** A message as most chat APIs take one: its role, and its text as a string. */
export function plainMessage({ role, text }: WrittenMessage) {
	return { role, content: text };
}

import type { MessageWriter, WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import {
	childPath,
	type Message,
	type Path,
	type Role,
	type TextNode,
	type ThinkingBlock,
	type ToolCall,
	type ToolResult,
	type Transcript,
} from "../conversation/transcript.ts";
import { sha256Of } from "../json-text/value.ts";
import type { AnswerReader } from "./answer.ts";
import { asCountedText, idAt, none, stringAt } from "./json-values.ts";
import { tokensOfMedia } from "./media.ts";
import { type ReadMedia, readJsonTexts, readMcpResult, type TypedParts } from "./parts.ts";

/** Where request bodies hold their conversation: most APIs, Gemini, OpenAI Responses. */
export const messageKeys = ["messages", "contents", "input"] as const;

/**
 * Finds the list of messages in an object: in a request body; in one that a log, a batch or a JSON-RPC call holds
 * (`request`, `body`, `params`); or under any other key, where it is the only list that begins with a message.
 * `undefined` where there is none, and where there are two of which neither is the likelier.
 */
export function findMessages(document: JsonObject): LocatedMessages | undefined {
	const own = inBody(document, []);
	if (own) return own;
	const held = Object.entries(document).flatMap(([key, value]) =>
		isJsonObject(value) ? (inBody(value, [key]) ?? []) : [],
	);
	if (held.length > 0) return held.length === 1 ? held[0] : undefined;
	const [only, ...others] = Object.entries(document).filter(([, value]) => beginsWithMessage(value));
	return only && others.length === 0 ? { document, base: [only[0]], messages: only[1] as unknown[] } : undefined;
}

/** The request body of a conversation: what holds its model, its tools and its system prompt beside the messages. */
export function requestBody(document: unknown): unknown {
	return isJsonObject(document) ? (findMessages(document)?.document ?? document) : document;
}

function inBody(body: JsonObject, path: readonly string[]): LocatedMessages | undefined {
	for (const key of messageKeys) {
		const messages = Object.hasOwn(body, key) ? body[key] : undefined;
		if (Array.isArray(messages)) return { document: body, base: [...path, key], messages };
	}
	return undefined;
}

function beginsWithMessage(value: unknown): boolean {
	if (!Array.isArray(value)) return false;
	const first: unknown = value[0];
	return isJsonObject(first) && stringAt(first, "role") !== undefined;
}

/** A list without the room that lists are given to grow into: what is read of a message is kept, and most lists are empty. */
export function fittedList<Item>(list: readonly Item[]): readonly Item[] {
	return list.length === 0 ? none : list.slice();
}

/** An id in the shape of a UUID (version 8, RFC 9562) that is the same for the same text: writing uses no chance. */
export function idOfText(text: string): string {
	const hash = sha256Of(text);
	return [
		hash.slice(0, 8),
		hash.slice(8, 12),
		`8${hash.slice(13, 16)}`,
		`8${hash.slice(17, 20)}`,
		hash.slice(20, 32),
	].join("-");
}

/** Of what a value holds under the given keys, all that is its own: what a record put in its place takes over. */
export function keptFields(value: unknown, keys: readonly string[]): JsonObject {
	if (!isJsonObject(value)) return {};
	return Object.fromEntries(keys.filter((key) => Object.hasOwn(value, key)).map((key) => [key, value[key]]));
}

/** A message while its parts are read one after the other. */
export interface MessageDraft {
	readonly counted: string[];
	readonly calls: ToolCall[];
	readonly results: ToolResult[];
	readonly thinking: ThinkingBlock[];
	mediaTokens: number;
}

export function startMessage(): MessageDraft {
	return { counted: [], calls: [], results: [], thinking: [], mediaTokens: 0 };
}

export function finishMessage(role: Role, paths: readonly Path[], draft: MessageDraft): Message {
	return { role, paths, ...draft };
}

/** What was read of a result's content, with all that is counted of it. */
interface ReadResult extends ToolResult {
	/** What it costs beside its texts and its media. */
	readonly counted: readonly string[];
}

/** Adds a result with what it costs beside its texts. */
export function addResult(draft: MessageDraft, { counted, ...result }: ReadResult): void {
	draft.results.push(result);
	draft.counted.push(...counted);
	draft.mediaTokens += tokensOfMedia(result.media);
}

/** Adds the calls of a list whose items are `{id, arguments}` with the tool's name under a key of the format's own. */
export function addCalls(draft: MessageDraft, calls: unknown, nameKey: string): void {
	if (!Array.isArray(calls)) return;
	for (const call of calls as unknown[]) {
		if (!isJsonObject(call)) continue;
		const name = stringAt(call, nameKey);
		draft.calls.push({ id: idAt(call, "id"), name });
		draft.counted.push(name ?? "", asCountedText(call.arguments));
	}
}

/** A call of a tool, or what a tool returned, as it stands in a message. Its own id is absent where it has none. */
export interface Exchange {
	readonly kind: "call" | "result";
	readonly name: string | undefined;
	readonly ownId: string | undefined;
}

/** A call that waits for its result. */
interface OpenCall {
	readonly name: string | undefined;
	readonly ownId: string | undefined;
	/** Its place: which message, and which part of it. */
	readonly message: number;
	readonly part: number;
}

/**
 * The ids by which calls and results are paired in APIs that don't demand any, by message and part; `undefined` for parts
 * that are neither, and for results without an id that answer no call. Ids of the API's own count where both sides have
 * the same one. Where one side has none, a result answers the first open call of its name in the nearest message with
 * calls before it, and both go by the id that one of them has. Where neither has one they go by the tool's name and the
 * call's number among those of that name in its message (`read_file#1`): such an id stays the same when other messages
 * are dropped, and looks well in a placeholder. A result without a name answers the first open call of any.
 */
export function pairByPosition(messages: readonly (readonly (Exchange | undefined)[])[]): (string | undefined)[][] {
	const ids: (string | undefined)[][] = [];
	const seen = new Set<string>();
	let open: OpenCall[] = [];
	let turn = -1;
	messages.forEach((parts, message) => {
		const own: (string | undefined)[] = [];
		ids.push(own);
		const numbers = new Map<string, number>();
		parts.forEach((exchange, part) => {
			if (exchange?.kind === "call") {
				if (turn !== message) open = [];
				turn = message;
				const { name, ownId } = exchange;
				const number = (numbers.get(name ?? "") ?? 0) + 1;
				numbers.set(name ?? "", number);
				if (ownId !== undefined) seen.add(ownId);
				own[part] = ownId ?? `${name || "call"}#${number}`;
				open.push({ name, ownId, message, part });
			} else if (exchange) {
				own[part] = answer(exchange);
			}
		});
	});

	function answer({ name, ownId }: Exchange): string | undefined {
		const named = ownId === undefined ? -1 : open.findIndex((call) => call.ownId === ownId);
		if (ownId !== undefined && (named !== -1 || seen.has(ownId))) {
			if (named !== -1) open.splice(named, 1);
			return ownId;
		}
		const position = open.findIndex(
			(call) => (name === undefined || call.name === name) && (call.ownId === undefined || ownId === undefined),
		);
		const [call] = position === -1 ? [] : open.splice(position, 1);
		if (!call) return ownId;
		const row = ids[call.message] as (string | undefined)[];
		if (ownId !== undefined) row[call.part] = ownId;
		return row[call.part];
	}

	return ids;
}

/** A message as most chat APIs take one: its role, and its text as a string. */
export function plainMessage({ role, text }: WrittenMessage) {
	return { role, content: text };
}

/**
 * Probes a format that is known by something it alone has: it fits for certain where one message at least shows that and
 * no message contradicts it. `probeMessage` tells whether a message shows it; a text says what the message should have
 * been instead. `evidence` says what was looked for in vain.
 */
export function probeMessages(
	messages: readonly unknown[],
	evidence: string,
	probeMessage: (message: JsonObject, role: string) => boolean | string,
): Fit {
	let certain = false;
	for (let index = 0; index < messages.length; index += 1) {
		const outcome = probeOne(messages[index], probeMessage);
		if (typeof outcome === "string") return { fit: "none", message: index, expected: outcome };
		certain ||= outcome;
	}
	return certain ? { fit: "certain" } : { fit: "none", message: 0, expected: evidence };
}

function probeOne(message: unknown, probeMessage: (message: JsonObject, role: string) => boolean | string) {
	if (!isJsonObject(message)) return "an object with `role`";
	const role = stringAt(message, "role");
	return role === undefined ? "an object with a string `role`" : probeMessage(message, role);
}

/** Reads the messages of a format in which each value means the same whatever stands beside it. */
export function readEach(
	{ messages, base }: LocatedMessages,
	read: (message: JsonObject, path: Path, place: MessagePlace) => ReadValue,
): readonly Message[] {
	return messages.flatMap((value, index) => {
		const place = placeOfMessage(base, index);
		return read(value as JsonObject, place.path, place);
	});
}

/** Where a message stands that is one item of a list. */
export interface MessagePlace {
	readonly path: Path;
	/** The paths of all values that make up the message: this one. */
	readonly paths: readonly Path[];
	/** Path of its `content`. */
	readonly content: Path;
}

/** Lists longer than this are rare, and their places are made anew. */
const mostShared = 10_000;

// The places of one conversation are those of the next: made for each, they were one in seven of the objects that are kept of it.
const shared = new Map<string, MessagePlace[]>();

/** Keys that hold a list of messages in one API or another; no caller's own may fill memory. */
const sharedKeys: ReadonlySet<unknown> = new Set(["messages", "contents", "input"]);

/** The place of a list's item. Shared by conversations: nobody may change it. */
export function placeOfMessage(base: Path, index: number): MessagePlace {
	const [key = ""] = base;
	const isShared = index < mostShared && (base.length === 0 || (base.length === 1 && sharedKeys.has(key)));
	if (!isShared) return newPlace(base, index);
	let places = shared.get(key as string);
	if (!places) {
		places = [];
		shared.set(key as string, places);
	}
	for (let next = places.length; next <= index; next += 1) places.push(newPlace(base, next));
	return places[index] as MessagePlace;
}

function newPlace(base: Path, index: number): MessagePlace {
	const path = childPath(base, index);
	return { path, paths: [path], content: childPath(path, "content") };
}

/** The texts of a request body's own fields that each call sends along: tool schemas, a system prompt beside the messages. */
export function readSurroundings({ document }: LocatedMessages, keys: readonly string[]): string[] {
	if (!isJsonObject(document)) return [];
	return keys.flatMap((key) => {
		const value = Object.hasOwn(document, key) ? document[key] : undefined;
		return value === undefined || value === null ? [] : [asCountedText(value)];
	});
}

/**
 * How well a list of messages fits a format. `certain`: something in it exists in this format only. `likely`: its shape
 * is this format's habit, though another would allow it. `possible`: nothing speaks against it.
 */
export type Fit =
	| { readonly fit: "certain" | "likely" | "possible" }
	| { readonly fit: "none"; readonly message: number; readonly expected: string };

/** A document with the place of its messages. */
export interface LocatedMessages {
	/** What holds the messages beside a model, tools and a system prompt: the document, or a request body within it. */
	readonly document: unknown;
	/** Path of the list of messages in the whole document: empty for a bare list. */
	readonly base: Path;
	readonly messages: readonly unknown[];
}

/** What one value of a list of messages holds: a message, or several of them, or none. */
export type ReadValue = Message | readonly Message[];

/** A wire format: how to recognise it, and where its texts live. It never converts. */
export interface Format {
	readonly name: string;
	readonly title: string;
	/** What makes a conversation of this format, for error messages. */
	readonly looksFor: string;
	readonly probe: (located: LocatedMessages) => Fit;
	/** Reads messages that fit. Never throws: what it does not know is opaque. */
	readonly read: (located: LocatedMessages) => Transcript;
	/**
	 * The ids of all calls that anything in the list answers, read without looking at how its records are tied, so that
	 * the verifier notices a result that reading has lost. Absent where each value of the list is read as a message.
	 */
	readonly answeredCalls?: (located: LocatedMessages) => readonly string[];
	/** How the records of a session are tied to each other. Absent where a format has no such ties. */
	readonly links?: RecordLinks;
	/** How an answer of its API is read. Absent for session files. */
	readonly answer?: AnswerReader;
	/** How a message of plain text is written: a summary, a request to go on. */
	readonly write: MessageWriter;
}

/**
 * Where the records of a session name themselves and the record before them, as paths within a record. When records are
 * dropped, those that followed them are tied to the nearest that stays.
 */
export interface RecordLinks {
	readonly id: Path;
	readonly parent: Path;
	/** Where the record of a compaction names the first record that it kept. */
	readonly firstKept?: Path;
	/** The records of the conversation from the last one back: for ties that a record leaves unsaid or that lead nowhere. */
	readonly chain?: (located: LocatedMessages) => readonly number[];
}

/**
 * Reads the output of a tool in an API that takes any JSON for it. A text can be replaced where it stands alone or alone
 * in an object, and so can the blocks of a result of MCP; of all else the long strings may be cut.
 */
export function readWrappedValue(value: unknown, path: Path, readMedia: ReadMedia = () => undefined): TypedParts {
	const text = wrappedText(value, path);
	if (text) return { texts: [text], whole: { path: text.path, write: asText }, media: [], counted: [] };
	if (typeof value !== "object" || value === null) {
		return { texts: [], whole: undefined, media: [], counted: value === undefined ? [] : [asCountedText(value)] };
	}
	if (isJsonObject(value)) {
		const key = onlyMember(value);
		const inner = key === undefined ? undefined : value[key];
		const held = isJsonObject(inner) ? readMcpResult(inner, [...path, key as string], readMedia) : undefined;
		const result = held ?? readMcpResult(value, path, readMedia);
		if (result) return result;
	}
	return { ...readJsonTexts(value, path, readMedia), whole: undefined };
}

function asText(text: string): string {
	return text;
}

/**
 * The one text of a value that is a text, or an object around one text: `{output: "…"}`, `{result: "…"}`,
 * `{error: "…"}` or the same under another name, as APIs that take only objects make their users write it.
 */
export function wrappedText(value: unknown, path: Path): TextNode | undefined {
	if (typeof value === "string") return { path, text: value };
	if (!isJsonObject(value)) return undefined;
	const key = onlyMember(value);
	const text = key === undefined ? undefined : value[key];
	return key !== undefined && typeof text === "string" ? { path: [...path, key], text } : undefined;
}

/** The key of an object that holds a single value; null beside it says nothing: `{result: "…", error: null}`. */
export function onlyMember(object: JsonObject): string | undefined {
	const [key, ...others] = Object.keys(object).filter((name) => object[name] !== null);
	return others.length > 0 ? undefined : key;
}

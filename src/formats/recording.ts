import { createParser } from "eventsource-parser";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { idAt, listOf, objectOf, objectsOf, stringAt } from "./json-text/value.ts";

/** A conversation from a recording that is not JSON or holds it in pieces. It can be read but not edited. */
export interface Recording {
	readonly kind: "event stream" | "VCR cassette" | "VS Code chat log" | "Aider chat history";
	readonly conversation: unknown;
}

/** Reads an event stream of LangGraph (SSE), a VCR cassette, or Aider's chat history. `undefined` for any other text. */
export function readRecording(text: string): Recording | undefined {
	const body = readCassette(text);
	if (body) return { kind: "VCR cassette", conversation: body };
	const messages = readAiderHistory(text);
	if (messages) return { kind: "Aider chat history", conversation: { messages } };
	if (!/^\uFEFF?(?::.*\n|\s)*(?:event|data|id|retry):/.test(text)) return undefined;
	const conversation = readStream(text);
	return conversation === undefined ? undefined : { kind: "event stream", conversation };
}

/** Returns the last state if the stream has states, else its messages, whole or joined from pieces. */
function readStream(text: string): unknown {
	const events: StreamEvent[] = [];
	const parser = createParser({
		onEvent({ event = "message", data }) {
			try {
				events.push({ name: event, data: JSON.parse(data) });
			} catch {
				// Notices such as [DONE] are not JSON.
			}
		},
	});
	parser.feed(`${text}\n\n`);
	const state = events.findLast(({ data }) => listOf(objectOf(data).messages).length > 0);
	if (state) return state.data;
	const has = (kind: string) => events.some(({ name }) => name.split("|")[0]?.startsWith(kind));
	const messages = has("messages") ? langchainMessages(events) : chatMessages(events);
	const found = messages.length === 0 && has("updates") ? updatedMessages(events) : messages;
	return found.length > 0 ? { messages: found } : undefined;
}

interface StreamEvent {
	readonly name: string;
	readonly data: unknown;
}

type Writable = Record<string, unknown>;

/** Events `messages/partial` and `messages/complete` repeat a message; an event `messages` has a piece and its origin. */
function langchainMessages(events: readonly StreamEvent[]): Writable[] {
	const messages = new Map<string, Writable>();
	for (const { name, data } of events) {
		if (!name.startsWith("messages")) continue;
		const isPiece = name.split("|")[0] === "messages";
		for (const message of isPiece ? objectsOf(data).slice(0, 1) : objectsOf(data)) {
			const id = idAt(message, "id") ?? `#${messages.size}`;
			const known = isPiece ? messages.get(id) : undefined;
			if (!known) messages.set(id, { ...message });
			else {
				known.content = joined(known.content, message.content);
				known.tool_calls = [
					...listOf(known.tool_calls),
					...objectsOf(message.tool_calls).filter((call) => idAt(call, "id")),
				];
			}
		}
	}
	return [...messages.values()].filter(({ type }) => typeof type === "string");
}

/** An event `updates` has the messages that each node of the graph added. */
function updatedMessages(events: readonly StreamEvent[]): readonly JsonObject[] {
	const updates = events.filter(({ name }) => name === "updates").flatMap(({ data }) => Object.values(objectOf(data)));
	return updates.flatMap((update) => objectsOf(objectOf(update).messages));
}

function joined(before: unknown, piece: unknown): unknown {
	if (typeof before === "string" && typeof piece === "string") return before + piece;
	return [before, piece].flatMap((content) =>
		typeof content === "string" ? (content === "" ? [] : [{ type: "text", text: content }]) : listOf(content),
	);
}

/**
 * Pieces of messages by their id: `content`, `tool_calls`, `tool_call_chunks`; and results. A result without an id answers
 * the first open call.
 */
function chatMessages(events: readonly StreamEvent[]): Writable[] {
	const messages: Writable[] = [];
	const open: unknown[] = [];
	for (const { name, data } of events) {
		if (!isJsonObject(data)) continue;
		const answered = idAt(data, "tool_call_id");
		if (name === "tool_call_result" || answered !== undefined) {
			const at = answered === undefined ? 0 : open.indexOf(answered);
			const [call] = at === -1 ? [] : open.splice(at, 1);
			messages.push({ role: "tool", tool_call_id: answered ?? call, content: data.content ?? "" });
			continue;
		}
		const role = stringAt(data, "role");
		if (role === undefined) continue;
		let message = messages.findLast(({ id }) => id !== undefined && id === data.id);
		if (!message) {
			message = { id: data.id, role, content: "" };
			messages.push(message);
		}
		message.content = `${message.content}${stringAt(data, "content") ?? ""}`;
		open.push(...addCalls(message, data));
	}
	return messages.map(({ id: _, ...message }) => message);
}

/** Returns the ids of the added calls. A call comes whole, or in chunks of its arguments. The first chunk has its name and id. */
function addCalls(message: Writable, { tool_calls: calls, tool_call_chunks: chunks }: JsonObject): readonly unknown[] {
	const known = listOf(message.tool_calls) as { readonly id: unknown; readonly function: Writable }[];
	const added = objectsOf(calls).flatMap((call) => {
		const isEmpty = Object.keys(objectOf(call.args)).length === 0;
		const input = isEmpty && listOf(chunks).length > 0 ? "" : JSON.stringify(call.args ?? {});
		if (stringAt(call, "name") === undefined) return [];
		return [
			{
				id: idAt(call, "id") ?? `${call.name}#${message.id}`,
				type: "function",
				function: { name: call.name, arguments: input },
			},
		];
	});
	const all = [...known, ...added];
	if (all.length > 0) message.tool_calls = all;
	const last = all.at(-1);
	if (last && (added.length === 0 || last.function.arguments === "")) {
		for (const chunk of objectsOf(chunks)) last.function.arguments += stringAt(chunk, "args") ?? "";
	}
	return added.map(({ id }) => id);
}

/** The keys of the conversation in a request body. */
const messageKeys = ["messages", "contents", "input"];

/**
 * The request body with the longest conversation in a VCR cassette (YAML, as go-vcr, vcrpy and Ruby's VCR write it); a later
 * one of equal length wins. `undefined` for any other text.
 */
function readCassette(text: string): JsonObject | undefined {
	if (!/^(?:http_)?interactions:/m.test(text)) return undefined;
	let longest: { readonly body: JsonObject; readonly messages: number } | undefined;
	for (const body of requestBodies(text)) {
		const lists = messageKeys.map((key) => body[key]).filter(Array.isArray);
		const messages = Math.max(0, ...lists.map((list) => list.length));
		if (messages > 0 && messages >= (longest?.messages ?? 0)) longest = { body, messages };
	}
	return longest?.body;
}

/** Matches the keys of a cassette that are on lines of their own. In Ruby's VCR a body is a map with a `string`. */
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
	// Programs that remove secrets from cassettes leave single backslashes.
	for (const text of [scalar, scalar.replace(/\\(["\\/bfnrtu]?)/g, (pair, known) => (known ? pair : "\\\\"))]) {
		try {
			return objectOf(JSON.parse(text));
		} catch {
			// Try the next spelling; the body may also not be JSON.
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
	// Strings in JSON have no line breaks, so both kinds of block read the same.
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

/**
 * The messages in a `.aider.chat.history.md`, as Aider reads them back (`split_chat_history_markdown` in `aider/utils.py`):
 * lines that begin with `####` are the user's, those with `>` and titles are for the screen, all others the assistant's. `undefined`
 * for any other text.
 */
function readAiderHistory(text: string): readonly AiderMessage[] | undefined {
	if (!/^\uFEFF?\s*# aider chat started at \d/.test(text)) return undefined;
	const messages: AiderMessage[] = [];
	let open: { readonly role: AiderMessage["role"]; readonly lines: string[] } | undefined;
	const close = () => {
		const content = open?.lines.join("\n") ?? "";
		if (open && content.trim() !== "") messages.push({ role: open.role, content });
		open = undefined;
	};
	for (const line of text.split(/\r?\n/)) {
		if (line.startsWith("# ")) continue;
		if (line.startsWith("> ")) {
			close();
			continue;
		}
		const role = line.startsWith("#### ") ? "user" : "assistant";
		if (open?.role !== role) close();
		open ??= { role, lines: [] };
		open.lines.push(role === "user" ? line.slice("#### ".length) : line);
	}
	close();
	return messages;
}

interface AiderMessage {
	readonly role: "user" | "assistant";
	readonly content: string;
}

import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Message, Role } from "../engine/conversation/transcript.ts";
import { cacheIncludedUsage } from "./answer.ts";
import { linkBlock, linkCaller, linkTo, openLink } from "./block-links.ts";
import {
	contentPart,
	type Format,
	joinAnswers,
	keptFields,
	probeEach,
	readSurroundings,
	readTranscript,
	transcriptOf,
} from "./format.ts";
import { hiddenTokens } from "./hidden-reasoning.ts";
import { idAt, listOf, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.ts";
import { readMedia } from "./media.ts";
import { readChatMedia } from "./openai-chat.ts";
import { isOfAnswer, readAnswerItem, readOther } from "./openai-responses.ts";
import { MessageDraft, readJsonContent, readOpenContent, type ToolContent, textContent } from "./parts.ts";
import { readOutputContent } from "./response-outputs.ts";
import { outputCopies } from "./session-files.ts";

const langchainRoles: Readonly<Record<string, Role>> = {
	human: "user",
	ai: "assistant",
	tool: "tool",
	function: "tool",
	system: "system",
	developer: "system",
};

/** Messages of LangChain and LangGraph: plain, as `{type, data}`, or as a serialised constructor (`{lc: 1, id, kwargs}`). */
export const langchain: Format = {
	name: "langchain",
	title: "LangChain messages",
	looksFor:
		"LangChain messages (`type` human, ai, tool or system next to `content`; or the same in `kwargs` or `data`)",
	probe: ({ messages }) => probeEach(messages, "a message of `type` human or ai", probeLangchain),
	read: (located) => ({ ...readTranscript("langchain", located, ["tools"], readLangchain), plainInTurn: true }),
	write: {
		message: writeLangchain,
		part: { ...contentPart, lists: [["content"], ["kwargs", "content"], ["data", "content"]] },
		appends: true,
	},
};

function probeLangchain(value: unknown) {
	const { type, message } = langchainParts(value);
	if (type === undefined) return "an object with a `type` such as human or ai, or a serialised constructor";
	if (type === "remove") return false;
	const isKnown = Object.hasOwn(langchainRoles, type) || type === "chat";
	if (!isKnown && !Object.hasOwn(message, "content")) return "`content` in a message";
	const { content, tool_calls: calls } = message;
	if (isJsonObject(content) && type !== "tool") return "`content` as a string, a list of parts or null";
	if (calls != null && !listOf(calls).every(isJsonObject)) return "`tool_calls` of objects";
	return type === "human" || type === "ai";
}

/** The type of a message, its members, and the key that holds them. */
function langchainParts(value: unknown): {
	readonly type?: string;
	readonly message: JsonObject;
	readonly key?: string;
} {
	const outer = objectOf(value);
	if (outer.type === "constructor" && isJsonObject(outer.kwargs)) {
		const name = listOf(outer.id).at(-1);
		return typeof name === "string" && /Message(?:Chunk)?$/.test(name)
			? { type: typeOf(name), message: outer.kwargs, key: "kwargs" }
			: { message: outer };
	}
	const type = stringAt(outer, "type");
	if (type === undefined) return { message: outer };
	if (isJsonObject(outer.data) && !Object.hasOwn(outer, "content")) {
		return { type: typeOf(type), message: outer.data, key: "data" };
	}
	return { type: typeOf(type), message: outer };
}

/** For example `ai` for `AIMessageChunk`. */
function typeOf(name: string): string {
	return name.replace(/^([A-Z][A-Za-z]*)Message(?:Chunk)?$/, (_, kind: string) => kind.toLowerCase());
}

function readLangchain(value: JsonObject, at: Path): Message | readonly Message[] {
	const { type = "", message, key } = langchainParts(value);
	// A `remove` message only tells LangGraph to delete another message.
	if (type === "remove") return [];
	const path = key === undefined ? at : [...at, key];
	// `ChatMessage` names its role.
	const name = type === "chat" ? (stringAt(message, "role") ?? "") : type;
	const role =
		(Object.hasOwn(langchainRoles, name) && langchainRoles[name]) ||
		(name === "user" || name === "assistant" ? name : "other");
	const draft = new MessageDraft(role, at).setUsage(usageOf(message));
	const content = [...path, "content"];
	if (role === "tool") {
		const read = readOpenContent(message.content, content, readPartMedia);
		const isError = message.status === "error" || undefined;
		return draft.addResult({ callId: idAt(message, "tool_call_id"), ...read, isError });
	}
	const known = readCalls(message, draft);
	draft.count(stringAt(objectOf(message.additional_kwargs), "reasoning_content"));
	return draft.readParts(message.content, content, (part, place) => readLangchainPart(part, place, known, draft));
}

function usageOf({ usage_metadata: usage, response_metadata: response }: JsonObject) {
	const { input_tokens: input, input_token_details: details } = objectOf(usage);
	return cacheIncludedUsage({ input, cached: objectOf(details).cache_read, model: objectOf(response).model_name });
}

/** Reads the calls of an answer and returns their ids. The content may repeat these calls as parts. */
function readCalls(message: JsonObject, draft: MessageDraft): ReadonlySet<string | undefined> {
	const { function_call: only, tool_calls: ofApi } = objectOf(message.additional_kwargs);
	const given = [...objectsOf(message.tool_calls), ...objectsOf(message.invalid_tool_calls)];
	// Older versions keep the calls of the API only.
	const calls = given.length > 0 ? given : [...objectsOf(ofApi), ...(isJsonObject(only) ? [only] : [])];
	for (const call of calls) {
		const body = isJsonObject(call.function) ? call.function : call;
		draft.addCall(idAt(call, "id"), stringAt(body, "name"), body.args ?? body.arguments);
		linkCaller(call, draft);
	}
	return new Set(draft.calls.map(({ id }) => id));
}

const callParts: ReadonlySet<unknown> = new Set(["tool_use", "tool_call", "function_call"]);

function readLangchainPart(
	part: JsonObject,
	path: Path,
	known: ReadonlySet<string | undefined>,
	draft: MessageDraft,
): void {
	if (part.type === "text") draft.count(part.text);
	else if (callParts.has(part.type)) {
		const id = idAt(part, "call_id") ?? idAt(part, "id");
		if (!known.has(id)) draft.addCall(id, stringAt(part, "name"), part.input ?? part.args ?? part.arguments);
		linkCaller(part, draft);
	} else if (part.type === "thinking") {
		const hidden = hiddenTokens(part.thinking, part.signature);
		draft.addThinking(path, part.thinking, typeof part.signature === "string", false, hidden);
	} else if (part.type === "redacted_thinking") draft.addThinking(path, part, true, false, hiddenTokens("", part.data));
	else if (part.type === "reasoning") {
		const isItem = stringAt(part, "id")?.startsWith("rs_") ?? false;
		const isSigned = typeof objectOf(part.extras).signature === "string";
		draft.addThinking(path, part.reasoning ?? part.summary ?? "", isSigned, isItem);
	} else {
		// LangChain keeps values that it does not know unchanged.
		linkBlock(part.type === "non_standard" ? objectOf(part.value) : part, draft);
		draft.countPart(part, readPartMedia(part, path));
	}
}

/** Reads media in LangChain's own form, else in that of the APIs. */
function readPartMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const kind = (["image", "audio", "video", "file"] as const).find((type) => type === part.type);
	const data = stringAt(part, "base64") ?? stringAt(part, "data") ?? stringAt(part, "url");
	if (kind === undefined || data === undefined) return readChatMedia(part, path);
	const mediaType = stringAt(part, "mime_type") ?? stringAt(part, "mimeType");
	return readMedia({ path, provider: "any", data, mediaType, kind: kind === "file" ? "document" : kind });
}

const classes = { user: "HumanMessage", assistant: "AIMessage" } as const;

/** A message in the form of the one that it replaces. */
function writeLangchain({ role, text, instead }: WrittenMessage) {
	const { key, message } = langchainParts(instead);
	const type = role === "user" ? "human" : "ai";
	const content = { content: text, ...keptFields(message, ["id"]) };
	if (key === "data") return { type, data: { ...content, type } };
	if (key !== "kwargs") return { ...content, type };
	const id = listOf(objectOf(instead).id).slice(0, -1);
	return { ...keptFields(instead, ["lc", "type"]), id: [...id, classes[role]], kwargs: content };
}

/** Messages of PydanticAI. Its system prompts are parts of a request, and are read as messages of their own. */
export const pydanticAi: Format = {
	name: "pydantic-ai",
	title: "PydanticAI messages",
	looksFor: "PydanticAI messages (`kind` request or response, `parts` with a `part_kind`)",
	probe: ({ messages }) => probeEach(messages, "a message of `kind` request or response", probePydantic),
	read(located) {
		const transcript = readTranscript("pydantic-ai", located, ["tools"], readPydantic);
		// Each request has its instructions; the last ones are sent.
		const last = objectsOf(located.messages).findLast((message) => stringAt(message, "instructions"));
		const surroundings = last ? [...transcript.surroundings, String(last.instructions)] : transcript.surroundings;
		return { ...transcript, surroundings };
	},
	write: { message: writePydantic, appends: true },
};

function probePydantic(message: unknown) {
	if (!isJsonObject(message)) return "an object with `kind` and `parts`";
	const [kind, parts] = [stringAt(message, "kind"), Object.hasOwn(message, "parts") ? message.parts : undefined];
	if (kind !== "request" && kind !== "response") return "`kind` request or response";
	if (!Array.isArray(parts)) return "`parts` as a list";
	const isPart = (part: unknown) => isJsonObject(part) && stringAt(part, "part_kind") !== undefined;
	return parts.every(isPart) || "`parts` with a `part_kind` each";
}

/** One message, or two where a request has a system prompt and other parts. */
function readPydantic(message: JsonObject, path: Path): Message[] {
	const parts = [...listOf(message.parts).entries()];
	if (message.kind === "response") return [readParts("assistant", message, { path, parts })];
	const isSystem = ([, part]: [number, unknown]) => objectOf(part).part_kind === "system-prompt";
	const prompts = parts.filter(isSystem);
	const others = parts.filter((part) => !isSystem(part));
	const groups: [Role, typeof parts][] = [
		["system", prompts],
		["user", others],
	];
	const found = groups.filter(([, group]) => group.length > 0 || parts.length === 0);
	if (parts.length === 0 || found.length === 1)
		return found.slice(-1).map(([role, group]) => readParts(role, message, { path, parts: group }));
	return found.map(([role, group]) => ({
		...readParts(role, message, { path, parts: group }),
		paths: group.map(([index]) => [...path, "parts", index]),
	}));
}

function readParts(
	role: Role,
	message: JsonObject,
	{ path, parts }: { readonly path: Path; readonly parts: readonly [number, unknown][] },
): MessageDraft {
	const times = [message, ...objectsOf(parts.map(([, part]) => part))].map((one) => timeAt(one, "timestamp"));
	const draft = new MessageDraft(role, path).setTime(times.find((time) => time !== undefined));
	const { input_tokens: input, cache_read_tokens: cached } = objectOf(message.usage);
	if (role === "assistant") draft.setUsage(cacheIncludedUsage({ input, cached, model: message.model_name }));
	for (const [index, part] of parts) if (isJsonObject(part)) readPydanticPart(part, [...path, "parts", index], draft);
	return draft;
}

/** Tools that the provider runs: `builtin-tool-call`, and `native-tool-call` in later versions. */
const serverCall = /^[a-z]+-tool-call$/;
const serverReturn = /^[a-z]+-tool-return$/;

function readPydanticPart(part: JsonObject, path: Path, draft: MessageDraft): void {
	const kind = stringAt(part, "part_kind");
	const content = [...path, "content"];
	const callId = idAt(part, "tool_call_id");
	if (kind === "tool-call") {
		draft.addCall(callId, stringAt(part, "tool_name"), part.args);
		linkCaller(part, draft);
	} else if (kind === "tool-return") {
		const isError = part.outcome === "failed" || part.outcome === "denied" || undefined;
		draft.addResult({ callId, ...readJsonContent(part.content, content, readFile), isError });
	} else if (kind === "retry-prompt" && stringAt(part, "tool_name") !== undefined) {
		draft.addResult({ callId, ...readOpenContent(part.content, content), isError: true });
	} else if (kind === "thinking") {
		// OpenAI's reasoning items have an id. OpenAI checks no prefix.
		const isItem = stringAt(part, "id")?.startsWith("rs_") ?? false;
		draft.addThinking(path, part.content, !isItem && typeof part.signature === "string", isItem);
	} else if (serverCall.test(kind ?? "")) {
		openLink(callId, draft);
		draft.count(part.tool_name, part.args);
	} else if (serverReturn.test(kind ?? "")) {
		linkTo(callId, draft, stringAt(part, "tool_name") ?? "");
		draft.countJson(part.content, content, readFile);
	} else if (kind === "file") draft.countPart(part.content, readFile(objectOf(part.content), content));
	else if (Object.hasOwn(part, "content")) {
		draft.readParts(part.content, content, (file, at) => draft.countPart(file, readFile(file, at)));
	} else draft.count(part);
}

/** `BinaryContent` and the URLs of images, recordings and documents. */
function readFile(file: JsonObject, path: Path): MediaNode | undefined {
	const kind = stringAt(file, "kind") ?? "";
	const type = (["image", "audio", "video", "document"] as const).find((one) => kind === `${one}-url`);
	if (type === undefined && kind !== "binary") return undefined;
	const write = (text: string) => text;
	const mediaType = stringAt(file, "media_type");
	return readMedia({ path, provider: "any", data: file.data ?? file.url, mediaType, kind: type, write });
}

function writePydantic({ role, text, instead }: WrittenMessage) {
	const time = keptFields(instead, ["timestamp"]);
	const [first] = objectsOf(objectOf(instead).parts);
	if (role === "assistant") return { parts: [{ content: text, part_kind: "text" }], ...time, kind: "response" };
	const part = { content: text, ...keptFields(first, ["timestamp"]), part_kind: "user-prompt" };
	return { parts: [part], ...time, kind: "request" };
}

/**
 * Run items of the OpenAI Agents SDK (`new_items`, `generatedItems` of a run state), which hold an item of the Responses API, and the items
 * of its JavaScript edition, which has `callId` and `function_call_result`. A run state has positions and counts of its items, which
 * `RunState.fromString` checks (0.20), so that they are masked and cut, and none is dropped.
 */
export const openaiAgents: Format = {
	name: "openai-agents",
	title: "OpenAI Agents SDK",
	looksFor:
		"OpenAI Agents SDK items (`raw_item` or `rawItem` of a `type` such as tool_call_item; or items with `callId`)",
	probe: ({ messages }) =>
		probeEach(messages, "an item with `raw_item`, `rawItem` or `callId`", (value) => {
			const { item, key } = heldItem(value);
			const type = stringAt(item, "type");
			if (type === undefined && (key !== undefined || stringAt(item, "role") === undefined))
				return "an item with a `type`";
			return key === undefined ? stringAt(item, "callId") !== undefined : true;
		}),
	read({ messages: items, base, document }) {
		const found = items.map((value, index) => readRunItem(value, [...base, index]));
		const isRunState = Object.hasOwn(objectOf(document), "$schemaVersion");
		const messages = joinAnswers(found);
		return transcriptOf(
			"openai-agents",
			isRunState ? messages.map((message) => ({ ...message, stays: true as const })) : messages,
			readSurroundings(document, ["originalInput", "original_input"]),
		);
	},
	write: { message: writeRunItem, appends: true },
};

function heldItem(value: unknown): { readonly item: JsonObject; readonly key?: string } {
	const outer = objectOf(value);
	const key = ["raw_item", "rawItem"].find((name) => Object.hasOwn(outer, name) && isJsonObject(outer[name]));
	return key === undefined ? { item: outer } : { item: outer[key] as JsonObject, key };
}

function readRunItem(value: unknown, path: Path): Message {
	const { item: raw, key } = heldItem(value);
	const item = raw.callId === undefined ? raw : { ...raw, call_id: raw.callId };
	const type = (stringAt(raw, "type") ?? "message").replace(/_result$/, "_output");
	const at = key === undefined ? path : [...path, key];
	const text = stringAt(objectOf(raw.output), "text");
	if (isOfAnswer(item, type)) {
		const draft = new MessageDraft("assistant", path);
		readAnswerItem(item, type, at, draft);
		return draft;
	}
	const { results, ...other } = readOther(item, type, at);
	const [result] = results;
	if (!result) return { ...other, results, paths: [path] };
	const held: ToolContent =
		text === undefined
			? readOutputContent(raw.output, [...at, "output"])
			: textContent(text, [...at, "output", "text"]);
	const search = { record: objectOf(value), path, places: key === undefined ? [] : [["output"]], texts: held.texts };
	return new MessageDraft("tool", path).addResult({
		callId: result.callId,
		...held,
		...outputCopies(search),
		isError: result.isError,
	});
}

function writeRunItem({ role, text, instead }: WrittenMessage) {
	const content = [{ type: role === "user" ? "input_text" : "output_text", text }];
	const item = { type: "message", role, content, ...(role === "user" ? {} : { status: "completed" }) };
	const { key } = heldItem(instead);
	if (key === undefined && instead !== undefined) return item;
	return { type: "message_output_item", [key ?? "rawItem"]: item };
}

import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path, Role } from "../conversation/transcript.ts";
import { cacheIncludedUsage } from "./answer.ts";
import { type Format, keptFields, probeEach, readTranscript } from "./format.ts";
import { idAt, listOf, objectOf, objectsOf, stringAt } from "./json-values.ts";
import { readMedia } from "./media.ts";
import { readChatMedia } from "./openai-chat.ts";
import { MessageDraft, readOpenContent } from "./parts.ts";

const roles: Readonly<Record<string, Role>> = {
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
	looksFor: "LangChain messages (`type` human, ai, tool or system beside `content`; or the same in `kwargs` or `data`)",
	probe: ({ messages }) => probeEach(messages, "a message of `type` human or ai", probe),
	read: (located) => readTranscript("langchain", located, ["tools"], readMessage),
	write: { message: writeMessage, appends: true },
};

function probe(value: unknown) {
	const { type, message } = partsOf(value);
	if (type === undefined) return "an object with a `type` such as human or ai, or a serialised constructor";
	if (type === "remove") return false;
	const isKnown = Object.hasOwn(roles, type) || type === "chat";
	if (!isKnown && !Object.hasOwn(message, "content")) return "`content` in a message";
	const { content, tool_calls: calls } = message;
	if (isJsonObject(content) && type !== "tool") return "`content` as a string, a list of parts or null";
	if (calls != null && !listOf(calls).every(isJsonObject)) return "`tool_calls` of objects";
	return type === "human" || type === "ai";
}

/** The type of a message, its members, and the key that holds them. */
function partsOf(value: unknown): { readonly type?: string; readonly message: JsonObject; readonly key?: string } {
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

function readMessage(value: JsonObject, at: Path): Message | readonly Message[] {
	const { type = "", message, key } = partsOf(value);
	// A `remove` message only tells LangGraph to delete another message.
	if (type === "remove") return [];
	const path = key === undefined ? at : [...at, key];
	// `ChatMessage` names its role.
	const name = type === "chat" ? (stringAt(message, "role") ?? "") : type;
	const role =
		(Object.hasOwn(roles, name) && roles[name]) || (name === "user" || name === "assistant" ? name : "other");
	const draft = new MessageDraft(role, at).setUsage(usageOf(message));
	const content = [...path, "content"];
	if (role === "tool") {
		const read = readOpenContent(message.content, content, readPartMedia);
		const isError = message.status === "error" || undefined;
		return draft.addResult({ callId: idAt(message, "tool_call_id"), ...read, isError });
	}
	const known = readCalls(message, draft);
	draft.count(stringAt(objectOf(message.additional_kwargs), "reasoning_content"));
	return draft.readParts(message.content, content, (part, place) => readPart(part, place, known, draft));
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
	}
	return new Set(draft.calls.map(({ id }) => id));
}

const callParts: ReadonlySet<unknown> = new Set(["tool_use", "tool_call", "function_call"]);

function readPart(part: JsonObject, path: Path, known: ReadonlySet<string | undefined>, draft: MessageDraft): void {
	if (part.type === "text") draft.count(part.text);
	else if (callParts.has(part.type)) {
		const id = idAt(part, "call_id") ?? idAt(part, "id");
		if (!known.has(id)) draft.addCall(id, stringAt(part, "name"), part.input ?? part.args ?? part.arguments);
	} else if (part.type === "thinking") draft.addThinking(path, part.thinking, typeof part.signature === "string");
	else if (part.type === "redacted_thinking") draft.addThinking(path, part, true);
	else if (part.type === "reasoning") {
		const isItem = stringAt(part, "id")?.startsWith("rs_") ?? false;
		const isSigned = typeof objectOf(part.extras).signature === "string";
		draft.addThinking(path, part.reasoning ?? part.summary ?? "", isSigned, isItem);
	} else draft.countPart(part, readPartMedia(part, path));
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
function writeMessage({ role, text, instead }: WrittenMessage) {
	const { key, message } = partsOf(instead);
	const type = role === "user" ? "human" : "ai";
	const content = { content: text, ...keptFields(message, ["id"]) };
	if (key === "data") return { type, data: { ...content, type } };
	if (key !== "kwargs") return { ...content, type };
	const id = listOf(objectOf(instead).id).slice(0, -1);
	return { ...keptFields(instead, ["lc", "type"]), id: [...id, classes[role]], kwargs: content };
}

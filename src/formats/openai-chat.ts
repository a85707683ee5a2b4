import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { childPath, type Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Message, Role } from "../engine/conversation/transcript.ts";
import {
	type CallInput,
	cacheIncludedUsage,
	callsAmong,
	finishResponse,
	type GivenCall,
	type LastResponse,
	textsOf,
} from "./answer.ts";
import { readAnthropicMedia } from "./anthropic.ts";
import {
	contentPart,
	type Exchange,
	type Fit,
	type Format,
	type LocatedMessages,
	pairByPosition,
	plainMessage,
	probeCalls,
	probeEach,
	probeMessages,
	probeParts,
	readTranscript,
	roleOf,
	rolesWithTool,
} from "./format.ts";
import { hasMember, idAt, listOf, memberAt, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { MessageDraft, readToolContent } from "./parts.ts";

/** AG-UI has reasoning in messages of their own. */
const roles: Readonly<Record<string, Role>> = {
	...rolesWithTool,
	developer: "system",
	function: "tool",
	reasoning: "assistant",
};

const partTypes = {
	own: ["image_url", "input_audio", "refusal"],
	foreign: ["input_text", "output_text", "input_image"],
};

export const openaiChat: Format = {
	name: "openai-chat",
	title: "OpenAI Chat Completions",
	looksFor:
		'OpenAI Chat Completions messages (`role` and `content`, calls in `tool_calls[].function`, results in `role: "tool"`)',
	probe: ({ messages }) => probeMessages(messages, { fit: "possible" }, probeChatMessage),
	read: (located) => ({
		...readTranscript("openai-chat", located, ["system", "tools", "functions"], readChatMessage),
		plainInTurn: true,
	}),
	write: { message: plainMessage, part: contentPart, appends: true },
	answer: {
		shape: "{choices}, a choice {finish_reason, message} or {finish_reason, content, tool_calls} of Chat Completions",
		read: readAnswer,
	},
};

function probeChatMessage(message: JsonObject, role: string) {
	// A record of another role without content (a checkpoint, a count of tokens) is not a message.
	if (!Object.hasOwn(roles, role)) return Object.hasOwn(message, "content") ? false : "`content` in a message";
	const { parts, contents, content } = message;
	if ((parts ?? contents) !== undefined) return "`content`, not `parts` or `contents`";
	const called = probeCalls(callsOf(message), isCall, "`id`, and `function` with `name` and `arguments`");
	if (typeof called === "string") return called;
	const certain = called || ["tool", "function", "developer"].includes(role);
	if (Array.isArray(content)) {
		// Programs put any value that a tool returned into a result (docs/strategies.md#eligibility).
		const isTyped = (part: unknown) => typeof objectOf(part).type === "string";
		const fit =
			roles[role] === "tool"
				? probeParts(content.filter(isTyped), { ...partTypes, foreign: [] })
				: probeParts(content, partTypes);
		return typeof fit === "string" ? fit : certain || fit;
	}
	if (isJsonObject(content) && role !== "tool") return "`content` as a string, a list of parts or null";
	return certain;
}

/** AG-UI has the same messages in camelCase. */
function callsOf({ tool_calls: calls, toolCalls }: JsonObject): unknown {
	const isCamelCase = listOf(toolCalls).some((call) => isJsonObject(objectOf(call).function));
	return calls ?? (isCamelCase ? toolCalls : undefined);
}

/** A call may have only an id; its tool is then unknown. */
function isCall(call: JsonObject): boolean {
	if (bodyOf(call) !== call) return true;
	// In Inspect AI `function` is the tool's name. Only tau2-bench has `requestor`.
	const isForeign = typeof call.function === "string" || Object.hasOwn(call, "requestor");
	return !isForeign && idAt(call, "id") !== undefined;
}

/** The object with the name and the arguments of a call: the call itself if it has no `function`, as in some programs. */
function bodyOf(call: JsonObject): JsonObject {
	if (isJsonObject(call.function)) return call.function;
	return isJsonObject(call.custom) ? call.custom : call;
}

/** Keys of plain reasoning: DeepSeek, OpenRouter and vLLM, Ollama. Some endpoints send it under two of them. */
const reasoningKeys = ["reasoning_content", "reasoning", "thinking"];

function readChatMessage(message: JsonObject, path: Path): Message {
	const draft = new MessageDraft(roleOf(message, roles), path);
	const { extra } = message;
	// mini-swe-agent keeps the time and the whole answer of the API with a message.
	if (isJsonObject(extra)) {
		const { usage, model } = objectOf(extra.response);
		const { prompt_tokens: input, prompt_tokens_details: details } = objectOf(usage);
		const cached = objectOf(details).cached_tokens;
		draft.setTime(timeAt(extra, "timestamp")).setUsage(cacheIncludedUsage({ input, cached, model }));
	}
	readCalls(message, draft);
	draft.count(stringAt(message, "name"), stringAt(message, "refusal"));
	readReasoningDetails(message, path, draft);
	// If a gateway sends both, the plain text repeats the details.
	const reasoning = draft.thinking.length > 0 ? undefined : reasoningKeys.find((key) => stringAt(message, key));
	if (reasoning !== undefined) draft.count(message[reasoning]);
	const { content } = message;
	const at = childPath(path, "content");
	if (draft.role === "tool") {
		// SWE-agent keeps the call's id in a list and sends the first one.
		const [first] = listOf(message.tool_call_ids);
		const named = message.role === "function" ? idOfFunction(stringAt(message, "name")) : undefined;
		// Events of OpenTelemetry have the call's id as their own.
		const own =
			idAt(message, "tool_call_id") ?? idAt(message, Object.hasOwn(message, "event.name") ? "id" : "toolCallId");
		const callId = own ?? ((typeof first === "string" && first) || named);
		// AG-UI has the error of a failed tool beside its output.
		const isError = stringAt(message, "error") ? true : undefined;
		draft.addResult({ callId, ...readToolContent(content, at, readChatMedia), isError });
	} else if (message.role === "reasoning") {
		draft.addThinking(path, content, stringAt(message, "encryptedValue") !== undefined);
	} else draft.readParts(content, at, readPart);
	return draft;
}

function readCalls(message: JsonObject, draft: MessageDraft): void {
	const { function_call: only } = message;
	for (const call of listOf(callsOf(message))) {
		// The probe does not check messages of unknown roles.
		if (!isJsonObject(call)) {
			draft.count(call);
			continue;
		}
		const body = bodyOf(call);
		draft.addCall(idAt(call, "id"), stringAt(body, "name"), body.arguments ?? body.input ?? body.args);
	}
	if (isJsonObject(only)) {
		const name = stringAt(only, "name");
		draft.addCall(idOfFunction(name), name, only.arguments);
	}
}

/** The older `function_call` and its answer, `role: "function"`, have no ids: the nearest call of the same name counts. */
function idOfFunction(name: string | undefined): string | undefined {
	return name ? `${name}#1` : undefined;
}

/** Reasoning of OpenRouter and LiteLLM. It stays, since they require it back unchanged with the calls after it. */
function readReasoningDetails(message: JsonObject, path: Path, draft: MessageDraft): void {
	for (const key of ["reasoning_details", "thinking_blocks"]) {
		for (const [index, block] of listOf(message[key]).entries()) {
			if (!isJsonObject(block)) continue;
			const text = ["text", "summary", "thinking"].map((name) => stringAt(block, name) ?? "").join("");
			const bound = Boolean(stringAt(block, "signature") || stringAt(block, "data"));
			draft.addThinking([...path, key, index], text, bound, true);
		}
	}
}

function readPart(part: JsonObject, path: Path, draft: MessageDraft): void {
	const text = part.type === "text" ? stringAt(part, "text") : undefined;
	if (text !== undefined) {
		draft.count(text);
	} else if (part.type === "think") {
		// Kimi's reasoning.
		draft.addThinking(path, part.think, Boolean(stringAt(part, "encrypted")));
	} else draft.countPart(part, readChatMedia(part, path));
}

export function readChatMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const type = stringAt(part, "type") ?? "";
	const holder = isJsonObject(part[type]) ? part[type] : {};
	const provider = "openai";
	// Compatible endpoints also accept sound and video by URL.
	const kind = (["image", "audio", "video"] as const).find((one) => type === `${one}_url`);
	if (kind) {
		const data = stringAt(holder, "url") ?? part[type];
		return readMedia({ path, provider, data, kind, detail: stringAt(holder, "detail") });
	}
	if (type === "input_audio") {
		const format = stringAt(holder, "format");
		const mediaType = format === undefined ? undefined : `audio/${format}`;
		return readMedia({ path, provider, data: holder.data, mediaType, kind: "audio" });
	}
	if (type === "file") return readMedia({ path, provider, data: holder.file_data, kind: "document" });
	// Gateways accept the parts of other APIs as well, and programs pass on the blocks of MCP servers.
	return readAnthropicMedia(part, path) ?? readInlineMedia(part, path);
}

/** Accepts `choices`, one choice (Cohere), or message and finish reason in one object (docs/compaction.md#cut-answers). */
function readAnswer(response: JsonObject): LastResponse | undefined {
	if (!Array.isArray(response.choices)) return readChoice(response);
	if (response.choices.length === 0) return finishResponse({ reason: undefined, texts: [], calls: [] });
	const [choice] = response.choices as readonly unknown[];
	return isJsonObject(choice) ? readChoice(choice) : undefined;
}

function readChoice(choice: JsonObject): LastResponse | undefined {
	const reasonKeys = ["finish_reason", "finishReason"];
	const { message } = choice;
	// Without a reason or a `message`, this may be any message.
	if (!isJsonObject(message) && !hasMember(choice, ...reasonKeys)) return undefined;
	const answer = isJsonObject(message) ? message : choice;
	// Messages of other formats (a UI message with `parts`) have none of these.
	if (!hasMember(answer, "content", "text", "tool_calls", "toolCalls", "function_call")) return undefined;
	if (isJsonObject(answer.content)) return undefined;
	// Other APIs and clients write calls as parts, which are not read here.
	if (objectsOf(answer.content).some((part) => /tool|function/i.test(stringAt(part, "type") ?? ""))) return undefined;
	return finishResponse({ reason: memberAt(choice, ...reasonKeys), ...readChatAnswer(answer) });
}

function readChatAnswer(message: JsonObject): { readonly texts: string[]; readonly calls: GivenCall[] } {
	const spoken = textsOf(memberAt(message, "content", "text"));
	const texts = spoken.length > 0 ? spoken : [stringAt(message, "refusal") ?? ""];
	const given = objectsOf(memberAt(message, "tool_calls", "toolCalls"));
	const { function_call: only } = message;
	const all: readonly JsonObject[] = given.length === 0 && isJsonObject(only) ? [{ function: only }] : given;
	const calls = callsAmong(all, (call) => {
		const body = bodyOf(call);
		const value = memberAt(body, "arguments", "args", "parameters");
		const input: CallInput = body === call.custom ? { kind: "text" } : { kind: "json", value };
		return { id: idAt(call, "id"), name: idAt(body, "name"), input };
	});
	return { texts, calls };
}

/** `context.jsonl` of Kimi CLI. Its own records are not sent. A failed tool is marked only in the text (`<system>ERROR: …`). */
export const kimiContext: Format = {
	name: "kimi-context",
	title: "Kimi CLI context",
	looksFor: "Kimi CLI context (Chat Completions messages between records of `role` _checkpoint or _usage)",
	probe: ({ messages }) =>
		messages.some(isOwnRecord)
			? probeMessages(messages, "", (message, role) => isOwnRecord(message) || probeChatMessage(message, role))
			: { fit: "none", message: 0, expected: "a record of `role` _checkpoint, _usage or _system_prompt among them" },
	read: (located) => readTranscript("kimi-context", located, [], readRecord),
	write: { message: plainMessage, appends: false },
};

function isOwnRecord(record: unknown): boolean {
	const { role, id, content, token_count: tokens } = objectOf(record);
	if (role === "_checkpoint") return typeof id === "number" && content === undefined;
	if (role === "_usage") return typeof tokens === "number";
	return role === "_system_prompt" && typeof content === "string";
}

function readRecord(record: JsonObject, path: Path): Message[] {
	if (!isOwnRecord(record)) return [readChatMessage(record, path)];
	return record.role === "_system_prompt" ? [{ ...readChatMessage(record, path), role: "system" }] : [];
}

/** `/api/chat` of Ollama. A result may name its tool instead of an id. Source: `Message` in Ollama's `api/types.go`. */
export const ollama: Format = {
	name: "ollama",
	title: "Ollama",
	looksFor: 'Ollama messages (calls with `arguments` as an object, results in `role: "tool"` with `tool_name`)',
	probe: probeOllama,
	read(located) {
		const ids = pairByPosition(located.messages.map(exchangesOf));
		const transcript = readTranscript("ollama", located, ["tools"], (message, path, index) =>
			readOllamaMessage(message, path, ids[index] ?? []),
		);
		return { ...transcript, plainInTurn: true };
	},
	write: { message: plainMessage, part: contentPart, appends: true },
	answer: { shape: "{message, done_reason} of Ollama", read: readOllamaAnswer },
};

function probeOllama(located: LocatedMessages): Fit {
	const chat = openaiChat.probe(located);
	if (chat.fit === "none") return chat;
	const evidence =
		"a call without an id or with an `index`, a result with `tool_name`, or `images`, among the messages";
	return probeEach(located.messages, evidence, (message) => {
		if (!isJsonObject(message)) return false;
		if (Array.isArray(message.content)) return "`content` as a string";
		const calls = objectsOf(message.tool_calls);
		const bodies = calls.map((call) => objectOf(call.function));
		// Ollama refuses the string of Chat Completions; programs write objects in both formats.
		if (!bodies.every((body) => isJsonObject(body.arguments))) return "a call's `arguments` as an object";
		return (
			(message.role === "tool" && stringAt(message, "tool_name") !== undefined) ||
			listOf(message.images).some((image) => typeof image === "string") ||
			calls.some((call) => idAt(call, "id") === undefined) ||
			bodies.some((body) => typeof body.index === "number")
		);
	});
}

function exchangesOf(message: unknown): readonly Exchange[] {
	if (!isJsonObject(message)) return [];
	if (message.role === "tool") {
		// Older examples of Ollama's library use `name`.
		const name = stringAt(message, "tool_name") ?? stringAt(message, "name");
		return [{ kind: "result", name, ownId: idAt(message, "tool_call_id") }];
	}
	return objectsOf(message.tool_calls).map((call) => {
		const body = isJsonObject(call.function) ? call.function : call;
		return { kind: "call", name: stringAt(body, "name"), ownId: idAt(call, "id") };
	});
}

function readOllamaMessage(value: JsonObject, path: Path, ids: readonly (string | undefined)[]): Message {
	const message = readChatMessage(value, path);
	// Only counted: a text cannot replace an image, since the list accepts only images.
	const images = listOf(value.images).map((data) => readMedia({ path, provider: "any", data, kind: "image" }));
	return {
		...message,
		mediaTokens: images.reduce((sum, { tokens }) => sum + tokens, message.mediaTokens),
		calls: message.calls.map((call, index) => ({ ...call, id: ids[index] ?? call.id })),
		results: message.results.map((result) => ({ ...result, callId: ids[0] ?? result.callId })),
	};
}

/** `/api/chat` answers with `message`, `/api/generate` with `response`. */
function readOllamaAnswer(response: JsonObject): LastResponse | undefined {
	if (!hasMember(response, "done_reason", "done")) return undefined;
	const { done_reason: reason, message } = response;
	if (isJsonObject(message)) return finishResponse({ reason, ...readChatAnswer(message) });
	const text = stringAt(response, "response");
	return text === undefined ? undefined : finishResponse({ reason, texts: [text], calls: [] });
}

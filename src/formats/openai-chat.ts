import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { childPath, type MediaNode, type Message, type Path, type Role } from "../conversation/transcript.ts";
import { type CallInput, finishResponse, type GivenCall, type LastResponse, textsOf } from "./answer.ts";
import { readAnthropicMedia } from "./anthropic.ts";
import {
	addCall,
	addResult,
	addThinking,
	count,
	countPart,
	type Format,
	type MessageDraft,
	plainMessage,
	probeMessages,
	probeParts,
	readParts,
	readTranscript,
	roleOf,
	rolesWithTool,
	startMessage,
} from "./format.ts";
import { hasMember, idAt, listOf, memberAt, objectsOf, stringAt } from "./json-values.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { readToolContent } from "./parts.ts";

const roles: Readonly<Record<string, Role>> = { ...rolesWithTool, developer: "system", function: "tool" };

const partTypes = {
	own: ["image_url", "input_audio", "refusal"],
	foreign: ["input_text", "output_text", "input_image"],
};

/** OpenAI Chat Completions, as OpenAI and the many compatible endpoints speak it. */
export const openaiChat: Format = {
	name: "openai-chat",
	title: "OpenAI Chat Completions",
	looksFor:
		'OpenAI Chat Completions messages (`role` and `content`, calls in `tool_calls[].function`, results in `role: "tool"`)',
	probe: ({ messages }) => probeMessages(messages, { fit: "possible" }, probeChatMessage),
	read: (located) => readTranscript("openai-chat", located, ["system", "tools", "functions"], readChatMessage),
	write: { message: plainMessage, appends: true },
	answer: {
		shape: "{choices}, a choice {finish_reason, message} or {finish_reason, content, tool_calls} of Chat Completions",
		read: readAnswer,
	},
};

/** Probes a message with a role. */
export function probeChatMessage(message: JsonObject, role: string) {
	// A record of another role that says nothing (a checkpoint, a count of tokens) is no message.
	if (!Object.hasOwn(roles, role)) return Object.hasOwn(message, "content") ? false : "`content` in a message";
	const { parts, tool_calls: calls, content } = message;
	if (parts !== undefined) return "`content`, not `parts`";
	if (calls !== undefined && calls !== null) {
		if (!Array.isArray(calls)) return "`tool_calls` as a list";
		if (!calls.every(isCall)) return "`tool_calls` whose items hold `id`, and `function` with `name` and `arguments`";
	}
	const certain = ["tool", "function", "developer"].includes(role) || listOf(calls).length > 0;
	if (Array.isArray(content)) {
		// Programs put the value that a tool returned into a result as it is: opaque (docs/specs/observation-masking.md#eligibility).
		const isTyped = (part: unknown) => isJsonObject(part) && typeof part.type === "string";
		const probed = roles[role] === "tool" ? content.filter(isTyped) : content;
		const fit = probeParts(probed, partTypes);
		return typeof fit === "string" ? fit : certain || fit;
	}
	if (isJsonObject(content) && role !== "tool") return "`content` as a string, a list of parts or null";
	return certain;
}

/** A call may say nothing but its id; its tool is then unknown. */
function isCall(call: unknown): boolean {
	if (!isJsonObject(call)) return false;
	if (bodyOf(call) !== call) return true;
	// A tool's name as `function` is Inspect AI's, a `requestor` tau2-bench's.
	const isForeign = typeof call.function === "string" || Object.hasOwn(call, "requestor");
	return !isForeign && idAt(call, "id") !== undefined;
}

/** What holds the name and the arguments of a call: the call itself where it has no `function`, as some programs write it. */
function bodyOf(call: JsonObject): JsonObject {
	if (isJsonObject(call.function)) return call.function;
	return isJsonObject(call.custom) ? call.custom : call;
}

/** Fields of plain reasoning: DeepSeek and others, OpenRouter and vLLM, Ollama. Some endpoints give it under two names. */
const reasoningKeys = ["reasoning_content", "reasoning", "thinking"];

/** Reads one message, for this format and for records that hold such messages. */
export function readChatMessage(message: JsonObject, path: Path): Message {
	const draft = startMessage(roleOf(message, roles), path);
	readCalls(message, draft);
	count(draft, stringAt(message, "name"), stringAt(message, "refusal"));
	readReasoningDetails(message, path, draft);
	// Where a gateway gives both, the plain text is that of the details.
	const reasoning = draft.thinking.length > 0 ? undefined : reasoningKeys.find((key) => stringAt(message, key));
	if (reasoning !== undefined) count(draft, message[reasoning]);
	const { content } = message;
	const at = childPath(path, "content");
	if (draft.role === "tool") {
		addResult(draft, { callId: answeredCall(message), ...readToolContent(content, at, readChatMedia) });
	} else {
		readParts(content, at, draft, (part, partPath) => readPart(part, partPath, draft));
	}
	return draft;
}

/** The call that a result answers: SWE-agent keeps its id in a list, and sends the first of them. */
function answeredCall(message: JsonObject): string | undefined {
	const [first] = listOf(message.tool_call_ids);
	return idAt(message, "tool_call_id") ?? ((typeof first === "string" && first) || undefined);
}

function readCalls({ tool_calls: calls, function_call: only }: JsonObject, draft: MessageDraft): void {
	for (const call of listOf(calls)) {
		// Of roles that the format does not know, nothing is checked before.
		if (!isJsonObject(call)) {
			count(draft, call);
			continue;
		}
		const body = bodyOf(call);
		addCall(draft, idAt(call, "id"), stringAt(body, "name"), body.arguments ?? body.input ?? body.args);
	}
	// The older `function_call` has no id; its answer, `role: "function"`, is paired by position.
	if (isJsonObject(only)) addCall(draft, undefined, stringAt(only, "name"), only.arguments);
}

/**
 * Reasoning that gateways hand through beside the content: OpenRouter's `reasoning_details`, LiteLLM's
 * `thinking_blocks`. They want it back as it was with the calls that it led to, so it stays.
 */
function readReasoningDetails(message: JsonObject, path: Path, draft: MessageDraft): void {
	for (const key of ["reasoning_details", "thinking_blocks"]) {
		const blocks = message[key];
		if (!Array.isArray(blocks)) continue;
		blocks.forEach((block: unknown, index) => {
			if (!isJsonObject(block)) return;
			const text = ["text", "summary", "thinking"].map((name) => stringAt(block, name) ?? "").join("");
			const bound = Boolean(stringAt(block, "signature") || stringAt(block, "data"));
			addThinking(draft, [...path, key, index], text, bound, true);
		});
	}
}

function readPart(part: JsonObject, path: Path, draft: MessageDraft): void {
	const text = part.type === "text" ? stringAt(part, "text") : undefined;
	if (text !== undefined) {
		count(draft, text);
	} else if (part.type === "think") {
		// Reasoning as Kimi writes it.
		addThinking(draft, path, part.think, Boolean(stringAt(part, "encrypted")));
	} else countPart(draft, part, readChatMedia(part, path));
}

/** Parts of Chat Completions that refer to media by URL. The last two are of compatible endpoints. */
const urlParts: Readonly<Record<string, MediaNode["kind"]>> = {
	image_url: "image",
	audio_url: "audio",
	video_url: "video",
};

/** Reads a part of a content that holds an image, a recording or a file. */
function readChatMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const type = stringAt(part, "type") ?? "";
	const holder = isJsonObject(part[type]) ? part[type] : {};
	const provider = "openai";
	if (Object.hasOwn(urlParts, type)) {
		const data = stringAt(holder, "url") ?? part[type];
		return readMedia({ path, provider, data, kind: urlParts[type], detail: stringAt(holder, "detail") });
	}
	if (type === "input_audio") {
		const format = stringAt(holder, "format");
		const mediaType = format === undefined ? undefined : `audio/${format}`;
		return readMedia({ path, provider, data: holder.data, mediaType, kind: "audio" });
	}
	if (type === "file") return readMedia({ path, provider, data: holder.file_data, kind: "document" });
	// Gateways take the parts of other APIs as well, and programs pass on what an MCP server returned.
	return readAnthropicMedia(part, path) ?? readInlineMedia(part, path);
}

/**
 * Chat Completions as OpenAI, Mistral and the many compatible endpoints answer, whole or put together from a stream, so
 * that the arguments of a call may be a text that ends anywhere; one choice of it, which is also how Cohere answers; or
 * its message and finish reason in one object, as clients keep them (docs/specs/robustness.md#cut-answers).
 */
function readAnswer(response: JsonObject): LastResponse | undefined {
	if (!Array.isArray(response.choices)) return readChoice(response);
	if (response.choices.length === 0) return finishResponse({ reason: undefined, texts: [], calls: [] });
	const [choice] = response.choices as readonly unknown[];
	return isJsonObject(choice) ? readChoice(choice) : undefined;
}

function readChoice(choice: JsonObject): LastResponse | undefined {
	const reasonKeys = ["finish_reason", "finishReason"];
	const { message } = choice;
	// An object that says neither why it ended nor has a `message` may be any message.
	if (!isJsonObject(message) && !hasMember(choice, ...reasonKeys)) return undefined;
	const answer = isJsonObject(message) ? message : choice;
	// A message of others (a UI message of `parts`) has none of these.
	if (!hasMember(answer, "content", "text", "tool_calls", "toolCalls", "function_call")) return undefined;
	if (isJsonObject(answer.content)) return undefined;
	// A call among the parts of a content, as other APIs and clients write it, would be overlooked here.
	if (objectsOf(answer.content).some((part) => /tool|function/i.test(stringAt(part, "type") ?? ""))) return undefined;
	return finishResponse({ reason: memberAt(choice, ...reasonKeys), ...readChatAnswer(answer) });
}

/** Reads the text and the calls of a message. */
export function readChatAnswer(message: JsonObject): { readonly texts: string[]; readonly calls: GivenCall[] } {
	const spoken = textsOf(memberAt(message, "content", "text"));
	const texts = spoken.length > 0 ? spoken : [stringAt(message, "refusal") ?? ""];
	const given = objectsOf(memberAt(message, "tool_calls", "toolCalls"));
	// The older `function_call` has no id and is the only one.
	const { function_call: only } = message;
	const all = given.length === 0 && isJsonObject(only) ? [{ function: only }] : given;
	const calls = all.map((call: JsonObject, index): GivenCall => {
		const body = bodyOf(call);
		const value = memberAt(body, "arguments", "args", "parameters");
		const input: CallInput = body === call.custom ? { kind: "text" } : { kind: "json", value };
		return { id: idAt(call, "id"), name: idAt(body, "name"), input, endsAnswer: index === all.length - 1 };
	});
	return { texts, calls };
}

import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import {
	childPath,
	type MediaNode,
	type Message,
	type Path,
	type Role,
	type ThinkingBlock,
	type ToolCall,
} from "../conversation/transcript.ts";
import {
	type CallInput,
	finishResponse,
	type GivenCall,
	hasMember,
	type LastResponse,
	memberAt,
	objectsOf,
	textsOf,
} from "./answer.ts";
import { readAnthropicMedia } from "./anthropic.ts";
import {
	type Fit,
	type Format,
	fittedList,
	type LocatedMessages,
	type MessagePlace,
	plainMessage,
	readEach,
	readSurroundings,
} from "./format.ts";
import { asCountedText, idAt, none, stringAt } from "./json-values.ts";
import { readInlineMedia, readMedia, tokensOfMedia } from "./media.ts";
import { readResultContent, readToolContent } from "./parts.ts";

const looksFor =
	'OpenAI Chat Completions messages (`role` and `content`, calls in `tool_calls[].function`, results in `role: "tool"`)';

const knownRoles: Readonly<Record<string, Role>> = {
	system: "system",
	developer: "system",
	user: "user",
	assistant: "assistant",
	tool: "tool",
	function: "tool",
};

/** Part types that only Chat Completions has. */
const ownParts = new Set(["image_url", "input_audio", "refusal"]);

/** Part types that belong to formats which make their tool calls inside the content. */
const foreignParts = new Set([
	"tool_use",
	"tool_result",
	"tool-call",
	"tool-result",
	"toolCall",
	"input_text",
	"output_text",
	"input_image",
]);

// Records around such messages are probed as these are, one format after the other.
const probed = new WeakMap<LocatedMessages, Fit>();

/** What holds an answer in a message; another's message (a UI message of `parts`) has none of these. */
const answerKeys = ["content", "text", "tool_calls", "toolCalls", "function_call"] as const;

/** OpenAI Chat Completions, as OpenAI and the many compatible endpoints speak it. */
export const openaiChat: Format = {
	name: "openai-chat",
	title: "OpenAI Chat Completions",
	looksFor,
	probe,
	read(located) {
		return {
			format: "openai-chat",
			messages: readEach(located, readChatMessage),
			surroundings: readSurroundings(located, ["system", "tools", "functions"]),
			opensWithUser: false,
		};
	},
	write: { message: plainMessage, appends: true },
	answer: {
		shape: "{choices}, a choice {finish_reason, message} or {finish_reason, content, tool_calls} of Chat Completions",
		read: readAnswer,
	},
};

function probe(located: LocatedMessages): Fit {
	let fit = probed.get(located);
	if (!fit) {
		fit = probeAll(located);
		probed.set(located, fit);
	}
	return fit;
}

function probeAll({ messages }: LocatedMessages): Fit {
	let certain = false;
	for (let message = 0; message < messages.length; message += 1) {
		const outcome = probeChatMessage(messages[message]);
		if (typeof outcome === "string") return { fit: "none", message, expected: outcome };
		certain ||= outcome;
	}
	return { fit: certain ? "certain" : "possible" };
}

/** Whether the message can only be of this format; a text says what it should have been instead. */
export function probeChatMessage(message: unknown): boolean | string {
	if (!isJsonObject(message)) return "an object with `role`";
	const role = stringAt(message, "role");
	if (role === undefined) return "an object with a string `role`";
	// A record of another role that says nothing (a checkpoint, a count of tokens) is no message.
	if (!Object.hasOwn(knownRoles, role)) return Object.hasOwn(message, "content") ? false : "`content` in a message";
	if (message.parts !== undefined) return "`content`, not `parts`";
	const calls = message.tool_calls;
	if (calls !== undefined && calls !== null) {
		if (!Array.isArray(calls)) return "`tool_calls` as a list";
		if (!calls.every(isCall)) return "`tool_calls` whose items hold `id`, and `function` with `name` and `arguments`";
	}
	let certain = role === "tool" || role === "function" || role === "developer";
	certain ||= Array.isArray(calls) && calls.length > 0;
	const { content } = message;
	if (Array.isArray(content)) {
		for (const part of content) {
			if (!isJsonObject(part) || typeof part.type !== "string") {
				// Some programs put the tool's value into the result: opaque (docs/specs/observation-masking.md#eligibility).
				if (knownRoles[role] === "tool") continue;
				return "content parts with a `type`";
			}
			if (foreignParts.has(part.type)) return `content parts of its own kinds, not \`${part.type}\``;
			certain ||= ownParts.has(part.type);
		}
	} else if (isJsonObject(content) && role !== "tool") {
		return "`content` as a string, a list of parts or null";
	}
	return certain;
}

/** A call may have nothing but its id; its tool is then unknown. */
function isCall(call: unknown): boolean {
	if (!isJsonObject(call)) return false;
	if (bodyOf(call) !== call) return true;
	// A tool's name as `function` is Inspect AI's, a `requestor` tau2-bench's.
	const isForeign = typeof call.function === "string" || Object.hasOwn(call, "requestor");
	return !isForeign && idAt(call, "id") !== undefined;
}

/** Where the name and the arguments of a call stand; beside its id where it has no `function`, as some programs write it. */
function bodyOf(call: JsonObject): JsonObject {
	if (isJsonObject(call.function)) return call.function;
	return isJsonObject(call.custom) ? call.custom : call;
}

/** Reads one message, for this format and for records that hold such messages. */
export function readChatMessage(message: JsonObject, path: Path, place?: MessagePlace): Message {
	const paths = place?.paths ?? [path];
	const contentPath = place?.content ?? childPath(path, "content");
	const roleName = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(knownRoles, roleName) && knownRoles[roleName]) || "other";
	const counted: string[] = [];
	const calls = readCalls(message, counted);
	const details = readReasoningDetails(message, path);
	pushText(counted, message, "name");
	pushText(counted, message, "refusal");
	// Where a gateway gives both, the plain text is that of the details.
	if (details.length === 0) pushReasoning(counted, message);
	if (role !== "tool" && typeof message.content === "string") {
		for (const { text } of details) counted.push(text);
		counted.push(message.content);
		return {
			role,
			paths,
			counted: fittedList(counted),
			mediaTokens: 0,
			calls,
			results: none,
			thinking: details,
		};
	}
	if (role === "tool") {
		const { texts, whole, media, counted: beside } = readToolContent(message.content, contentPath, readChatMedia);
		for (const { text } of details) counted.push(text);
		counted.push(...beside);
		const results = [{ callId: answeredCall(message), texts, whole, copies: none, media, isError: undefined }];
		const mediaTokens = tokensOfMedia(media);
		return { role, paths, counted: fittedList(counted), mediaTokens, calls, results, thinking: details };
	}
	const content = readResultContent(message.content, contentPath, readChatMedia);
	const thinkParts = readThinkParts(message.content, contentPath);
	const thinking = thinkParts.length === 0 ? details : [...thinkParts, ...details];
	for (const { text } of thinking) counted.push(text);
	for (const part of content.others) if (!isThinkPart(part)) counted.push(asCountedText(part));
	const mediaTokens = tokensOfMedia(content.media);
	for (const { text } of content.texts) counted.push(text);
	return { role, paths, counted: fittedList(counted), mediaTokens, calls, results: none, thinking };
}

/** The call that a result answers: SWE-agent keeps its id in a list, and sends the first of them. */
function answeredCall(message: JsonObject): string | undefined {
	const id = idAt(message, "tool_call_id");
	if (id !== undefined || !Array.isArray(message.tool_call_ids)) return id;
	const first: unknown = message.tool_call_ids[0];
	return typeof first === "string" && first !== "" ? first : undefined;
}

function pushText(counted: string[], message: JsonObject, key: string): void {
	const text = stringAt(message, key);
	if (text) counted.push(text);
}

/** Where endpoints keep plain reasoning: DeepSeek and others, OpenRouter and vLLM, Ollama. Some give it under two names. */
const reasoningKeys = ["reasoning_content", "reasoning", "thinking"];

function pushReasoning(counted: string[], message: JsonObject): void {
	const key = reasoningKeys.find((name) => stringAt(message, name));
	if (key !== undefined) pushText(counted, message, key);
}

/** Reasoning as Kimi writes it among the parts of a content. */
function isThinkPart(part: unknown): part is JsonObject {
	return isJsonObject(part) && part.type === "think";
}

function readThinkParts(content: unknown, path: Path): readonly ThinkingBlock[] {
	if (!Array.isArray(content)) return none;
	return content.flatMap((part: unknown, index): ThinkingBlock[] =>
		isThinkPart(part)
			? [{ path: [...path, index], text: asCountedText(part.think), bound: Boolean(stringAt(part, "encrypted")) }]
			: [],
	);
}

const detailsKeys = ["reasoning_details", "thinking_blocks"] as const;

/**
 * Reasoning that gateways hand through beside the content: OpenRouter's `reasoning_details`, LiteLLM's
 * `thinking_blocks`. They want it back as it was with the calls that it led to, so it stays.
 */
function readReasoningDetails(message: JsonObject, path: Path): readonly ThinkingBlock[] {
	if (!Object.hasOwn(message, "reasoning_details") && !Object.hasOwn(message, "thinking_blocks")) return none;
	return detailsKeys.flatMap((key) => {
		const blocks = Object.hasOwn(message, key) ? message[key] : undefined;
		if (!Array.isArray(blocks)) return [];
		return blocks.flatMap((block: unknown, index): ThinkingBlock[] => {
			if (!isJsonObject(block)) return [];
			const texts = ["text", "summary", "thinking"].map((name) => stringAt(block, name) ?? "");
			const bound = Boolean(stringAt(block, "signature") || stringAt(block, "data"));
			return [{ path: [...path, key, index], text: texts.join(""), bound, fixed: true }];
		});
	});
}

function readCalls(message: JsonObject, counted: string[]): readonly ToolCall[] {
	if (!Array.isArray(message.tool_calls) && !isJsonObject(message.function_call)) return none;
	const calls: ToolCall[] = [];
	if (Array.isArray(message.tool_calls)) {
		for (const call of message.tool_calls as unknown[]) {
			// Of roles that the format does not know, nothing is checked before.
			if (!isJsonObject(call)) {
				counted.push(asCountedText(call));
				continue;
			}
			const body = bodyOf(call);
			calls.push({ id: idAt(call, "id"), name: stringAt(body, "name") });
			counted.push(stringAt(body, "name") ?? "", asCountedText(body.arguments ?? body.input ?? body.args));
		}
	}
	// The older `function_call` has no id; its answer, `role: "function"`, is paired by position.
	if (isJsonObject(message.function_call)) {
		const { function_call: call } = message;
		calls.push({ id: undefined, name: stringAt(call, "name") });
		counted.push(stringAt(call, "name") ?? "", asCountedText(call.arguments));
	}
	return fittedList(calls);
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

function readChoice(choice: JsonObject) {
	const reasonKeys = ["finish_reason", "finishReason"] as const;
	const { message } = choice;
	// What says neither why it ended nor stands where an answer does may be any message.
	if (!isJsonObject(message) && !hasMember(choice, ...reasonKeys)) return undefined;
	const answer = isJsonObject(message) ? message : choice;
	if (!hasMember(answer, ...answerKeys) || isJsonObject(answer.content)) return undefined;
	if (objectsOf(answer.content).some(isCallOfOthers)) return undefined;
	return finishResponse({ reason: memberAt(choice, ...reasonKeys), ...readChatAnswer(answer) });
}

/** A call among the parts of a content, as other APIs and clients write it, would be overlooked here. */
function isCallOfOthers(part: JsonObject): boolean {
	return /tool|function/i.test(stringAt(part, "type") ?? "");
}

/** Reads the text and the calls of a message. */
export function readChatAnswer(message: JsonObject) {
	const spoken = textsOf(memberAt(message, "content", "text"));
	const texts = spoken.length > 0 ? spoken : [stringAt(message, "refusal") ?? ""];
	const given = objectsOf(memberAt(message, "tool_calls", "toolCalls"));
	// The older `function_call` has no id and is the only one.
	const { function_call: only } = message;
	const all = given.length === 0 && isJsonObject(only) ? [{ function: only }] : given;
	return { texts, calls: all.map((call, index) => readAnsweredCall(call, index === all.length - 1)) };
}

function readAnsweredCall(call: JsonObject, endsAnswer: boolean): GivenCall {
	const { custom } = call;
	const body = isJsonObject(call.function) ? call.function : isJsonObject(custom) ? custom : call;
	const value = memberAt(body, "arguments", "args", "parameters");
	const input: CallInput = body === custom ? { kind: "text" } : { kind: "json", value };
	return { id: idAt(call, "id"), name: idAt(body, "name"), input, endsAnswer };
}

/** Parts of Chat Completions that refer to media by URL. The last two are of compatible endpoints. */
const urlParts: Readonly<Record<string, MediaNode["kind"]>> = {
	image_url: "image",
	audio_url: "audio",
	video_url: "video",
};

/** Reads a part of a Chat Completions content that holds an image, a recording or a file. */
export function readChatMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const type = stringAt(part, "type") ?? "";
	const holder = isJsonObject(part[type]) ? (part[type] as JsonObject) : {};
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

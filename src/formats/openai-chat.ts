import type { Message, Role, ToolCall, ToolResult } from "../engine/transcript.ts";
import type { Fit, Format, LocatedMessages } from "./format.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "./json-values.ts";
import { readResultContent } from "./part-list.ts";
import { readSurroundings } from "./surroundings.ts";

/**
 * Tokens assumed for an image: the most that OpenAI's guide gives for a GPT-4o image in high detail (2 048 × 4 096:
 * 85 + 6 tiles of 170). Source: platform.openai.com/docs/guides/images-vision, "Calculating costs".
 */
const imageTokens = 1_105;

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

/** OpenAI Chat Completions, as OpenAI and the many compatible endpoints speak it. */
export const openaiChat: Format = {
	name: "openai-chat",
	title: "OpenAI Chat Completions",
	looksFor,
	probe,
	read(located) {
		return {
			format: "openai-chat",
			messages: located.messages.map((message, index) => readMessage(message as JsonObject, [...located.base, index])),
			surroundings: readSurroundings(located, ["tools", "functions"]),
			opensWithUser: false,
		};
	},
};

function probe({ messages }: LocatedMessages): Fit {
	let certain = false;
	for (const [message, value] of messages.entries()) {
		const outcome = probeMessage(value);
		if (typeof outcome === "string") return { fit: "none", message, expected: outcome };
		certain ||= outcome;
	}
	return { fit: certain ? "certain" : "possible" };
}

/** Whether the message can only be of this format; a text says what it should have been instead. */
function probeMessage(message: unknown): boolean | string {
	if (!isJsonObject(message)) return "an object with `role`";
	const role = stringAt(message, "role");
	if (role === undefined) return "an object with a string `role`";
	if (!Object.hasOwn(knownRoles, role)) return false;
	if (message.parts !== undefined) return "`content`, not `parts`";
	const calls = message.tool_calls;
	if (calls !== undefined && calls !== null) {
		if (!Array.isArray(calls)) return "`tool_calls` as a list";
		const isCall = (call: unknown) => isJsonObject(call) && (isJsonObject(call.function) || isJsonObject(call.custom));
		if (!calls.every(isCall)) return "`tool_calls` whose items hold `function` with `name` and `arguments`";
	}
	let certain = role === "tool" || role === "function" || role === "developer";
	certain ||= Array.isArray(calls) && calls.length > 0;
	const { content } = message;
	if (Array.isArray(content)) {
		for (const part of content) {
			if (!isJsonObject(part) || typeof part.type !== "string") return "content parts with a `type`";
			if (foreignParts.has(part.type)) return `content parts of its own kinds, not \`${part.type}\``;
			certain ||= ownParts.has(part.type);
		}
	} else if (isJsonObject(content) && role !== "tool") {
		return "`content` as a string, a list of parts or null";
	}
	return certain;
}

function readMessage(message: JsonObject, path: readonly (string | number)[]): Message {
	const roleName = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(knownRoles, roleName) && knownRoles[roleName]) || "other";
	const counted: string[] = [];
	const calls = readCalls(message, counted);
	for (const key of ["name", "refusal", "reasoning_content"]) {
		const text = stringAt(message, key);
		if (text) counted.push(text);
	}
	const results: ToolResult[] = [];
	let mediaTokens = 0;
	const countOthers = (parts: readonly unknown[]) => {
		for (const part of parts) {
			if (isJsonObject(part) && part.type === "image_url") mediaTokens += imageTokens;
			else counted.push(asCountedText(part));
		}
	};
	const content = readResultContent(message.content, [...path, "content"]);
	countOthers(content.others);
	if (role === "tool") {
		const callId = idAt(message, "tool_call_id");
		results.push({ callId, texts: content.texts, whole: content.whole, copies: [], media: [], isError: undefined });
	} else {
		counted.push(...content.texts.map((node) => node.text));
	}
	return { role, paths: [path], counted, mediaTokens, calls, results, thinking: [] };
}

function readCalls(message: JsonObject, counted: string[]): ToolCall[] {
	const calls: ToolCall[] = [];
	if (Array.isArray(message.tool_calls)) {
		for (const call of message.tool_calls as JsonObject[]) {
			const body = isJsonObject(call.function) ? call.function : call.custom;
			if (!isJsonObject(body)) continue;
			calls.push({ id: idAt(call, "id"), name: stringAt(body, "name") });
			counted.push(stringAt(body, "name") ?? "", asCountedText(body.arguments ?? body.input));
		}
	}
	// The older `function_call` has no id; its answer, `role: "function"`, is paired by position.
	if (isJsonObject(message.function_call)) {
		const { function_call: call } = message;
		calls.push({ id: undefined, name: stringAt(call, "name") });
		counted.push(stringAt(call, "name") ?? "", asCountedText(call.arguments));
	}
	return calls;
}

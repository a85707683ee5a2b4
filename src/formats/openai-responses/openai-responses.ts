import type { WrittenMessage } from "../../engine/message-writer.ts";
import {
	type CallInput,
	finishResponse,
	type GivenCall,
	type GivenResponse,
	hasMember,
	type LastResponse,
	objectsOf,
} from "../answer.ts";
import type { Fit, Format, LocatedMessages } from "../format.ts";
import { idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readSurroundings } from "../surroundings.ts";
import { isSearchByProvider } from "./response-answer.ts";
import { readResponseItems } from "./response-items.ts";

const looksFor =
	"OpenAI Responses items (messages with `input_text` or `output_text` parts, `function_call` and `function_call_output`)";

/** Item types that a record of another format could have too, with what tells an item of this one. */
const sharedTypes: Readonly<Record<string, (item: JsonObject) => boolean>> = {
	reasoning: (item) => Array.isArray(item.summary) || typeof item.encrypted_content === "string",
	compaction: (item) => typeof item.encrypted_content === "string",
	program: (item) => typeof item.call_id === "string",
	item_reference: (item) => typeof item.id === "string",
};
/** All other item types end so: `function_call`, `shell_call_output`, `mcp_approval_request`, `additional_tools`, … */
const ownTypes = /_(?:call|output|tools|approval_request|approval_response|trigger)$/;

/** Parts of messages that only this format has. */
const ownParts = new Set(["input_text", "output_text", "input_image", "input_file"]);
const foreignParts = new Set(["tool_use", "tool_result", "tool-call", "tool-result", "toolCall", "image_url", "image"]);

/**
 * The items of OpenAI's Responses API, as `input` of a request or as a bare list. What the model gave in one answer
 * (reasoning, text, calls, the work of the provider's own tools) is a run of items and becomes one message, so that
 * calls made in parallel stay together and reasoning goes with the calls it led to; each output is one of its own.
 */
export const openaiResponses: Format = {
	name: "openai-responses",
	title: "OpenAI Responses",
	looksFor,
	probe,
	read(located) {
		return {
			format: "openai-responses",
			messages: readResponseItems(located.messages, located.base),
			surroundings: readSurroundings(located, ["instructions", "system", "tools"]),
			opensWithUser: false,
		};
	},
	write: { message: writeMessage, appends: true },
	answer: { shape: "{status, incomplete_details, output} of OpenAI Responses", read: readAnswer },
};

function probe({ messages, base }: LocatedMessages): Fit {
	// No other request holds its conversation under this key, so that plain texts there are of this format.
	let fit: "certain" | "likely" | undefined = base.at(-1) === "input" ? "likely" : undefined;
	for (const [message, item] of messages.entries()) {
		const outcome = probeItem(item);
		if (typeof outcome === "string") return { fit: "none", message, expected: outcome };
		if (outcome) fit = "certain";
	}
	return fit ? { fit } : { fit: "none", message: 0, expected: "an item of its own kinds, such as `function_call`" };
}

/** Whether the item can only be of this format; a text says what it should have been instead. */
function probeItem(item: unknown): boolean | string {
	if (!isJsonObject(item)) return "an object with `type` or `role`";
	const type = stringAt(item, "type") ?? "message";
	if (type === "message") return probeMessage(item);
	if (ownTypes.test(type)) return true;
	const isOwn = Object.hasOwn(sharedTypes, type) && sharedTypes[type]?.(item) === true;
	return isOwn || "one of the item types of the Responses API";
}

function probeMessage(item: JsonObject): boolean | string {
	const role = stringAt(item, "role");
	if (role === undefined) return isBareReference(item) ? false : "an object with a string `role`, or an item's `type`";
	if (role === "tool" || role === "function") return `no \`role: "${role}"\``;
	if (item.tool_calls !== undefined && item.tool_calls !== null) return "calls as items of their own";
	if (item.parts !== undefined) return "`content`, not `parts`";
	const { content } = item;
	if (isJsonObject(content)) return "`content` as a string or a list of parts";
	if (!Array.isArray(content)) return false;
	let certain = false;
	for (const part of content as unknown[]) {
		if (!isJsonObject(part) || typeof part.type !== "string") return "content parts with a `type`";
		if (foreignParts.has(part.type)) return `content parts of its own kinds, not \`${part.type}\``;
		certain ||= ownParts.has(part.type);
	}
	return certain;
}

/** A reference to a stored item may leave out its type. */
function isBareReference(item: JsonObject): boolean {
	return typeof item.id === "string" && Object.keys(item).every((key) => key === "id" || key === "type");
}

/** What an assistant said is text alone here: its parts would want the id and the status of an answer of the API. */
function writeMessage({ role, text }: WrittenMessage) {
	return { type: "message", role, content: role === "user" ? [{ type: "input_text", text }] : text };
}

/** OpenAI Responses: a response, or the event that ends its stream and holds it. */
function readAnswer(given: JsonObject): LastResponse | undefined {
	const isEvent = stringAt(given, "type")?.startsWith("response.") === true && isJsonObject(given.response);
	const response = isEvent ? (given.response as JsonObject) : given;
	const { output, incomplete_details: details } = response;
	if (!Array.isArray(output) || !output.every(isAnswerItem)) return undefined;
	const isKnown = output.length > 0 || response.object === "response";
	if (!isKnown && !hasMember(response, "status", "incomplete_details")) return undefined;
	// The status says only that it is incomplete; a filter makes it so too.
	const reason = isJsonObject(details) ? details.reason : response.status;
	return finishResponse({ reason, ...readItems(output) });
}

function isAnswerItem(item: unknown): item is JsonObject {
	return isJsonObject(item) && (typeof item.type === "string" || item.role === "assistant");
}

function readItems(items: readonly JsonObject[]): Omit<GivenResponse, "reason"> {
	const texts = items.flatMap((item) => ((item.type ?? "message") === "message" ? readTexts(item.content) : []));
	const outputs = items.filter((item) => stringAt(item, "type")?.endsWith("_output"));
	// A call whose output came with it was run by the provider.
	const answered = new Set(outputs.map((item) => idAt(item, "call_id")));
	const calls = items.flatMap((item, index): GivenCall[] => {
		const call = readAnsweredCall(item, index === items.length - 1);
		return call && !(call.id !== undefined && answered.has(call.id)) ? [call] : [];
	});
	return { texts, calls };
}

function readTexts(content: unknown): string[] {
	if (typeof content === "string") return [content];
	return objectsOf(content).flatMap((part) => stringAt(part, "text") ?? stringAt(part, "refusal") ?? []);
}

function readAnsweredCall(item: JsonObject, endsAnswer: boolean): GivenCall | undefined {
	const type = stringAt(item, "type") ?? "";
	const isIncomplete = item.status === "incomplete";
	if (type === "function_call" || type === "mcp_approval_request") {
		const id = idAt(item, type === "function_call" ? "call_id" : "id");
		const input: CallInput = isIncomplete ? { kind: "broken" } : { kind: "json", value: item.arguments };
		return { id, name: idAt(item, "name"), input, endsAnswer };
	}
	const id = idAt(item, "call_id");
	// Work of the provider's own tools has no id to answer to.
	if (!type.endsWith("_call") || isSearchByProvider(item) || (type !== "custom_tool_call" && !id)) return undefined;
	const name = type === "custom_tool_call" ? idAt(item, "name") : type.slice(0, -"_call".length);
	return { id, name, input: { kind: isIncomplete ? "broken" : "text" }, endsAnswer };
}

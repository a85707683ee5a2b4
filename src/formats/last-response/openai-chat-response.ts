import { idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { type CallInput, finishResponse, type GivenCall } from "./finish-response.ts";
import type { ResponseReader } from "./last-response.ts";
import { hasMember, memberAt, objectsOf, textsOf } from "./response-members.ts";

/** What holds an answer in a message; another's message (a UI message of `parts`) has none of these. */
const contentKeys = ["content", "text", "tool_calls", "toolCalls", "function_call"] as const;

/**
 * Chat Completions as OpenAI, Mistral and the many compatible endpoints answer, whole or put together from a stream, so
 * that the arguments of a call may be a text that ends anywhere; one choice of it, which is also how Cohere answers; or
 * its message and finish reason in one object, as clients keep them (seed 4, task 5).
 */
export const openaiChatResponse: ResponseReader = {
	shape: "{choices}, a choice {finish_reason, message} or {finish_reason, content, tool_calls} of Chat Completions",
	read(response) {
		if (!Array.isArray(response.choices)) return readChoice(response);
		if (response.choices.length === 0) return finishResponse({ reason: undefined, texts: [], calls: [] });
		const [choice] = response.choices as readonly unknown[];
		return isJsonObject(choice) ? readChoice(choice) : undefined;
	},
};

function readChoice(choice: JsonObject) {
	const reasonKeys = ["finish_reason", "finishReason"] as const;
	const { message } = choice;
	// What says neither why it ended nor stands where an answer does may be any message.
	if (!isJsonObject(message) && !hasMember(choice, ...reasonKeys)) return undefined;
	const answer = isJsonObject(message) ? message : choice;
	if (!hasMember(answer, ...contentKeys) || isJsonObject(answer.content)) return undefined;
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
	return { texts, calls: all.map((call, index) => readCall(call, index === all.length - 1)) };
}

function readCall(call: JsonObject, endsAnswer: boolean): GivenCall {
	const { custom } = call;
	const body = isJsonObject(call.function) ? call.function : isJsonObject(custom) ? custom : call;
	const value = memberAt(body, "arguments", "args", "parameters");
	const input: CallInput = body === custom ? { kind: "text" } : { kind: "json", value };
	return { id: idAt(call, "id"), name: idAt(body, "name"), input, endsAnswer };
}

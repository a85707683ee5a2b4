import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path } from "../conversation/transcript.ts";
import { finishResponse, type LastResponse } from "./answer.ts";
import {
	type Exchange,
	type Fit,
	type Format,
	type LocatedMessages,
	pairByPosition,
	plainMessage,
	probeEach,
	readTranscript,
} from "./format.ts";
import { hasMember, idAt, listOf, objectOf, objectsOf, stringAt } from "./json-values.ts";
import { readMedia } from "./media.ts";
import { openaiChat, readChatAnswer, readChatMessage } from "./openai-chat.ts";

/** `/api/chat`; a result may have its tool's name instead of an id. Source: `Message` in Ollama's `api/types.go`. */
export const ollama: Format = {
	name: "ollama",
	title: "Ollama",
	looksFor: 'Ollama messages (calls with `arguments` as an object, results in `role: "tool"` with `tool_name`)',
	probe,
	read(located) {
		const ids = pairByPosition(located.messages.map(exchangesOf));
		return readTranscript("ollama", located, ["tools"], (message, path, index) =>
			readMessage(message, path, ids[index] ?? []),
		);
	},
	write: { message: plainMessage, appends: true },
	answer: { shape: "{message, done_reason} of Ollama", read: readAnswer },
};

function probe(located: LocatedMessages): Fit {
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
		// The first examples of Ollama's library have `name`.
		const name = stringAt(message, "tool_name") ?? stringAt(message, "name");
		return [{ kind: "result", name, ownId: idAt(message, "tool_call_id") }];
	}
	return objectsOf(message.tool_calls).map((call) => {
		const body = isJsonObject(call.function) ? call.function : call;
		return { kind: "call", name: stringAt(body, "name"), ownId: idAt(call, "id") };
	});
}

function readMessage(value: JsonObject, path: Path, ids: readonly (string | undefined)[]): Message {
	const message = readChatMessage(value, path);
	// The images are no media of the result: a text cannot replace one, since the list takes only images.
	const images = listOf(value.images).map((data) => readMedia({ path, provider: "any", data, kind: "image" }));
	return {
		...message,
		mediaTokens: images.reduce((sum, { tokens }) => sum + tokens, message.mediaTokens),
		calls: message.calls.map((call, index) => ({ ...call, id: ids[index] ?? call.id })),
		results: message.results.map((result) => ({ ...result, callId: ids[0] ?? result.callId })),
	};
}

/** `message` is of /api/chat, `response` of /api/generate. */
function readAnswer(response: JsonObject): LastResponse | undefined {
	if (!hasMember(response, "done_reason", "done")) return undefined;
	const { done_reason: reason, message } = response;
	if (isJsonObject(message)) return finishResponse({ reason, ...readChatAnswer(message) });
	const text = stringAt(response, "response");
	return text === undefined ? undefined : finishResponse({ reason, texts: [text], calls: [] });
}

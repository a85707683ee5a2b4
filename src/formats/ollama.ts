import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path } from "../conversation/transcript.ts";
import { finishResponse, hasMember, type LastResponse } from "./answer.ts";
import {
	type Exchange,
	type Fit,
	type Format,
	type LocatedMessages,
	pairByPosition,
	plainMessage,
	readSurroundings,
} from "./format.ts";
import { idAt, stringAt } from "./json-values.ts";
import { readMedia } from "./media.ts";
import { openaiChat, readChatAnswer, readChatMessage } from "./openai-chat.ts";

const expected = "a call without an id or with an `index`, a result with `tool_name`, or `images`, among the messages";

/**
 * Messages of Ollama's own `/api/chat`: Chat Completions roles, but a call's arguments are an object, and a result names
 * its tool (`tool_name`) where its servers give no ids. Such results are paired by name and position within the turn.
 * Images are a list of base64 beside the content. Source: `Message` in Ollama's `api/types.go`.
 */
export const ollama: Format = {
	name: "ollama",
	title: "Ollama",
	looksFor: 'Ollama messages (calls with `arguments` as an object, results in `role: "tool"` with `tool_name`)',
	probe,
	read(located) {
		const { messages, base } = located;
		const ids = pairByPosition(messages.map(exchangesOf));
		return {
			format: "ollama",
			messages: messages.map((value, index) => readMessage(value as JsonObject, [...base, index], ids[index] ?? [])),
			surroundings: readSurroundings(located, ["tools"]),
			opensWithUser: false,
		};
	},
	write: { message: plainMessage, appends: true },
	answer: { shape: "{message, done_reason} of Ollama", read: readAnswer },
};

function probe(located: LocatedMessages): Fit {
	const chat = openaiChat.probe(located);
	if (chat.fit === "none") return chat;
	let isCertain = false;
	for (const [message, value] of located.messages.entries()) {
		if (!isJsonObject(value)) continue;
		if (Array.isArray(value.content)) return { fit: "none", message, expected: "`content` as a string" };
		isCertain ||= value.role === "tool" && stringAt(value, "tool_name") !== undefined;
		isCertain ||= imagesOf(value).some((image) => typeof image === "string");
		for (const call of callsOf(value)) {
			const body = isJsonObject(call.function) ? call.function : {};
			// Ollama refuses the string that Chat Completions has there, and programs put an object there in both.
			if (!isJsonObject(body.arguments)) return { fit: "none", message, expected: "a call's `arguments` as an object" };
			isCertain ||= idAt(call, "id") === undefined || typeof body.index === "number";
		}
	}
	return isCertain ? { fit: "certain" } : { fit: "none", message: 0, expected };
}

function callsOf(message: unknown): readonly JsonObject[] {
	const calls = isJsonObject(message) ? message.tool_calls : undefined;
	return Array.isArray(calls) ? (calls as unknown[]).filter(isJsonObject) : [];
}

function exchangesOf(message: unknown): readonly Exchange[] {
	if (!isJsonObject(message)) return [];
	if (message.role === "tool") {
		// The first examples of Ollama's own library say `name`.
		const name = stringAt(message, "tool_name") ?? stringAt(message, "name");
		return [{ kind: "result", name, ownId: idAt(message, "tool_call_id") }];
	}
	return callsOf(message).map((call) => {
		const body = isJsonObject(call.function) ? call.function : call;
		return { kind: "call", name: stringAt(body, "name"), ownId: idAt(call, "id") };
	});
}

function readMessage(value: JsonObject, path: Path, ids: readonly (string | undefined)[]): Message {
	const message = readChatMessage(value, path);
	return {
		...message,
		mediaTokens: message.mediaTokens + imageTokens(value, path),
		calls: message.calls.map((call, index) => ({ ...call, id: ids[index] ?? call.id })),
		results: message.results.map((result) => ({ ...result, callId: ids[0] ?? result.callId })),
	};
}

/** Tokens of the images beside a message's content. A text cannot stand for one: the list takes nothing but images. */
function imageTokens(message: JsonObject, path: Path): number {
	const tokens = imagesOf(message).map((data) => readMedia({ path, provider: "any", data, kind: "image" }).tokens);
	return tokens.reduce((sum, one) => sum + one, 0);
}

function imagesOf({ images }: JsonObject): readonly unknown[] {
	return Array.isArray(images) ? images : [];
}

/** Ollama's own API: `message` from /api/chat, or the text as `response` from /api/generate. */
function readAnswer(response: JsonObject): LastResponse | undefined {
	if (!hasMember(response, "done_reason", "done")) return undefined;
	const { done_reason: reason, message } = response;
	if (isJsonObject(message)) return finishResponse({ reason, ...readChatAnswer(message) });
	const text = stringAt(response, "response");
	return text === undefined ? undefined : finishResponse({ reason, texts: [text], calls: [] });
}

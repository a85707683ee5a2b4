import { isJsonObject, stringAt } from "../json-values.ts";
import { finishResponse } from "./finish-response.ts";
import type { ResponseReader } from "./last-response.ts";
import { readChatAnswer } from "./openai-chat-response.ts";
import { hasMember } from "./response-members.ts";

/** Ollama's own API: `message` from /api/chat, or the text as `response` from /api/generate. */
export const ollamaResponse: ResponseReader = {
	shape: "{message, done_reason} of Ollama",
	read(response) {
		if (!hasMember(response, "done_reason", "done")) return undefined;
		const { done_reason: reason, message } = response;
		if (isJsonObject(message)) return finishResponse({ reason, ...readChatAnswer(message) });
		const text = stringAt(response, "response");
		return text === undefined ? undefined : finishResponse({ reason, texts: [text], calls: [] });
	},
};

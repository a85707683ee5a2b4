import type { JsonObject } from "../conversation/json.ts";
import type { Message, Path } from "../conversation/transcript.ts";
import { type Format, plainMessage, probeMessages, readTranscript } from "./format.ts";
import { objectOf } from "./json-values.ts";
import { probeChatMessage, readChatMessage } from "./openai-chat.ts";

/** `context.jsonl` of Kimi CLI; its own records are not sent. Only text marks a failed tool (`<system>ERROR: …`). */
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

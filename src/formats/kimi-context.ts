import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path } from "../conversation/transcript.ts";
import { type Fit, type Format, type LocatedMessages, plainMessage, readEach } from "./format.ts";
import { stringAt } from "./json-values.ts";
import { openaiChat, probeChatMessage, readChatMessage } from "./openai-chat.ts";

/** What each kind of record holds that Kimi CLI writes between the messages. */
const ownRecords: Readonly<Record<string, (record: JsonObject) => boolean>> = {
	_checkpoint: (record) => typeof record.id === "number" && record.content === undefined,
	_usage: (record) => typeof record.token_count === "number",
	_system_prompt: (record) => typeof record.content === "string",
};

/**
 * The context file of Kimi CLI (`context.jsonl`): Chat Completions messages, one a line, between records of its own.
 * Checkpoints and token counts are no messages: they are sent to no model, and stay where they are. A tool's failure is
 * told in its text (`<system>ERROR: …`), not by a flag.
 */
export const kimiContext: Format = {
	name: "kimi-context",
	title: "Kimi CLI context",
	looksFor: "Kimi CLI context (Chat Completions messages between records of `role` _checkpoint or _usage)",
	probe,
	read(located) {
		return {
			format: "kimi-context",
			messages: readEach(located, readRecord),
			surroundings: [],
			opensWithUser: false,
		};
	},
	write: { message: plainMessage, appends: false },
};

function probe(located: LocatedMessages): Fit {
	const { messages } = located;
	const evidence = "a record of `role` _checkpoint, _usage or _system_prompt among them";
	if (!messages.some(isOwnRecord)) {
		const chat = openaiChat.probe(located);
		return chat.fit === "none" ? chat : { fit: "none", message: 0, expected: evidence };
	}
	for (let message = 0; message < messages.length; message += 1) {
		const outcome = isOwnRecord(messages[message]) || probeChatMessage(messages[message]);
		if (typeof outcome === "string") return { fit: "none", message, expected: outcome };
	}
	return { fit: "certain" };
}

function isOwnRecord(record: unknown): record is JsonObject {
	if (!isJsonObject(record)) return false;
	const role = stringAt(record, "role");
	// Every message of every conversation is asked.
	if (!role?.startsWith("_")) return false;
	return Object.hasOwn(ownRecords, role) && ownRecords[role]?.(record) === true;
}

function readRecord(record: JsonObject, path: Path): Message[] {
	if (!isOwnRecord(record)) return [readChatMessage(record, path)];
	if (record.role !== "_system_prompt") return [];
	return [{ ...readChatMessage(record, path), role: "system" }];
}

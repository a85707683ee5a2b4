import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { Message } from "../engine/conversation/transcript.ts";
import {
	contentPart,
	type Format,
	idOfText,
	keptFields,
	type Probed,
	probeMessages,
	readTranscript,
} from "./format.ts";
import { hasMember, objectOf, stringAt, timeAt } from "./json-text/value.ts";
import { isPart, readUiMessages } from "./vercel-ui.ts";

/** Messages as Mastra's storage keeps them: `content` of format 2 has the parts of a UI message of the Vercel AI SDK. */
export const mastra: Format = {
	name: "mastra",
	title: "Mastra messages",
	looksFor: "Mastra messages (`role`, and `content` with `format: 2` and `parts` with a `type` each)",
	probe: ({ messages }) => probeMessages(messages, "`content` with `format: 2` and `parts`", probeStored),
	read: (located) => readTranscript("mastra", located, ["instructions", "tools"], readStored),
	write: { message: writeStored, part: { ...contentPart, lists: [["content", "parts"]] }, appends: true },
};

function probeStored({ content }: JsonObject): Probed {
	if (!isJsonObject(content)) return "`content` as an object";
	const { format, parts } = content;
	return (format === 2 && Array.isArray(parts) && parts.every(isPart)) || "`format: 2` and `parts` with a `type` each";
}

/** Whether a value is a row of Mastra's tables: its content is JSON as a text, which cannot be edited in place. */
export function isStoredRow(value: unknown): boolean {
	if (!isJsonObject(value) || !hasMember(value, "thread_id", "threadId")) return false;
	return /^\s*\{\s*"format"\s*:\s*2\b/.test(stringAt(value, "content") ?? "");
}

function readStored(message: JsonObject, path: Path): Message[] {
	const at = [...path, "content"];
	const time = timeAt(message, "createdAt");
	return readUiMessages({ ...objectOf(message.content), role: message.role }, at).map((read) => ({
		...read,
		paths: read.paths.map((one) => (one.length === at.length ? path : one)),
		...(time === undefined ? {} : { time }),
	}));
}

function writeStored({ role, text, instead }: WrittenMessage) {
	return {
		id: idOfText(`${role}\n${text}`),
		...keptFields(instead, ["id", "createdAt", "threadId", "resourceId"]),
		role,
		content: { format: 2, parts: [{ type: "text", text }] },
	};
}

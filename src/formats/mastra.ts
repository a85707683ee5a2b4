import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path } from "../conversation/transcript.ts";
import { type Format, idOfText, keptFields, type Probed, probeMessages, readTranscript } from "./format.ts";
import { hasMember, objectOf, stringAt, timeAt } from "./json-values.ts";
import { readUiMessages } from "./vercel-ui.ts";

/** Messages as Mastra's storage keeps them: `content` of format 2 has the parts of a UI message of the Vercel AI SDK. */
export const mastra: Format = {
	name: "mastra",
	title: "Mastra messages",
	looksFor: "Mastra messages (`role`, and `content` with `format: 2` and `parts` with a `type` each)",
	probe: ({ messages }) => probeMessages(messages, "`content` with `format: 2` and `parts`", probe),
	read: (located) => readTranscript("mastra", located, ["instructions", "tools"], readMessages),
	write: { message: writeMessage, appends: true },
};

function probe({ content }: JsonObject): Probed {
	if (!isJsonObject(content)) return "`content` as an object";
	const { format, parts } = content;
	const isPart = (part: unknown) => isJsonObject(part) && typeof part.type === "string";
	return (format === 2 && Array.isArray(parts) && parts.every(isPart)) || "`format: 2` and `parts` with a `type` each";
}

/** A row of its tables: the content is the text of its JSON, in which nothing can be edited in place. */
export function isStoredRow(value: unknown): boolean {
	if (!isJsonObject(value) || !hasMember(value, "thread_id", "threadId")) return false;
	return /^\s*\{\s*"format"\s*:\s*2\b/.test(stringAt(value, "content") ?? "");
}

function readMessages(message: JsonObject, path: Path): Message[] {
	const at = [...path, "content"];
	const time = timeAt(message, "createdAt");
	return readUiMessages({ ...objectOf(message.content), role: message.role }, at).map((read) => ({
		...read,
		paths: read.paths.map((one) => (one.length === at.length ? path : one)),
		...(time === undefined ? {} : { time }),
	}));
}

function writeMessage({ role, text, instead }: WrittenMessage) {
	return {
		id: idOfText(`${role}\n${text}`),
		...keptFields(instead, ["id", "createdAt", "threadId", "resourceId"]),
		role,
		content: { format: 2, parts: [{ type: "text", text }] },
	};
}

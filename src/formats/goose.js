import { isJsonObject } from "../engine/conversation/json.js";
import { keptFields, plainRoles, probeEach, readTranscript, roleOf } from "./format.js";
import { booleanAt, hasMember, idAt, listOf, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.js";
import { readInlineMedia } from "./media.js";
import { MessageDraft, readOpenContent, unsent } from "./parts.js";
import { outputCopies } from "./session-files.js";

const ownParts = new Set(["toolRequest", "toolResponse", "frontendToolRequest"]);
/** Parts that are only shown on the screen. */
const unsentParts = new Set([
	"toolConfirmationRequest",
	"actionRequired",
	"conversationCompacted",
	"systemNotification",
	"summarizationRequested",
	"contextLengthExceeded",
]);
/**
 * Sessions of Goose: the records of a `.jsonl` file, an export with its messages in `conversation`, or the events of
 * `goose run --output-format stream-json`, which hold a message each.
 */
export const goose = {
	name: "goose",
	title: "Goose session",
	looksFor: "Goose session (`role` and `content` with parts such as toolRequest and toolResponse)",
	probe: ({ messages }) => probeEach(messages, "a part of `type` toolRequest or toolResponse", probe),
	read: (located) => readTranscript("goose", located, [], readMessage),
	write: { message: writeMessage, appends: false },
};
/** Events that hold no message and are not sent. */
const notices = new Set(["notification", "error", "complete"]);
function isEvent(record) {
	return stringAt(record, "type") !== undefined && !hasMember(record, "role", "content");
}
function probe(record) {
	if (!isJsonObject(record)) return "an object with `role` and `content`";
	const message = isEvent(record) && record.type === "message" ? record.message : record;
	if (!isJsonObject(message)) return "a message in an event of this type";
	if (message === record && isEvent(record)) return false;
	// The first record of a file.
	if (!hasMember(message, "role")) return hasMember(message, "working_dir") ? false : "an object with a string `role`";
	if (stringAt(message, "role") === undefined) return "a string `role`";
	const { content } = message;
	if (!Array.isArray(content)) return "`content` as a list of parts";
	const isPart = (part) => isJsonObject(part) && stringAt(part, "type") !== undefined;
	if (!content.every(isPart)) return "content parts with a `type`";
	return objectsOf(content).some(({ type }) => ownParts.has(type));
}
function readMessage(record, path) {
	const message = isEvent(record) ? objectOf(record.message) : record;
	if (!hasMember(message, "role")) {
		const isNew = isEvent(record) && !notices.has(record.type);
		return isNew ? new MessageDraft("other", path).count(record) : [];
	}
	const draft = new MessageDraft(roleOf(message, plainRoles), path).setTime(timeAt(message, "created"));
	draft.readParts(message.content, [...path, ...(message === record ? [] : ["message"]), "content"], readPart);
	// A compaction hides messages from the model.
	return objectOf(message.metadata).agentVisible === false ? unsent(draft) : draft;
}
function readPart(part, path, draft) {
	const { type } = part;
	if (type === "text") draft.count(part.text);
	else if (type === "toolRequest" || type === "frontendToolRequest") {
		const call = objectOf(objectOf(part.toolCall).value);
		draft.addCall(idAt(part, "id"), stringAt(call, "name"), call.arguments);
	} else if (type === "toolResponse") readResponse(part, path, draft);
	else if (type === "thinking") draft.addThinking(path, part.thinking, Boolean(stringAt(part, "signature")));
	else if (type === "redactedThinking") draft.addThinking(path, part, true);
	else if (!unsentParts.has(type)) draft.countPart(part, readInlineMedia(part, path));
}
/** The blocks of the tool's MCP server, in newer sessions inside its whole result; or an error. */
function readResponse(part, path, draft) {
	const result = objectOf(part.toolResult);
	const { value, error } = result;
	const isWhole = Array.isArray(objectOf(value).content);
	const [at, content] =
		result.status === "error"
			? [["error"], error]
			: isWhole
				? [["value", "content"], objectOf(value).content]
				: [["value"], value];
	const read = readOpenContent(content, [...path, "toolResult", ...at], readInlineMedia);
	const isError = result.status === "error" || booleanAt(objectOf(value), "isError") || undefined;
	const places = [["toolResult", "value", "structuredContent"]];
	const copies = outputCopies({ record: part, path, places, texts: read.texts });
	draft.addResult({ callId: idAt(part, "id"), ...read, ...copies, isError });
}
function writeMessage({ role, text, instead: replaced }) {
	const record = objectOf(replaced);
	if (isEvent(record)) return { type: "message", message: writeMessage({ role, text, instead: record.message }) };
	const instead = record;
	const [first] = listOf(instead.content);
	// Only a text message has an id of its own; others have the id of the answer.
	const id = objectOf(first).type === "text" ? keptFields(instead, ["id"]) : {};
	return { ...id, role, ...keptFields(instead, ["created"]), content: [{ type: "text", text }] };
}

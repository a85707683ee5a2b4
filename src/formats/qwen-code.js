import { isJsonObject } from "../engine/conversation/json.js";
import { cacheIncludedUsage } from "./answer.js";
import { idOfText, keptFields, probeEach, transcriptOf } from "./format.js";
import { readContent } from "./gemini.js";
import { hasMember, idAt, listOf, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.js";
import { unsent } from "./parts.js";
import { outputCopies, recordChain } from "./session-files.js";

/** Records with a message of Gemini's API. All others are notes of the program. */
const spoken = new Set(["user", "assistant", "tool_result"]);
/** Where the record of a compaction keeps the messages that replace all earlier ones. */
const compacted = ["systemPayload", "compressedHistory"];
/** Sessions of Qwen Code: records like those of Claude Code, whose messages are contents of Gemini's API. */
export const qwenCode = {
	name: "qwen-code",
	title: "Qwen Code session",
	looksFor: "Qwen Code session (records of `type` user, assistant or tool_result that hold `message` with `parts`)",
	probe: ({ messages }) => probeEach(messages, "a record whose `message` has `parts`", probe),
	read: (located) => ({ ...transcriptOf("qwen-code", readRecords(located)), opensWithUser: true }),
	links: { id: ["uuid"], parent: ["parentUuid"], chain: ({ messages }) => chainOf(messages) },
	write: { message: writeMessage, within: compacted, appends: false },
};
function probe(record) {
	if (!isJsonObject(record) || stringAt(record, "type") === undefined) return "a record with a string `type`";
	const isOwn = hasMember(record, "uuid", "sessionId");
	// Versions differ in the notes that they write.
	if (!spoken.has(record.type)) return isOwn ? false : "`uuid` and `sessionId` in a record";
	const { message } = record;
	const isMessage = isJsonObject(message) && Array.isArray(message.parts) && !hasMember(message, "content");
	return isMessage ? isOwn : "`message` with `parts` in a record of this type";
}
/** The branch that ends in the last record. A compaction replaces the records before it. */
function readRecords({ messages: records, base }) {
	const branch = chainOf(records).toSorted((a, b) => a - b);
	const isCompaction = (index) => compactedIn(records[index]).length > 0;
	const start = branch.findLast(isCompaction) ?? -1;
	return branch.flatMap((index) => {
		const record = objectOf(records[index]);
		const path = [...base, index];
		const found = spoken.has(record.type)
			? [readRecord(record, path)]
			: compactedIn(record).map((content, place) => {
					const at = [...path, ...compacted, place];
					return readContent(objectOf(content), at, idsOf(objectOf(content)));
				});
		return index < start ? found.map(unsent) : found;
	});
}
function compactedIn(record) {
	return listOf(objectOf(objectOf(record).systemPayload).compressedHistory);
}
function readRecord(record, path) {
	const message = objectOf(record.message);
	const draft = readContent(message, [...path, "message"], idsOf(message), [path]);
	draft.setTime(timeAt(record, "timestamp"));
	const { promptTokenCount: input, cachedContentTokenCount: cached = 0 } = objectOf(record.usageMetadata);
	if (draft.role === "assistant") draft.setUsage(cacheIncludedUsage({ input, cached, model: record.model }));
	const [first] = draft.results;
	if (!first) return draft;
	// A record has one copy of the output that it showed.
	const texts = draft.results.flatMap((result) => result.texts);
	const copies = outputCopies({ record, path, places: [["toolCallResult"]], texts });
	const failed = objectOf(record.toolCallResult).status === "error" || undefined;
	draft.results[0] = { ...first, ...copies, isError: first.isError ?? failed };
	return draft;
}
/** Lists the call ids of the parts. Qwen Code gives every call one. */
function idsOf({ parts }) {
	return listOf(parts).map((part) => {
		const { functionCall: call, functionResponse: response } = objectOf(part);
		return idAt(objectOf(call ?? response), "id");
	});
}
function chainOf(records) {
	const isNode = (index) => isJsonObject(records[index]);
	const last = records.findLastIndex((_, index) => isNode(index));
	const ties = { id: "uuid", parent: "parentUuid", isNode, isStart: () => false };
	return last === -1 ? [] : recordChain(records, last, ties);
}
const sessionFields = ["parentUuid", "sessionId", "timestamp", "cwd", "version", "gitBranch"];
/** Writes a record, or a content alone if it replaces one of a compaction. */
function writeMessage({ role, text, instead }) {
	const message = { role: role === "user" ? role : "model", parts: [{ text }] };
	const record = objectOf(instead);
	if (objectsOf(record.parts).length > 0) return message;
	const uuid = stringAt(record, "uuid") || idOfText(`${role}\n${text}`);
	return { uuid, ...keptFields(record, sessionFields), type: role, message };
}

import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { Message } from "../engine/conversation/transcript.ts";
import { cacheIncludedUsage } from "./answer.ts";
import { type Format, idOfText, keptFields, type LocatedMessages, probeEach, transcriptOf } from "./format.ts";
import { readContent } from "./gemini.ts";
import { hasMember, idAt, listOf, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.ts";
import { unsent } from "./parts.ts";
import { outputCopies, recordChain } from "./session-files.ts";

/** Records with a message of Gemini's API. All others are notes of the program. */
const spoken: ReadonlySet<unknown> = new Set(["user", "assistant", "tool_result"]);

/** Where the record of a compaction keeps the messages that replace all earlier ones. */
const compacted = ["systemPayload", "compressedHistory"];

/** Sessions of Qwen Code: records like those of Claude Code, whose messages are contents of Gemini's API. */
export const qwenCode: Format = {
	name: "qwen-code",
	title: "Qwen Code session",
	looksFor: "Qwen Code session (records of `type` user, assistant or tool_result that hold `message` with `parts`)",
	probe: ({ messages }) => probeEach(messages, "a record whose `message` has `parts`", probe),
	read: (located) => ({ ...transcriptOf("qwen-code", readRecords(located)), opensWithUser: true }),
	links: { id: ["uuid"], parent: ["parentUuid"], chain: ({ messages }) => chainOf(messages) },
	write: { message: writeMessage, within: compacted, appends: false },
};

function probe(record: unknown) {
	if (!isJsonObject(record) || stringAt(record, "type") === undefined) return "a record with a string `type`";
	const isOwn = hasMember(record, "uuid", "sessionId");
	// Versions differ in the notes that they write.
	if (!spoken.has(record.type)) return isOwn ? false : "`uuid` and `sessionId` in a record";
	const { message } = record;
	const isMessage = isJsonObject(message) && Array.isArray(message.parts) && !hasMember(message, "content");
	return isMessage ? isOwn : "`message` with `parts` in a record of this type";
}

/** The branch that ends in the last record. A compaction replaces the records before it. */
function readRecords({ messages: records, base }: LocatedMessages): Message[] {
	const branch = chainOf(records).toSorted((a, b) => a - b);
	const isCompaction = (index: number) => compactedIn(records[index]).length > 0;
	const start = branch.findLast(isCompaction) ?? -1;
	return branch.flatMap((index): Message[] => {
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

function compactedIn(record: unknown): readonly unknown[] {
	return listOf(objectOf(objectOf(record).systemPayload).compressedHistory);
}

function readRecord(record: JsonObject, path: Path): Message {
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
function idsOf({ parts }: JsonObject): (string | undefined)[] {
	return listOf(parts).map((part) => {
		const { functionCall: call, functionResponse: response } = objectOf(part);
		return idAt(objectOf(call ?? response), "id");
	});
}

function chainOf(records: readonly unknown[]): readonly number[] {
	const isNode = (index: number) => isJsonObject(records[index]);
	const last = records.findLastIndex((_, index) => isNode(index));
	const ties = { id: "uuid", parent: "parentUuid", isNode, isStart: () => false };
	return last === -1 ? [] : recordChain(records, last, ties);
}

const sessionFields = ["parentUuid", "sessionId", "timestamp", "cwd", "version", "gitBranch"];

/** Writes a record, or a content alone if it replaces one of a compaction. */
function writeMessage({ role, text, instead }: WrittenMessage) {
	const message = { role: role === "user" ? role : "model", parts: [{ text }] };
	const record = objectOf(instead);
	if (objectsOf(record.parts).length > 0) return message;
	const uuid = stringAt(record, "uuid") || idOfText(`${role}\n${text}`);
	return { uuid, ...keptFields(record, sessionFields), type: role, message };
}

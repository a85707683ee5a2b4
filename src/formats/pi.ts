import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path, Role, Transcript } from "../conversation/transcript.ts";
import {
	addCall,
	addResult,
	addThinking,
	count,
	countPart,
	type Format,
	keptFields,
	type LocatedMessages,
	type MessageDraft,
	probeEach,
	readParts,
	roleOf,
	startMessage,
	transcriptOf,
} from "./format.ts";
import { booleanAt, idAt, objectOf, objectsOf, stringAt } from "./json-values.ts";
import { readInlineMedia } from "./media.ts";
import { readOpenContent } from "./parts.ts";
import { type CallValues, outputCopies, recordChain, rememberCall } from "./session-files.ts";

/** Roles of pi's messages; those that it adds to a model's own roles it sends as user messages. */
const roles: Readonly<Record<string, Role>> = {
	system: "system",
	user: "user",
	assistant: "assistant",
	toolResult: "tool",
	bashExecution: "user",
	custom: "user",
	hookMessage: "user",
	branchSummary: "user",
	compactionSummary: "user",
};

/** The session files of the pi coding agent: one record a line, of which those of type `message` hold a message. */
export const pi: Format = {
	name: "pi",
	title: "pi session",
	looksFor: "pi session (records of `type` message that hold `message` with a `role`, after one of `type` session)",
	probe: ({ messages }) => probeEach(messages, "records of `type` message", probe),
	read: readSession,
	links: {
		id: ["id"],
		parent: ["parentId"],
		firstKept: ["firstKeptEntryId"],
		chain: ({ messages }) => chainOf(messages),
	},
	write: { message: writeMessage, appends: false },
};

function probe(record: unknown) {
	if (!isJsonObject(record) || stringAt(record, "type") === undefined) return "a record with a string `type`";
	if (record.type !== "message") return false;
	const { message } = record;
	const isMessage = isJsonObject(message) && stringAt(message, "role") !== undefined;
	return isMessage || "`message` with a `role` in a record of this type";
}

/**
 * Follows a session as pi does when it resumes one: the branch that ends in the last record; of that, where it was
 * compacted, the summary, the records from the first kept one on and those after the compaction. Records before those, and
 * those that a `context_edit` takes out, are no longer sent; other branches are no part of it.
 */
function readSession({ messages: records, base }: LocatedMessages): Transcript {
	const branch = chainOf(records).toSorted((a, b) => a - b);
	const at = (index: number) => records[index] as JsonObject;
	const compaction = branch.findLast((index) => at(index).type === "compaction");
	const first = compaction === undefined ? 0 : firstKept(branch, compaction, at);
	const edits = new Map<string, number>();
	for (const index of branch) {
		const target = at(index).type === "context_edit" ? stringAt(at(index), "targetId") : undefined;
		if (target !== undefined) edits.set(target, index);
	}
	const callValues: CallValues = new Map();
	const messages = branch.flatMap((index): Message[] => {
		const edit = edits.get(stringAt(at(index), "id") ?? "");
		const replacement = edit === undefined ? undefined : at(edit).replacement;
		const edited = isJsonObject(replacement)
			? { content: replacement.content, path: [...base, edit ?? 0, "replacement", "content"] }
			: undefined;
		const message = readRecord(at(index), [...base, index], edited, callValues);
		const isSent = index >= first && (edit === undefined || edited !== undefined);
		return message ? [isSent ? message : { ...message, sent: false }] : [];
	});
	const summary = compaction === undefined ? undefined : stringAt(at(compaction), "summary");
	return transcriptOf("pi", messages, summary === undefined ? [] : [summary]);
}

/** The records on the way from the last one back to the beginning. */
function chainOf(records: readonly unknown[]): readonly number[] {
	const firstOf = new Map<unknown, number>();
	records.forEach((record, index) => {
		if (isJsonObject(record) && !firstOf.has(record.id)) firstOf.set(record.id, index);
	});
	const isNode = (index: number) => {
		const record = records[index];
		if (!isJsonObject(record) || record.type === "session") return false;
		// A record may be in the file twice.
		return typeof record.id !== "string" || firstOf.get(record.id) === index;
	};
	const last = records.findLastIndex((_, index) => isNode(index));
	return last === -1 ? [] : recordChain(records, last, { id: "id", parent: "parentId", isNode, isStart: () => false });
}

/**
 * Index of the first record that a compaction kept. The first versions gave its position, counting the header; where it
 * names a record that is not there, nothing before the compaction is kept.
 */
function firstKept(branch: readonly number[], compaction: number, at: (index: number) => JsonObject): number {
	const { firstKeptEntryId: id, firstKeptEntryIndex: position } = at(compaction);
	if (typeof position === "number") return Math.min(position, compaction);
	const named = typeof id === "string" ? branch.find((index) => at(index).id === id) : undefined;
	return Math.min(named ?? compaction, compaction);
}

interface Content {
	readonly content: unknown;
	readonly path: Path;
}

/** Reads the message of a record; `undefined` where it holds none. `edited` is the content that replaced its own. */
function readRecord(
	record: JsonObject,
	path: Path,
	edited: Content | undefined,
	callValues: CallValues,
): Message | undefined {
	if (record.type === "message") return readMessage(record, path, edited, callValues);
	const draft = startMessage("user", path);
	if (record.type === "branch_summary") {
		count(draft, stringAt(record, "summary") || undefined);
		return draft.counted.length > 0 ? draft : undefined;
	}
	if (record.type !== "custom_message") return undefined;
	readContent(edited ?? { content: record.content, path: [...path, "content"] }, draft);
	return draft;
}

function readMessage(
	{ message }: JsonObject,
	path: Path,
	edited: Content | undefined,
	callValues: CallValues,
): Message | undefined {
	// Commands that the user ran for himself alone are not in the context.
	if (!isJsonObject(message) || message.excludeFromContext === true) return undefined;
	const draft = startMessage(roleOf(message, roles), path);
	const place = edited ?? { content: message.content, path: [...path, "message", "content"] };
	if (draft.role === "tool") {
		const callId = idAt(message, "toolCallId");
		const content = readOpenContent(place.content, place.path, readInlineMedia);
		const held = { record: message, path: [...path, "message"], places: [["details"]], texts: content.texts };
		const copies = outputCopies({ ...held, ofTheCall: callValues.get(callId ?? "") });
		addResult(draft, { callId, ...content, copies, isError: booleanAt(message, "isError") });
		return draft;
	}
	count(draft, ...["command", "output", "summary"].map((key) => stringAt(message, key)));
	readContent(place, draft);
	for (const part of objectsOf(place.content)) {
		if (part.type === "toolCall") rememberCall(callValues, idAt(part, "id"), part.arguments);
	}
	return draft;
}

function readContent({ content, path }: Content, draft: MessageDraft): void {
	readParts(content, path, draft, (part, at) => readPart(part, at, draft));
}

function readPart(part: JsonObject, path: Path, draft: MessageDraft): void {
	switch (part.type) {
		case "text":
			count(draft, part.text);
			return;
		case "thinking": {
			// A signature of Anthropic or Gemini; or OpenAI's reasoning item as JSON, which checks no prefix; or a field's name.
			const signature = stringAt(part, "thinkingSignature") ?? "";
			const isItem = signature.startsWith("{");
			const bound = signature !== "" && !isItem && !signature.startsWith("reasoning");
			addThinking(draft, path, part.thinking, bound, isItem);
			return;
		}
		case "toolCall":
			// Gemini signs the call, which therefore has to stay.
			if (stringAt(part, "thoughtSignature")) draft.thinking.push({ path, text: "", bound: true, fixed: true });
			addCall(draft, idAt(part, "id"), stringAt(part, "name"), part.arguments);
			return;
		default:
			countPart(draft, part, readInlineMedia(part, path));
	}
}

const noUsage = {
	input: 0,
	output: 0,
	cacheRead: 0,
	cacheWrite: 0,
	totalTokens: 0,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** A record of `type` message, whatever record it replaces. */
function writeMessage({ role, text, instead }: WrittenMessage) {
	const { message: before } = objectOf(instead);
	const content = [{ type: "text", text }];
	// pi goes on with the model of the last answer, and adds up the usage of all answers.
	const answer = { ...keptFields(before, ["api", "provider", "model"]), usage: noUsage, stopReason: "stop" };
	return {
		type: "message",
		...keptFields(instead, ["id", "parentId", "timestamp"]),
		message: { role, content, ...(role === "assistant" ? answer : {}), ...timeOf(objectOf(instead)) },
	};
}

/** The time of a message, in milliseconds: records without a message have the time of their writing alone. */
function timeOf(record: JsonObject): { readonly timestamp?: unknown } {
	if (isJsonObject(record.message)) return keptFields(record.message, ["timestamp"]);
	const timestamp = Date.parse(stringAt(record, "timestamp") ?? "");
	return Number.isNaN(timestamp) ? {} : { timestamp };
}

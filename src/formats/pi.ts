import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path, Role, ThinkingBlock, ToolResult } from "../conversation/transcript.ts";
import {
	addResult,
	type Fit,
	type Format,
	finishMessage,
	keptFields,
	type LocatedMessages,
	type MessageDraft,
	startMessage,
} from "./format.ts";
import { asCountedText, idAt, stringAt } from "./json-values.ts";
import { readInlineMedia } from "./media.ts";
import { readTypedParts } from "./parts.ts";
import { outputCopies, recordChain } from "./session-files.ts";

/** Roles of pi's messages; what it adds to a model's own roles it sends as user messages. */
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

const noUsage = {
	input: 0,
	output: 0,
	cacheRead: 0,
	cacheWrite: 0,
	totalTokens: 0,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** The session files of the pi coding agent: one record a line, of which those of type `message` hold a message. */
export const pi: Format = {
	name: "pi",
	title: "pi session",
	looksFor: "pi session (records of `type` message that hold `message` with a `role`, after one of `type` session)",
	probe,
	read(located) {
		const { entries, summary } = followPiSession(located);
		const argumentsOf = new Map<string, ReadonlySet<unknown>>();
		return {
			format: "pi",
			messages: entries.flatMap((entry) => {
				const message = readEntry(entry, argumentsOf);
				if (!message) return [];
				return entry.sent ? message : { ...message, sent: false };
			}),
			surroundings: summary === undefined ? [] : [summary],
			opensWithUser: false,
		};
	},
	links: {
		id: ["id"],
		parent: ["parentId"],
		firstKept: ["firstKeptEntryId"],
		chain: ({ messages }) => piChain(messages),
	},
	write: { message: writePi, appends: false },
};

function probe({ messages }: LocatedMessages): Fit {
	let certain = false;
	for (const [message, record] of messages.entries()) {
		if (!isJsonObject(record) || stringAt(record, "type") === undefined) {
			return { fit: "none", message, expected: "a record with a string `type`" };
		}
		if (record.type !== "message") continue;
		const held = Object.hasOwn(record, "message") ? record.message : undefined;
		if (!isJsonObject(held) || stringAt(held, "role") === undefined) {
			return { fit: "none", message, expected: "`message` with a `role` in a record of this type" };
		}
		certain = true;
	}
	return certain ? { fit: "certain" } : { fit: "none", message: 0, expected: "records of `type` message" };
}

/** Reads a record as the message that it holds; `undefined` where none is. */
function readEntry(entry: PiEntry, argumentsOf: Map<string, ReadonlySet<unknown>>): Message | undefined {
	const { record, path, replaced } = entry;
	const draft = startMessage();
	switch (record.type) {
		case "message":
			return readMessage(entry, argumentsOf);
		case "custom_message": {
			const place = replaced ?? { content: record.content, path: [...path, "content"] };
			countContent(place.content, place.path, draft);
			return finishMessage("user", [path], draft);
		}
		case "branch_summary": {
			const summary = stringAt(record, "summary");
			if (!summary) return undefined;
			draft.counted.push(summary);
			return finishMessage("user", [path], draft);
		}
		default:
			return undefined;
	}
}

function readMessage(
	{ record, path, replaced }: PiEntry,
	argumentsOf: Map<string, ReadonlySet<unknown>>,
): Message | undefined {
	if (!isJsonObject(record.message)) return undefined;
	const { message } = record;
	// Commands that the user ran for himself alone.
	if (message.excludeFromContext === true) return undefined;
	const name = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(roles, name) && roles[name]) || "other";
	const draft = startMessage();
	const place = replaced ?? { content: message.content, path: [...path, "message", "content"] };
	if (role === "tool") {
		addResult(draft, readResult(message, path, place, argumentsOf));
		return finishMessage(role, [path], draft);
	}
	for (const key of ["command", "output", "summary"]) {
		const text = stringAt(message, key);
		if (text) draft.counted.push(text);
	}
	countContent(place.content, place.path, draft);
	for (const call of callsIn(place.content)) {
		const id = idAt(call, "id");
		if (id !== undefined)
			argumentsOf.set(id, new Set(isJsonObject(call.arguments) ? Object.values(call.arguments) : []));
	}
	return finishMessage(role, [path], draft);
}

function readResult(
	message: JsonObject,
	path: Path,
	place: { readonly content: unknown; readonly path: Path },
	argumentsOf: ReadonlyMap<string, ReadonlySet<unknown>>,
): ToolResult & { readonly counted: readonly string[] } {
	const callId = idAt(message, "toolCallId");
	const { texts, whole, media, counted } = readTypedParts(place.content, place.path, readInlineMedia);
	const ofTheCall = argumentsOf.get(callId ?? "") ?? new Set();
	const details = { value: message.details, path: [...path, "message", "details"], texts, ofTheCall };
	const isError = typeof message.isError === "boolean" ? message.isError : undefined;
	return { callId, texts, whole, copies: outputCopies(details), media, isError, counted };
}

function callsIn(content: unknown): JsonObject[] {
	const parts: readonly unknown[] = Array.isArray(content) ? content : [];
	return parts.filter(isJsonObject).filter((part) => part.type === "toolCall");
}

/**
 * Reads a reasoning block. What pi calls its signature is one of Anthropic or Gemini, or the whole reasoning item of
 * OpenAI as JSON, which checks no prefix but wants the item beside its call, or only the field's name at an endpoint.
 */
function readThinking(part: JsonObject, path: Path): ThinkingBlock {
	const signature = stringAt(part, "thinkingSignature") ?? "";
	const isItem = signature.startsWith("{");
	const bound = signature !== "" && !isItem && !signature.startsWith("reasoning");
	return { path, text: asCountedText(part.thinking), bound, ...(isItem ? { fixed: true } : {}) };
}

function countContent(content: unknown, path: Path, draft: MessageDraft): void {
	if (!Array.isArray(content)) {
		if (content !== undefined && content !== null) draft.counted.push(asCountedText(content));
		return;
	}
	(content as unknown[]).forEach((part, index) => {
		if (!isJsonObject(part)) {
			draft.counted.push(asCountedText(part));
			return;
		}
		const at = [...path, index];
		switch (part.type) {
			case "text":
				draft.counted.push(asCountedText(part.text));
				break;
			case "thinking": {
				const block = readThinking(part, at);
				draft.counted.push(block.text);
				draft.thinking.push(block);
				break;
			}
			case "toolCall":
				// Gemini signs the call, which therefore has to stay.
				if (stringAt(part, "thoughtSignature")) draft.thinking.push({ path: at, text: "", bound: true, fixed: true });
				draft.calls.push({ id: idAt(part, "id"), name: stringAt(part, "name") });
				draft.counted.push(stringAt(part, "name") ?? "", asCountedText(part.arguments));
				break;
			default: {
				const media = readInlineMedia(part, at);
				if (media) draft.mediaTokens += media.tokens;
				else draft.counted.push(asCountedText(part));
			}
		}
	});
}

/** A record on the way from the last one back to the beginning. */
export interface PiEntry {
	/** Whether its message would be sent; a compaction or an edit of the context may have taken it out. */
	readonly sent: boolean;
	readonly record: JsonObject;
	readonly path: Path;
	/** What an edit of the context put in the place of its content, and where that stands. */
	readonly replaced: { readonly content: unknown; readonly path: Path } | undefined;
}

/** What a session comes to when it is resumed. */
export interface PiHistory {
	readonly entries: readonly PiEntry[];
	/** The summary of what was compacted, which goes along with each request. */
	readonly summary: string | undefined;
}

/**
 * Follows a session as pi does when it resumes one: the branch that ends in the last record; of that, where it was
 * compacted, the summary, the records from the first kept one on and those after the compaction. Records before those, and
 * those that a `context_edit` takes out, are no longer sent; all that is not on that way is no part of it.
 */
export function followPiSession({ messages: records, base }: LocatedMessages): PiHistory {
	const branch = piChain(records).toSorted((a, b) => a - b);
	const at = (index: number) => records[index] as JsonObject;

	const compaction = branch.findLast((index) => at(index).type === "compaction");
	const first = compaction === undefined ? 0 : firstKept(branch, compaction, at);
	const edits = new Map<string, number>();
	for (const index of branch) {
		const target = at(index).type === "context_edit" ? stringAt(at(index), "targetId") : undefined;
		if (target !== undefined) edits.set(target, index);
	}
	const entries = branch.map((index): PiEntry => {
		const edit = edits.get(stringAt(at(index), "id") ?? "");
		const entry = { record: at(index), path: [...base, index], sent: index >= first, replaced: undefined };
		if (edit === undefined) return entry;
		const { replacement } = at(edit);
		if (!isJsonObject(replacement)) return { ...entry, sent: false };
		return { ...entry, replaced: { content: replacement.content, path: [...base, edit, "replacement", "content"] } };
	});
	return { entries, summary: compaction === undefined ? undefined : stringAt(at(compaction), "summary") };
}

/** The records on the way from the last one back to the beginning. */
export function piChain(records: readonly unknown[]): readonly number[] {
	const firstOf = new Map<unknown, number>();
	records.forEach((record, index) => {
		if (isJsonObject(record) && !firstOf.has(record.id)) firstOf.set(record.id, index);
	});
	const isNode = (index: number) => {
		const record = records[index];
		if (!isJsonObject(record) || record.type === "session") return false;
		// A record that stands in the file a second time is no other one.
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

/** A record of `type` message, whatever record stood in its place. */
export function writePi({ role, text, instead }: WrittenMessage) {
	const before = isJsonObject(instead) ? instead.message : undefined;
	const content = [{ type: "text", text }];
	// pi goes on with the model of the last answer, and adds up what all of them used.
	const answer = { ...keptFields(before, ["api", "provider", "model"]), usage: noUsage, stopReason: "stop" };
	return {
		type: "message",
		...keptFields(instead, ["id", "parentId", "timestamp"]),
		message: { role, content, ...(role === "assistant" ? answer : {}), ...timeOf(instead) },
	};
}

/** When the message was said, in milliseconds: records that hold none have the time of their writing alone. */
function timeOf(record: unknown): { readonly timestamp?: unknown } {
	if (!isJsonObject(record)) return {};
	if (isJsonObject(record.message)) return keptFields(record.message, ["timestamp"]);
	const timestamp = Date.parse(stringAt(record, "timestamp") ?? "");
	return Number.isNaN(timestamp) ? {} : { timestamp };
}

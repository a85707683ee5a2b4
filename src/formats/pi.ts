import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { Message, Role, Transcript } from "../engine/conversation/transcript.ts";
import { cacheApartUsage } from "./answer.ts";
import { type Format, keptFields, type LocatedMessages, probeEach, roleOf, transcriptOf } from "./format.ts";
import { hiddenTokens } from "./hidden-reasoning.ts";
import { booleanAt, hasMember, idAt, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.ts";
import { readInlineMedia } from "./media.ts";
import { MessageDraft, readOpenContent, unsent } from "./parts.ts";
import { type CallValues, outputCopies, recordChain, rememberCall } from "./session-files.ts";

/** pi sends messages with its own roles as user messages. */
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

/** The session files of the pi coding agent: records of type `message` have a message. */
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
	if (!isMessage) return "`message` with a `role` in a record of this type";
	// Events of Goose and records of Droid also hold messages.
	const isForeign = objectsOf(message.content).some(({ type }) => foreignParts.has(type));
	return isForeign ? "calls and results of pi" : true;
}

const foreignParts: ReadonlySet<unknown> = new Set(["toolRequest", "toolResponse", "tool_use", "tool_result"]);

/** The branch that ends in the last record. Records that a compaction did not keep, or that a `context_edit` removes, are not sent. */
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
		return message ? [isSent ? message : unsent(message)] : [];
	});
	const { summary, message } = compaction === undefined ? {} : at(compaction);
	// Letta Code keeps the message beside it in which it sends the summary.
	return transcriptOf("pi", messages, typeof summary === "string" && message === undefined ? [summary] : []);
}

function chainOf(records: readonly unknown[]): readonly number[] {
	const firstOf = new Map<unknown, number>();
	records.forEach((record, index) => {
		if (isJsonObject(record) && !firstOf.has(record.id)) firstOf.set(record.id, index);
	});
	const isNode = (index: number) => {
		const record = records[index];
		if (!isJsonObject(record) || record.type === "session") return false;
		// A file may have a record twice.
		return typeof record.id !== "string" || firstOf.get(record.id) === index;
	};
	const last = records.findLastIndex((_, index) => isNode(index));
	return last === -1 ? [] : recordChain(records, last, { id: "id", parent: "parentId", isNode, isStart: () => false });
}

/** Index of the first record that a compaction kept. The first versions of pi gave its position, counting the header. */
function firstKept(branch: readonly number[], compaction: number, at: (index: number) => JsonObject): number {
	const { firstKeptEntryId: id, firstKeptEntryIndex: position } = at(compaction);
	if (typeof position === "number") return Math.min(position, compaction);
	const named = typeof id === "string" ? branch.find((index) => at(index).id === id) : undefined;
	return Math.min(named ?? compaction, compaction);
}

/** Reads the message of a record, if it has one. `edited` is the content that replaced its own. */
function readRecord(
	record: JsonObject,
	path: Path,
	edited: { readonly content: unknown; readonly path: Path } | undefined,
	callValues: CallValues,
): Message | undefined {
	const isMessage = record.type === "message" || hasMember(objectOf(record.message), "role");
	const message = isMessage ? record.message : record;
	// Commands that the user ran privately are not in the context.
	if (!isJsonObject(message) || (isMessage && message.excludeFromContext === true)) return undefined;
	const draft = new MessageDraft(isMessage ? roleOf(message, roles) : "user", path);
	draft.setTime((isMessage ? timeAt(message, "timestamp") : undefined) ?? timeAt(record, "timestamp"));
	if (draft.role === "assistant") {
		const { input, cacheRead, cacheWrite } = objectOf(message.usage);
		draft.setUsage(cacheApartUsage({ input, cacheRead, cacheWrite, model: message.model }));
	}
	if (record.type === "branch_summary") {
		draft.count(stringAt(record, "summary") || undefined);
		return draft.counted.length > 0 ? draft : undefined;
	}
	if (!isMessage && record.type !== "custom_message") return undefined;
	const at = isMessage ? [...path, "message"] : path;
	const place = edited ?? { content: message.content, path: [...at, "content"] };
	if (draft.role === "tool") {
		const callId = idAt(message, "toolCallId");
		const content = readOpenContent(place.content, place.path, readInlineMedia);
		const held = { record: message, path: at, places: [["details"]], texts: content.texts };
		const copies = outputCopies({ ...held, ofTheCall: callValues.get(callId ?? "") });
		return draft.addResult({ callId, ...content, ...copies, isError: booleanAt(message, "isError") });
	}
	if (isMessage) draft.count(...["command", "output", "summary"].map((key) => stringAt(message, key)));
	draft.readParts(place.content, place.path, readPart);
	for (const part of objectsOf(place.content)) {
		if (part.type === "toolCall") rememberCall(callValues, idAt(part, "id"), part.arguments);
	}
	return draft;
}

function readPart(part: JsonObject, path: Path, draft: MessageDraft): void {
	if (part.type === "text") draft.count(part.text);
	else if (part.type === "thinking") {
		// A signature of Anthropic or Gemini; or OpenAI's reasoning item as JSON; or the name of a field.
		const signature = stringAt(part, "thinkingSignature") ?? "";
		const isItem = signature.startsWith("{");
		const bound = signature !== "" && !isItem && !signature.startsWith("reasoning");
		draft.addThinking(path, part.thinking, bound, isItem, bound ? hiddenTokens(part.thinking, signature) : undefined);
	} else if (part.type === "toolCall") {
		// Gemini requires the signed call back.
		if (stringAt(part, "thoughtSignature")) draft.addSignature(path);
		draft.addCall(idAt(part, "id"), stringAt(part, "name"), part.arguments);
	} else draft.countPart(part, readInlineMedia(part, path));
}

const noUsage = {
	input: 0,
	output: 0,
	cacheRead: 0,
	cacheWrite: 0,
	totalTokens: 0,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** Writes a record of `type` message, whatever it replaces. */
function writeMessage({ role, text, instead }: WrittenMessage) {
	const { message: before } = objectOf(instead);
	const content = [{ type: "text", text }];
	// pi continues with the model of the last answer, and adds up the usage of all answers.
	const answer = { ...keptFields(before, ["api", "provider", "model"]), usage: noUsage, stopReason: "stop" };
	return {
		type: "message",
		...keptFields(instead, ["id", "parentId", "timestamp"]),
		message: { role, content, ...(role === "assistant" ? answer : {}), ...timeOf(objectOf(instead)) },
	};
}

/** The time of a message in milliseconds. Records without a message only have the time when they were written. */
function timeOf(record: JsonObject): { readonly timestamp?: unknown } {
	if (isJsonObject(record.message)) return keptFields(record.message, ["timestamp"]);
	const timestamp = Date.parse(stringAt(record, "timestamp") ?? "");
	return Number.isNaN(timestamp) ? {} : { timestamp };
}

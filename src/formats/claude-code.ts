import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path, ThinkingBlock } from "../conversation/transcript.ts";
import { readAnthropicMedia, readAnthropicMessage } from "./anthropic.ts";
import {
	countJson,
	type Format,
	idOfText,
	joinMessages,
	keptFields,
	type LocatedMessages,
	type MessageDraft,
	probeEach,
	transcriptOf,
} from "./format.ts";
import { hasMember, objectOf, objectsOf, stringAt } from "./json-values.ts";
import { readMedia } from "./media.ts";
import {
	type CallValues,
	outputCopies,
	type RecordTies,
	recordChain,
	rememberCall,
	repeatedRecords,
} from "./session-files.ts";

/** Members that Claude Code writes beside a message; the API's own messages have none of them. */
const sessionKeys = ["sessionId", "session_id", "parentUuid", "isSidechain", "uuid"];

/** Members that tie a record to its session, in the order in which Claude Code writes them. */
const sessionFields = [
	"parentUuid",
	"parent_tool_use_id",
	"isSidechain",
	"userType",
	"entrypoint",
	"cwd",
	"sessionId",
	"session_id",
	"version",
	"gitBranch",
	"slug",
	"agentId",
];

/**
 * The session files of Claude Code: one record a line, of which those of type `user` and `assistant` hold Anthropic
 * messages. The records that one API message was split over are one message here, so that calls made in parallel stay
 * together.
 */
export const claudeCode: Format = {
	name: "claude-code",
	title: "Claude Code session",
	looksFor:
		"Claude Code session (records of `type` user or assistant that hold `message`, with `uuid` and `parentUuid`)",
	probe: ({ messages }) => probeEach(messages, "records of a session with messages", probe),
	read: (located) => ({ ...transcriptOf("claude-code", readMessages(located)), opensWithUser: true }),
	answeredCalls: ({ messages }) => {
		const ids = readTree(messages).main.flatMap(({ message }) => idsOf(message, "tool_result", "tool_use_id"));
		return [...new Set(ids)];
	},
	links: {
		id: ["uuid"],
		parent: ["parentUuid"],
		chain({ messages }) {
			const { main, ties } = readTree(messages);
			return chainOf(messages, main, ties);
		},
	},
	write: { message: writeMessage, appends: false },
};

function probe(record: unknown) {
	if (!isJsonObject(record) || stringAt(record, "type") === undefined) return "a record with a string `type`";
	if (record.type !== "user" && record.type !== "assistant") return false;
	const message = readSpeech(record, 0)?.message;
	if (!message || stringAt(message, "role") === undefined) return "`message` with a `role` in a record of this type";
	const { content } = message;
	const isContent = content === undefined || content === null || typeof content === "string" || Array.isArray(content);
	return isContent ? hasMember(record, ...sessionKeys) : "`message.content` as a string or a list of blocks";
}

/** A record of a session that holds a user's or an assistant's message. */
interface SpeechRecord {
	readonly index: number;
	readonly record: JsonObject;
	readonly message: JsonObject;
	/** Other records of the file that repeat it. */
	readonly repeats: readonly SpeechRecord[];
	/** False where a compaction replaced it. */
	readonly sent: boolean;
}

/** Reads a record as speech; `undefined` for all others (snapshots, progress, summaries, queue operations, …). */
function readSpeech(record: unknown, index: number): SpeechRecord | undefined {
	if (!isJsonObject(record) || (record.type !== "user" && record.type !== "assistant")) return undefined;
	const message = Object.hasOwn(record, "message") ? record.message : undefined;
	return isJsonObject(message) ? { index, record, message, repeats: [], sent: true } : undefined;
}

function readMessages({ messages: records, base }: LocatedMessages): Message[] {
	const messages: [Message, ...Message[]][] = [];
	const byApiMessage = new Map<string, Message[]>();
	const callValues: CallValues = new Map();
	const { spoken, attached } = conversationRecords(records);
	let nextAttached = 0;
	for (const [position, one] of spoken.entries()) {
		for (const block of objectsOf(one.message.content)) {
			if (block.type === "tool_use") rememberCall(callValues, stringAt(block, "id"), block.input);
		}
		const draft = readRecord(one, base, callValues);
		for (const repeat of one.repeats) addRepeat(draft, readRecord(repeat, base, callValues));
		// Attachments belong to the record before them; the first ones to the first record.
		const end = spoken[position + 1]?.index ?? records.length;
		for (let index = attached[nextAttached]; index !== undefined && index < end; index = attached[nextAttached]) {
			addAttachment(draft, records[index] as JsonObject, [...base, index]);
			nextAttached += 1;
		}
		const message = one.sent ? draft : { ...draft, sent: false };
		const id = apiMessageId(one);
		const parts = id === undefined ? undefined : byApiMessage.get(id);
		if (parts) {
			parts.push(message);
			continue;
		}
		const own: [Message, ...Message[]] = [message];
		messages.push(own);
		if (id !== undefined) byApiMessage.set(id, own);
	}
	return messages.map(joinMessages);
}

/** Members of a record that keep a second copy of a tool's output. */
const copyPlaces = [["toolUseResult"], ["tool_use_result"], ["mcpMeta"]];

function readRecord({ index, record, message }: SpeechRecord, base: Path, callValues: CallValues): MessageDraft {
	const path = [...base, index];
	const own = readAnthropicMessage(message, [...path, "message"]);
	const draft = { ...own, paths: [path], thinking: thinkingOf(own, message, path) };
	const [first] = draft.results;
	if (!first) return draft;
	// A record keeps one copy for all its results; in what Claude Code writes there is one result.
	const texts = draft.results.flatMap((result) => result.texts);
	const ofTheCall = callValues.get(first.callId ?? "");
	draft.results[0] = { ...first, copies: outputCopies({ record, path, places: copyPlaces, texts, ofTheCall }) };
	return draft;
}

/** A record that holds reasoning and nothing else goes as a whole, since a content may not be empty. */
function thinkingOf({ thinking }: MessageDraft, { content }: JsonObject, path: Path): ThinkingBlock[] {
	if (thinking.length === 0 || !Array.isArray(content) || thinking.length < content.length) return thinking;
	const text = thinking.map((block) => block.text).join("\n");
	return [{ path, text, bound: thinking.some((block) => block.bound) }];
}

/** Adds a record that repeats a message: its content is sent once, and edited in both. */
function addRepeat(draft: MessageDraft, repeat: MessageDraft): void {
	draft.paths.push(...repeat.paths);
	draft.thinking.push(...repeat.thinking);
	draft.results.forEach((result, index) => {
		const copies = [...result.copies, ...(repeat.results[index]?.copies ?? [])];
		const repeats = [...(result.repeats ?? []), ...repeat.paths.map((path) => [...path, "message"])];
		draft.results[index] = { ...result, copies, repeats };
	});
}

/**
 * Kinds of attachments of which Claude Code sends nothing: what it shows on the screen, keeps for itself, or no longer
 * knows. All others become a text of a user's message (a file that was named, an edited file, memory, skills, reminders).
 */
const unsent: ReadonlySet<unknown> = new Set([
	"already_read_file",
	"command_permissions",
	"dynamic_skill",
	"edited_image_file",
	"hook_cancelled",
	"hook_error_during_execution",
	"hook_non_blocking_error",
	"hook_permission_decision",
	"hook_system_message",
	"structured_output",
	"autocheckpointing",
	"background_task_status",
	"task_progress",
	"todo",
	"ultramemory",
]);

/** Adds an attachment to the message before it. It is counted, never edited, and dropped with the message. */
function addAttachment(draft: MessageDraft, { attachment }: JsonObject, path: Path): void {
	draft.paths.push(path);
	if (!isJsonObject(attachment) || unsent.has(attachment.type)) return;
	const isHook = attachment.type === "hook_success";
	// Of other hooks the output is not sent.
	if (isHook && attachment.hookEvent !== "SessionStart" && attachment.hookEvent !== "UserPromptSubmit") return;
	countJson(draft, isHook ? { content: attachment.content } : attachment, [...path, "attachment"], readAttachedMedia);
}

/** An image or a document: as the API has it, or as Claude Code's own tool reads a file. */
function readAttachedMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const data = stringAt(part, "base64");
	if (data === undefined) return readAnthropicMedia(part, path);
	return readMedia({ path, provider: "anthropic", data, mediaType: stringAt(part, "type") });
}

/**
 * The records that make up the conversation as it would be sent now, in file order: the chain of parents that ends in
 * the last message, with the records that belong to it but hang beside it, since one answer of the API is written as
 * several records and each parallel call has its result as a child of its own. Branches that a rewind or a retry left
 * behind are not part of it, nor are the notices of failed API requests, which are never sent. Records that a compaction
 * replaced are, but they are no longer sent.
 */
function conversationRecords(records: readonly unknown[]) {
	const { main, ties } = readTree(records);
	const chain = chainOf(records, main, ties);
	const choose = (indexes: readonly number[]): ReadonlySet<SpeechRecord> => {
		const wanted = new Set(indexes);
		const chosen = new Set(main.filter(({ index }) => wanted.has(index)));
		addSiblings(main, chosen);
		return chosen;
	};
	const sent = choose(chain);
	const whole = [...chain, ...compactedChain(records, chain, ties)];
	const all = choose(whole);
	const spoken = main.flatMap((one) => (all.has(one) && !isApiError(one) ? [{ ...one, sent: sent.has(one) }] : []));
	const attached = whole.filter((index) => isAttachment(records[index])).sort((a, b) => a - b);
	return { spoken, attached: [...attached, ...trailingAttachments(records, main.at(-1)?.index)] };
}

/** The messages of the main agent in a session, and how its records are tied. */
function readTree(records: readonly unknown[]): { main: readonly SpeechRecord[]; ties: RecordTies } {
	// Who resumes a session writes the time and the folder of a copied record anew, but not its message.
	const repeats = repeatedRecords(records, (record) => {
		const speech = readSpeech(record, 0);
		return speech ? [record.type, isSidechain(record), speech.message] : record;
	});
	const speech = withoutRepeats(
		records.flatMap((record, index) => readSpeech(record, index) ?? []),
		repeats,
	);
	// In a subagent's own file every record is a sidechain; elsewhere a sidechain is another agent's conversation.
	const isOwnFile = speech.every(({ record }) => isSidechain(record));
	const isMain = (record: JsonObject) => isOwnFile || !isSidechain(record);
	const main = speech.filter(({ record }) => isMain(record));
	const isSpeech = new Set(main.map(({ index }) => index));
	const isNode = (index: number) => {
		const record = records[index];
		if (!isJsonObject(record) || repeats.has(index)) return false;
		return isMain(record) && (isSpeech.has(index) || typeof record.uuid === "string");
	};
	// Nothing before a compaction is sent any longer.
	const isStart = (index: number) => {
		const record = records[index];
		return isJsonObject(record) && (record.subtype === "compact_boundary" || record.isCompactSummary === true);
	};
	return { main, ties: { id: "uuid", parent: "parentUuid", isNode, isStart } };
}

function isSidechain(record: JsonObject): boolean {
	return record.isSidechain === true || typeof record.parent_tool_use_id === "string";
}

/** Takes records that the file holds more than once at their first place, with the others beside them. */
function withoutRepeats(
	speech: readonly SpeechRecord[],
	repeats: ReadonlyMap<number, number>,
): readonly SpeechRecord[] {
	const others = new Map<number, SpeechRecord[]>();
	for (const one of speech) {
		const first = repeats.get(one.index);
		if (first !== undefined) others.set(first, [...(others.get(first) ?? []), one]);
	}
	return speech.flatMap((one) => (repeats.has(one.index) ? [] : { ...one, repeats: others.get(one.index) ?? [] }));
}

function chainOf(records: readonly unknown[], main: readonly SpeechRecord[], ties: RecordTies): readonly number[] {
	const last = main.at(-1);
	return last ? recordChain(records, last.index, ties) : [];
}

/** Adds the other records of the same API messages, and results of theirs that no chosen record holds. */
function addSiblings(main: readonly SpeechRecord[], chosen: Set<SpeechRecord>): void {
	const messageIds = new Set(Array.from(chosen, apiMessageId));
	for (const one of main) {
		const id = apiMessageId(one);
		if (id !== undefined && messageIds.has(id)) chosen.add(one);
	}
	const open = new Set(Array.from(chosen).flatMap(({ message }) => idsOf(message, "tool_use", "id")));
	for (const { message } of chosen) for (const id of idsOf(message, "tool_result", "tool_use_id")) open.delete(id);
	for (const one of main) {
		const answered = chosen.has(one) ? [] : idsOf(one.message, "tool_result", "tool_use_id");
		if (!answered.some((id) => open.has(id))) continue;
		chosen.add(one);
		for (const id of answered) open.delete(id);
	}
}

/** The id under which the API gave an answer, which all records of that answer carry. */
function apiMessageId({ record, message }: SpeechRecord): string | undefined {
	return record.type === "assistant" ? stringAt(message, "id") || undefined : undefined;
}

function idsOf({ content }: JsonObject, type: string, key: string): string[] {
	return objectsOf(content).flatMap((block) => (block.type === type ? (stringAt(block, key) ?? []) : []));
}

function isApiError({ record, message }: SpeechRecord): boolean {
	return record.isApiErrorMessage === true && message.model === "<synthetic>";
}

/** The records before the beginning of a chain that a compaction begins: what the compaction replaced. */
function compactedChain(records: readonly unknown[], chain: readonly number[], ties: RecordTies): number[] {
	const indexOf = new Map(records.map((record, index) => [isJsonObject(record) ? record.uuid : undefined, index]));
	const found = new Set(chain);
	for (let start = chain.at(-1); start !== undefined && ties.isStart(start); ) {
		const { logicalParentUuid, parentUuid } = records[start] as JsonObject;
		const named = indexOf.get(logicalParentUuid ?? parentUuid ?? "");
		const before = named ?? records.findLastIndex((_, index) => index < (start ?? 0) && ties.isNode(index));
		if (before === -1 || found.has(before)) break;
		const earlier: readonly number[] = recordChain(records, before, ties);
		for (const index of earlier) found.add(index);
		start = earlier.at(-1);
	}
	return Array.from(found).slice(chain.length);
}

function isAttachment(record: unknown): record is JsonObject {
	return isJsonObject(record) && record.type === "attachment";
}

/** The attachments behind the last message, which no message follows yet. */
function trailingAttachments(records: readonly unknown[], last: number | undefined): number[] {
	const message = last === undefined ? undefined : records[last];
	if (last === undefined || !isJsonObject(message)) return [];
	const ties = new Set([stringAt(message, "uuid")]);
	return records.flatMap((record, index) => {
		if (index <= last || !isAttachment(record)) return [];
		const parent = stringAt(record, "parentUuid");
		if (parent === undefined || !ties.has(parent)) return [];
		ties.add(stringAt(record, "uuid"));
		return [index];
	});
}

/**
 * A record as Claude Code writes it for a user's prompt, or for an answer of its own that no model gave. It is none of
 * a compaction, before which nothing would be sent any longer, unless it replaces one.
 */
function writeMessage({ role, text, instead }: WrittenMessage) {
	const compacted = objectOf(instead).isCompactSummary === true;
	const uuid = stringAt(objectOf(instead), "uuid") || idOfText(text);
	return {
		...keptFields(instead, sessionFields),
		type: role,
		message: role === "user" ? { role, content: text } : writeAnswer(text, uuid),
		...(compacted ? keptFields(instead, ["isVisibleInTranscriptOnly", "isCompactSummary"]) : {}),
		uuid,
		...keptFields(instead, ["timestamp"]),
	};
}

/** Claude Code sums up the usage of all answers when it resumes a session. */
function writeAnswer(text: string, id: string) {
	return {
		id,
		type: "message",
		role: "assistant",
		model: "<synthetic>",
		content: [{ type: "text", text }],
		stop_reason: "stop_sequence",
		stop_sequence: "",
		usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
	};
}

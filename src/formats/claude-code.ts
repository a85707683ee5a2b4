import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path, ThinkingBlock } from "../conversation/transcript.ts";
import { readAnthropicMedia, readAnthropicMessage } from "./anthropic.ts";
import { type Fit, type Format, idOfText, keptFields, type LocatedMessages } from "./format.ts";
import { stringAt } from "./json-values.ts";
import { readMedia, tokensOfMedia } from "./media.ts";
import { readJsonTexts } from "./parts.ts";
import { outputCopies, type RecordTies, recordChain, repeatedRecords } from "./session-files.ts";

/** What Claude Code writes beside a message; the API's own messages have none of it. */
const sessionKeys = ["sessionId", "session_id", "parentUuid", "isSidechain", "uuid"];

/** Where a record keeps a second copy of what a tool answered. */
const copyKeys = ["toolUseResult", "tool_use_result", "mcpMeta"];

/** What ties a record to its session, in the order in which Claude Code writes it. */
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

/** What makes a record the one with which a compacted conversation begins. */
const compactionFields = ["isVisibleInTranscriptOnly", "isCompactSummary"];

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
	probe,
	read(located) {
		return {
			format: "claude-code",
			messages: readRecords(conversationRecords(located.messages), located),
			surroundings: [],
			opensWithUser: true,
		};
	},
	answeredCalls: ({ messages }) => answeredCalls(messages),
	links: { id: ["uuid"], parent: ["parentUuid"], chain: ({ messages }) => conversationChain(messages) },
	write: { message: writeClaudeCode, appends: false },
};

function probe({ messages }: LocatedMessages): Fit {
	let certain = false;
	for (const [message, record] of messages.entries()) {
		const expected = misfit(record);
		if (expected !== undefined) return { fit: "none", message, expected };
		const speech = readSpeech(record, message);
		certain ||= speech !== undefined && sessionKeys.some((key) => Object.hasOwn(speech.record, key));
	}
	return certain ? { fit: "certain" } : { fit: "none", message: 0, expected: "records of a session with messages" };
}

/** What a record should have been; `undefined` where it fits. */
function misfit(record: unknown): string | undefined {
	if (!isJsonObject(record) || stringAt(record, "type") === undefined) return "a record with a string `type`";
	if (record.type !== "user" && record.type !== "assistant") return undefined;
	const message = readSpeech(record, 0)?.message;
	if (!message || stringAt(message, "role") === undefined) return "`message` with a `role` in a record of this type";
	const { content } = message;
	const isContent = content === undefined || content === null || typeof content === "string" || Array.isArray(content);
	return isContent ? undefined : "`message.content` as a string or a list of blocks";
}

function readRecords(records: readonly SpeechRecord[], { messages: all, base }: LocatedMessages): Message[] {
	const messages: Message[][] = [];
	const begun = new Map<string, Message[]>();
	const argumentsOf = new Map<string, ReadonlySet<unknown>>();
	for (const one of records) {
		for (const [id, values] of argumentsIn(one.message)) argumentsOf.set(id, values);
		const repeats = one.repeats.map((repeat) => readRecord(repeat, base, argumentsOf));
		const joined = joinRepeats(readRecord(one, base, argumentsOf), repeats);
		const whole = countAttachments(joined, one.attachments ?? [], all, base);
		const message = one.sent === false ? { ...whole, sent: false } : whole;
		const id = apiMessageId(one);
		const parts = id === undefined ? undefined : begun.get(id);
		if (parts) {
			parts.push(message);
			continue;
		}
		const own = [message];
		messages.push(own);
		if (id !== undefined) begun.set(id, own);
	}
	return messages.map(join);
}

function readRecord(
	{ index, record, message }: SpeechRecord,
	base: Path,
	argumentsOf: ReadonlyMap<string, ReadonlySet<unknown>>,
): Message {
	const path = [...base, index];
	const own = readAnthropicMessage(message, [...path, "message"]);
	const read = { ...own, paths: [path], thinking: thinkingOf(own, message, path) };
	const [first, ...others] = read.results;
	const kept = copyKeys.filter((key) => Object.hasOwn(record, key));
	if (!first || kept.length === 0) return read;
	// A record keeps one copy for all its results; in what Claude Code writes there is one result.
	const texts = read.results.flatMap((result) => result.texts);
	const ofTheCall = argumentsOf.get(first.callId ?? "") ?? new Set();
	const copies = kept.flatMap((key) => outputCopies({ value: record[key], path: [...path, key], texts, ofTheCall }));
	return { ...read, results: [{ ...first, copies }, ...others] };
}

/** A message with what is sent along behind it. */
function countAttachments(message: Message, indexes: readonly number[], all: readonly unknown[], base: Path): Message {
	if (indexes.length === 0) return message;
	const attached = indexes.map((index) => readAttachment(all[index] as JsonObject, [...base, index]));
	return {
		...message,
		paths: [...message.paths, ...indexes.map((index) => [...base, index])],
		counted: [...message.counted, ...attached.flatMap(({ counted }) => counted)],
		mediaTokens: attached.reduce((sum, { mediaTokens }) => sum + mediaTokens, message.mediaTokens),
	};
}

/** A record that holds reasoning and nothing else goes as a whole, since a content may not be empty. */
function thinkingOf({ thinking }: Message, { content }: JsonObject, path: Path): readonly ThinkingBlock[] {
	if (thinking.length === 0 || !Array.isArray(content) || thinking.length < content.length) return thinking;
	const text = thinking.map((block) => block.text).join("\n");
	return [{ path, text, bound: thinking.some((block) => block.bound) }];
}

/** The arguments of each call in a message, by the call's id. */
function argumentsIn(message: JsonObject): [string, ReadonlySet<unknown>][] {
	if (!Array.isArray(message.content)) return [];
	return (message.content as unknown[]).flatMap((block): [string, ReadonlySet<unknown>][] => {
		const id = isJsonObject(block) && block.type === "tool_use" ? stringAt(block, "id") : undefined;
		return id !== undefined && isJsonObject(block) && isJsonObject(block.input)
			? [[id, new Set(Object.values(block.input))]]
			: [];
	});
}

/** The parts of one API message. */
function join(parts: readonly Message[]): Message {
	return {
		role: parts[0]?.role ?? "assistant",
		paths: parts.flatMap((part) => part.paths),
		counted: parts.flatMap((part) => part.counted),
		mediaTokens: parts.reduce((sum, part) => sum + part.mediaTokens, 0),
		calls: parts.flatMap((part) => part.calls),
		results: parts.flatMap((part) => part.results),
		thinking: parts.flatMap((part) => part.thinking),
		...(parts[0]?.sent === false ? { sent: false } : {}),
	};
}

/** A record with those that repeat it: what it holds is sent once, and edited in all of them. */
function joinRepeats(first: Message, repeats: readonly Message[]): Message {
	if (repeats.length === 0) return first;
	const paths = repeats.flatMap((repeat) => repeat.paths);
	return {
		...first,
		paths: [...first.paths, ...paths],
		results: first.results.map((result, index) => ({
			...result,
			copies: [...result.copies, ...repeats.flatMap((repeat) => repeat.results[index]?.copies ?? [])],
			repeats: paths.map((path) => [...path, "message"]),
		})),
		thinking: [first, ...repeats].flatMap((one) => one.thinking),
	};
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

/** Hooks whose output is sent. */
const heardHooks: ReadonlySet<unknown> = new Set(["SessionStart", "UserPromptSubmit"]);

/** What an attachment costs. Nothing of it is edited: it goes with the message that it stands behind. */
export function readAttachment(record: JsonObject, path: Path): { counted: readonly string[]; mediaTokens: number } {
	const { attachment } = record;
	if (!isJsonObject(attachment) || unsent.has(attachment.type)) return { counted: [], mediaTokens: 0 };
	const isHook = attachment.type === "hook_success";
	if (isHook && !heardHooks.has(attachment.hookEvent)) return { counted: [], mediaTokens: 0 };
	const value = isHook ? { content: attachment.content } : attachment;
	const { texts, media, counted } = readJsonTexts(value, [...path, "attachment"], readPart);
	return { counted: [...texts.map(({ text }) => text), ...counted], mediaTokens: tokensOfMedia(media) };
}

/** An image or a document: as the API has it, or as Claude Code's own tool reads a file. */
function readPart(part: JsonObject, path: Path): MediaNode | undefined {
	const data = stringAt(part, "base64");
	if (data === undefined) return readAnthropicMedia(part, path);
	return readMedia({ path, provider: "anthropic", data, mediaType: stringAt(part, "type") });
}

/** A record of a session that holds a user's or an assistant's message. */
export interface SpeechRecord {
	readonly index: number;
	readonly record: JsonObject;
	readonly message: JsonObject;
	/** The same record where it stands in the file once more. */
	readonly repeats: readonly SpeechRecord[];
	/** False where a compaction took its place. */
	readonly sent?: boolean;
	/** Indexes of the attachments that are sent along with it. */
	readonly attachments?: readonly number[];
}

/** Reads a record as speech; `undefined` for all the others (snapshots, progress, summaries, queue operations, …). */
export function readSpeech(record: unknown, index: number): SpeechRecord | undefined {
	if (!isJsonObject(record) || (record.type !== "user" && record.type !== "assistant")) return undefined;
	const message = Object.hasOwn(record, "message") ? record.message : undefined;
	return isJsonObject(message) ? { index, record, message, repeats: [] } : undefined;
}

/**
 * The records that make up the conversation as it would be sent now, in file order: the chain of parents that ends in
 * the last message, with what belongs to it but hangs beside it, since one answer of the API is written as several
 * records and each parallel call has its result as a child of its own. Branches that a rewind or a retry left behind
 * are not part of it, nor are the notices of failed API requests, which are never sent. What a compaction took the place
 * of is, but it is no longer sent.
 */
export function conversationRecords(records: readonly unknown[]): SpeechRecord[] {
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
	return withAttachments(records, spoken, [...whole, ...trailingAttachments(records, main.at(-1)?.index)]);
}

/** Adds the attachments of the conversation to the records that they stand behind; the first ones to the first record. */
function withAttachments(
	records: readonly unknown[],
	spoken: readonly SpeechRecord[],
	whole: readonly number[],
): SpeechRecord[] {
	const attached = whole.filter((index) => isAttachment(records[index])).sort((a, b) => a - b);
	let next = 0;
	return spoken.map((one, position) => {
		const end = spoken[position + 1]?.index ?? Number.POSITIVE_INFINITY;
		const begin = next;
		while ((attached[next] ?? Number.POSITIVE_INFINITY) < end) next += 1;
		return next === begin ? one : { ...one, attachments: attached.slice(begin, next) };
	});
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

/** The records before the beginning of a chain, where a compaction made that beginning: what it took the place of. */
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

/** The records on the way from the last message back to the beginning. */
export function conversationChain(records: readonly unknown[]): readonly number[] {
	const { main, ties } = readTree(records);
	return chainOf(records, main, ties);
}

function chainOf(records: readonly unknown[], main: readonly SpeechRecord[], ties: RecordTies): readonly number[] {
	const last = main.at(-1);
	return last ? recordChain(records, last.index, ties) : [];
}

/** The messages of the main agent in a session, and how its records are tied. */
function readTree(records: readonly unknown[]): { main: readonly SpeechRecord[]; ties: RecordTies } {
	const repeats = repeatedRecords(records, "uuid", contentOf);
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
	const isStart = (index: number) => replacesHistory(records[index]);
	return { main, ties: { id: "uuid", parent: "parentUuid", isNode, isStart } };
}

/** Of a message what it says; who resumes a session writes the time and the folder of the copy anew. */
function contentOf(record: JsonObject): unknown {
	const speech = readSpeech(record, 0);
	return speech ? [record.type, isSidechain(record), speech.message] : record;
}

/** Records that stand in the file more than once are taken where they stand first, with the others beside them. */
function withoutRepeats(speech: readonly SpeechRecord[], repeats: ReadonlyMap<number, number>): SpeechRecord[] {
	const others = new Map<number, SpeechRecord[]>();
	for (const one of speech) {
		const first = repeats.get(one.index);
		if (first === undefined) continue;
		const known = others.get(first);
		if (known) known.push(one);
		else others.set(first, [one]);
	}
	return speech.flatMap((one) => (repeats.has(one.index) ? [] : { ...one, repeats: others.get(one.index) ?? [] }));
}

/** The ids of all calls that a record of the main agent answers, whichever branch it stands on. */
export function answeredCalls(records: readonly unknown[]): readonly string[] {
	const ids = readTree(records).main.flatMap(({ message }) => idsOf(message, "tool_result", "tool_use_id"));
	return [...new Set(ids)];
}

function isSidechain(record: JsonObject): boolean {
	return record.isSidechain === true || typeof record.parent_tool_use_id === "string";
}

/** Nothing before a compaction is sent any longer. */
function replacesHistory(record: unknown): boolean {
	return isJsonObject(record) && (record.subtype === "compact_boundary" || record.isCompactSummary === true);
}

function isApiError({ record, message }: SpeechRecord): boolean {
	return record.isApiErrorMessage === true && message.model === "<synthetic>";
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
export function apiMessageId({ record, message }: SpeechRecord): string | undefined {
	return record.type === "assistant" ? stringAt(message, "id") || undefined : undefined;
}

function idsOf(message: JsonObject, type: string, key: string): string[] {
	if (!Array.isArray(message.content)) return [];
	return (message.content as unknown[]).flatMap((block) =>
		isJsonObject(block) && block.type === type ? (stringAt(block, key) ?? []) : [],
	);
}

/**
 * A record as Claude Code writes it for what a user typed, or for an answer of its own that no model gave. It is none of
 * a compaction, before which nothing would be sent any longer, unless it stands in the place of one.
 */
export function writeClaudeCode({ role, text, instead }: WrittenMessage) {
	const compacted = isJsonObject(instead) && instead.isCompactSummary === true;
	const uuid = (isJsonObject(instead) && stringAt(instead, "uuid")) || idOfText(text);
	return {
		...keptFields(instead, sessionFields),
		type: role,
		message: role === "user" ? { role, content: text } : writeAnswer(text, uuid),
		...(compacted ? keptFields(instead, compactionFields) : {}),
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

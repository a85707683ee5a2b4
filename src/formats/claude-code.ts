import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { addToList, groupBy } from "../engine/conversation/lists.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Message } from "../engine/conversation/transcript.ts";
import { anthropicUsage } from "./answer.ts";
import { readAnthropicMedia, readAnthropicMessage } from "./anthropic.ts";
import { type Format, idOfText, keptFields, type LocatedMessages, probeEach, transcriptOf } from "./format.ts";
import { asCountedText, hasMember, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.ts";
import { readMedia } from "./media.ts";
import { added, joinMessages, type MessageDraft, unsent } from "./parts.ts";
import {
	type CallValues,
	joinCopies,
	outputCopies,
	type RecordTies,
	recordChain,
	rememberCall,
	repeatedRecords,
} from "./session-files.ts";

/** Members of a record that messages of the API do not have. */
const sessionKeys = ["sessionId", "session_id", "parentUuid", "isSidechain", "uuid", "timestamp"];

/** Members that link a record to its session, in the order of Claude Code. */
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

/** Sessions of Claude Code. The records of one API message are one message, so that parallel calls stay together. */
export const claudeCode: Format = {
	name: "claude-code",
	title: "Claude Code session",
	looksFor:
		"Claude Code session (records of `type` user or assistant that hold `message`, with `uuid` and `parentUuid`)",
	probe: ({ messages }) => {
		const expected = "records of a session with messages";
		const fit = probeEach(messages, expected, probe);
		const hasMessages = fit.fit === "none" || messages.some((record) => readSpeech(record, 0));
		return hasMessages ? fit : { fit: "none", message: 0, expected };
	},
	read: (located) => ({
		...transcriptOf("claude-code", readMessages(located), readPrompt(located)),
		opensWithUser: true,
	}),
	answeredCalls: ({ messages }) => answeredCalls(readTree(messages).main),
	links: {
		id: ["uuid"],
		parent: ["parentUuid"],
		chain({ messages }) {
			const { chain, ties } = readTree(messages);
			// Records without any links get none.
			return ties.parent === "parentUuid" ? chain : [];
		},
	},
	write: { message: writeMessage, appends: false },
};

function probe(record: unknown) {
	if (!isJsonObject(record) || stringAt(record, "type") === undefined) return "a record with a string `type`";
	// The Agent SDK's stream begins with the settings of its session, and ends with a result.
	if (record.type === "system" || record.type === "result") return hasMember(record, "session_id", "total_cost_usd");
	if (record.type !== "user" && record.type !== "assistant") return false;
	const message = readSpeech(record, 0)?.message;
	// Exports of the Agent SDK's stream may leave out the role, which is the type of the record.
	const isBare = message && !hasMember(message, "role") && !hasMember(record, "parentUuid");
	if (!message || (stringAt(message, "role") === undefined && !isBare))
		return "`message` with a `role` in a record of this type";
	// Qwen Code has the same records around messages of Gemini's API.
	if (hasMember(message, "parts")) return "`message.content`, not `message.parts`";
	const { content } = message;
	const isContent = content == null || typeof content === "string" || Array.isArray(content);
	return isContent ? hasMember(record, ...sessionKeys) : "`message.content` as a string or a list of blocks";
}

interface SpeechRecord {
	readonly index: number;
	readonly record: JsonObject;
	readonly message: JsonObject;
	/** Other records of the file that repeat it. */
	readonly repeats: readonly SpeechRecord[];
	/** False if a compaction replaced it. */
	readonly sent: boolean;
}

function readSpeech(record: unknown, index: number): SpeechRecord | undefined {
	if (!isJsonObject(record)) return undefined;
	const { type, message } = record;
	const isKnown = type === "user" || type === "assistant";
	// A later version may keep messages in records of other types.
	const isNew =
		!isKnown && typeof type === "string" && hasMember(record, "uuid") && hasMember(objectOf(message), "role");
	return (isKnown || isNew) && isJsonObject(message) ? { index, record, message, repeats: [], sent: true } : undefined;
}

function readMessages({ messages: records, base }: LocatedMessages): Message[] {
	const byApiMessage = new Map<string | number, Message[]>();
	const callValues: CallValues = new Map();
	const { spoken, attached } = conversationRecords(records);
	let nextAttached = 0;
	for (const [position, one] of spoken.entries()) {
		for (const block of objectsOf(one.message.content)) {
			if (block.type === "tool_use") rememberCall(callValues, stringAt(block, "id"), block.input);
		}
		const draft = readRecord(one, base, callValues);
		for (const repeat of one.repeats) addRepeat(draft, readRecord(repeat, base, callValues));
		// An attachment belongs to the record before it, or to the first record if none comes before.
		const end = spoken[position + 1]?.index ?? records.length;
		for (let index = attached[nextAttached]; index !== undefined && index < end; index = attached[nextAttached]) {
			addAttachment(draft, records[index] as JsonObject, [...base, index]);
			nextAttached += 1;
		}
		addToList(byApiMessage, apiMessageId(one) ?? one.index, one.sent ? draft : unsent(draft));
	}
	return Array.from(byApiMessage.values(), joinMessages);
}

const copyPlaces = [["toolUseResult"], ["tool_use_result"], ["mcpMeta"]];

function readRecord({ index, record, message }: SpeechRecord, base: Path, callValues: CallValues): MessageDraft {
	const path = [...base, index];
	const { type: role } = record;
	const draft = readAnthropicMessage({ role, ...message }, [...path, "message"], [path]);
	joinThinking(draft, message, path);
	draft.setTime(timeAt(record, "timestamp"));
	if (draft.role === "assistant") {
		draft.setUsage(anthropicUsage(message));
		const id = stringAt(message, "id");
		// Some endpoints give no id of the request.
		if (id) draft.answerId = JSON.stringify([id, stringAt(record, "requestId") ?? null]);
	}
	const [first] = draft.results;
	if (!first) return draft;
	// A record has one copy for all its results. Claude Code writes one result into each record.
	const texts = draft.results.flatMap((result) => result.texts);
	const ofTheCall = callValues.get(first.callId ?? "");
	draft.results[0] = { ...first, ...outputCopies({ record, path, places: copyPlaces, texts, ofTheCall }) };
	return draft;
}

/** Joins the reasoning of a record that has nothing else: the record is removed as a whole, since content may not be empty. */
function joinThinking(draft: MessageDraft, { content }: JsonObject, path: Path): void {
	const { thinking } = draft;
	if (thinking.length === 0 || !Array.isArray(content) || thinking.length < content.length) return;
	const text = thinking.map((block) => block.text).join("\n");
	const hidden = thinking.flatMap((block) => block.hiddenTokens ?? []);
	const bound = thinking.some((block) => block.bound);
	const tokens = hidden.reduce((sum, one) => sum + one, 0);
	draft.thinking = [{ path, text, bound, ...(hidden.length > 0 ? { hiddenTokens: tokens } : {}) }];
}

/** Adds a record that repeats a message. The content is sent once, but edited in both records. */
function addRepeat(draft: MessageDraft, repeat: MessageDraft): void {
	draft.paths.push(...repeat.paths);
	draft.thinking = added(draft.thinking, ...repeat.thinking.map((block) => ({ ...block, repeated: true as const })));
	draft.results.forEach((result, index) => {
		const copies = joinCopies([result, ...repeat.results.slice(index, index + 1)]);
		const repeats = [...(result.repeats ?? []), ...repeat.paths.map((path) => [...path, "message"])];
		draft.results[index] = { ...result, ...copies, repeats };
	});
}

/** Attachments that Claude Code does not send. It sends all others as user text. */
const unsentAttachments: ReadonlySet<unknown> = new Set([
	"already_read_file",
	"command_permissions",
	"dynamic_skill",
	"edited_image_file",
	"hook_cancelled",
	"hook_error_during_execution",
	"hook_non_blocking_error",
	"hook_permission_decision",
	"prompt_snapshot",
	"hook_system_message",
	"structured_output",
	"autocheckpointing",
	"background_task_status",
	"task_progress",
	"todo",
	"ultramemory",
]);

/** The system prompt and the tools of each call, as the last snapshot has them. Seen in 2.1.330. */
function readPrompt({ messages }: LocatedMessages): string[] {
	const snapshots = messages.flatMap((record) => {
		const attachment = isAttachment(record) ? objectOf(record.attachment) : {};
		return attachment.type === "prompt_snapshot" ? [attachment] : [];
	});
	return ["systemPrompt", "tools"].flatMap((key) => {
		const value = snapshots.findLast((snapshot) => Object.hasOwn(snapshot, key))?.[key];
		return value === undefined ? [] : [asCountedText(value)];
	});
}

/** An attachment is counted, never edited, and dropped with the message before it. */
function addAttachment(draft: MessageDraft, { attachment }: JsonObject, path: Path): void {
	draft.paths.push(path);
	if (!isJsonObject(attachment) || unsentAttachments.has(attachment.type)) return;
	const isHook = attachment.type === "hook_success";
	// Claude Code sends the output of no other hooks.
	if (isHook && attachment.hookEvent !== "SessionStart" && attachment.hookEvent !== "UserPromptSubmit") return;
	draft.countJson(isHook ? { content: attachment.content } : attachment, [...path, "attachment"], readAttachedMedia);
}

/** Reads an image or a document in the form of the API or of the tool that reads files. */
function readAttachedMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const data = stringAt(part, "base64");
	if (data === undefined) return readAnthropicMedia(part, path);
	return readMedia({ path, provider: "anthropic", data, mediaType: stringAt(part, "type") });
}

/**
 * The records of the conversation in file order: the chain of parents that ends in the last message, with the siblings of
 * its records, since parallel calls and their results are separate branches. Branches that a rewind or a retry left are not
 * part of it, nor are notices of failed requests. Records that a compaction replaced are part of it, but not sent.
 */
function conversationRecords(records: readonly unknown[]) {
	const { main, ties, chain } = readTree(records);
	const choose = (indexes: readonly number[]): ReadonlySet<SpeechRecord> => {
		const wanted = new Set(indexes);
		const chosen = new Set(main.filter(({ index }) => wanted.has(index)));
		addSiblings(main, chosen);
		return chosen;
	};
	const sent = choose(chain);
	const whole = [...chain, ...compactedChain(records, chain, ties)];
	const all = choose(whole);
	const isNotice = ({ record, message }: SpeechRecord) =>
		record.isApiErrorMessage === true && message.model === "<synthetic>";
	const spoken = main.flatMap((one) => (all.has(one) && !isNotice(one) ? [{ ...one, sent: sent.has(one) }] : []));
	const attached = whole.filter((index) => isAttachment(records[index])).sort((a, b) => a - b);
	return { spoken, attached: [...attached, ...trailingAttachments(records, main.at(-1))] };
}

/** The messages of the main agent, how the records are linked, and the records from the last message back. */
function readTree(records: readonly unknown[]) {
	// A resumed session repeats records with another time and folder, but with the same message.
	const repeats = repeatedRecords(records, (record) => {
		const speech = readSpeech(record, 0);
		return speech ? [record.type, isSidechain(record), speech.message] : record;
	});
	const all = records.flatMap((record, index) => readSpeech(record, index) ?? []);
	const others = groupBy(all, ({ index }) => repeats.get(index));
	const speech = all.flatMap((one) => (repeats.has(one.index) ? [] : { ...one, repeats: others.get(one.index) ?? [] }));
	// In the file of a subagent every record is a sidechain; elsewhere a sidechain is the conversation of another agent.
	const isOwnFile = speech.every(({ record }) => isSidechain(record));
	const isMain = (record: JsonObject) => isOwnFile || !isSidechain(record);
	const main = speech.filter(({ record }) => isMain(record));
	const isSpeech = new Set(main.map(({ index }) => index));
	const isNode = (index: number) => {
		const record = records[index];
		if (!isJsonObject(record) || repeats.has(index)) return false;
		return isMain(record) && (isSpeech.has(index) || typeof record.uuid === "string");
	};
	// Claude Code sends nothing from before a compaction.
	const isStart = (index: number) => {
		const record = records[index];
		return isJsonObject(record) && (record.subtype === "compact_boundary" || record.isCompactSummary === true);
	};
	// Some programs write null into every record: then the order of the file is all there is.
	const isUnlinked = ({ record }: SpeechRecord) => record.parentUuid === null;
	const isList = main.every(isUnlinked) && main.some(({ record }) => record.type === "assistant");
	// The progress of a hook may come long after its call, whose record is its parent.
	const isNotice = (index: number) => objectOf(records[index]).type === "progress";
	const ties: RecordTies = { id: "uuid", parent: isList ? "" : "parentUuid", isNode, isNotice, isStart };
	const last = main.at(-1);
	return { main, ties, chain: last ? recordChain(records, last.index, ties) : [] };
}

function isSidechain(record: JsonObject): boolean {
	return record.isSidechain === true || typeof record.parent_tool_use_id === "string";
}

/** Adds the other records of the same API messages, and the results of their calls that no chosen record has. */
function addSiblings(main: readonly SpeechRecord[], chosen: Set<SpeechRecord>): void {
	const messageIds = new Set(Array.from(chosen, apiMessageId));
	messageIds.delete(undefined);
	for (const one of main) if (messageIds.has(apiMessageId(one))) chosen.add(one);
	// Ids repeat: a result answers the latest call before it.
	const latest = new Map<string, { isAnswered: boolean }>();
	const others: { readonly one: SpeechRecord; readonly calls: readonly { isAnswered: boolean }[] }[] = [];
	for (const one of main) {
		const isChosen = chosen.has(one);
		if (isChosen) for (const id of idsOf(one.message, "tool_use", "id")) latest.set(id, { isAnswered: false });
		const calls = idsOf(one.message, "tool_result", "tool_use_id").flatMap((id) => latest.get(id) ?? []);
		if (isChosen) for (const call of calls) call.isAnswered = true;
		else others.push({ one, calls });
	}
	for (const { one, calls } of others) {
		if (calls.every(({ isAnswered }) => isAnswered)) continue;
		chosen.add(one);
		for (const call of calls) call.isAnswered = true;
	}
}

/** Ids whose latest call has a result after it. A result before it answers an earlier call with the same id. */
function answeredCalls(main: readonly SpeechRecord[]): string[] {
	const answered = new Set<string>();
	for (const { message } of main) {
		for (const id of idsOf(message, "tool_use", "id")) answered.delete(id);
		for (const id of idsOf(message, "tool_result", "tool_use_id")) answered.add(id);
	}
	return [...answered];
}

function apiMessageId({ record, message }: SpeechRecord): string | undefined {
	return record.type === "assistant" ? stringAt(message, "id") || undefined : undefined;
}

function idsOf({ content }: JsonObject, type: string, key: string): string[] {
	return objectsOf(content).flatMap((block) => (block.type === type ? (stringAt(block, key) ?? []) : []));
}

/** The records that the compaction at the start of a chain replaced. */
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

function trailingAttachments(records: readonly unknown[], last: SpeechRecord | undefined): number[] {
	if (!last) return [];
	const ties = new Set([stringAt(last.record, "uuid")]);
	return records.flatMap((record, index) => {
		if (index <= last.index || !isAttachment(record)) return [];
		const parent = stringAt(record, "parentUuid");
		if (parent === undefined || !ties.has(parent)) return [];
		ties.add(stringAt(record, "uuid"));
		return [index];
	});
}

/** Writes a record of a prompt or of a synthetic answer. It is marked as a compaction only if it replaces one. */
function writeMessage({ role, text, instead }: WrittenMessage) {
	const compacted = objectOf(instead).isCompactSummary === true;
	const uuid = stringAt(objectOf(instead), "uuid") || idOfText(text);
	const answer = {
		id: uuid,
		type: "message",
		role: "assistant",
		model: "<synthetic>",
		content: [{ type: "text", text }],
		stop_reason: "stop_sequence",
		stop_sequence: "",
		// Claude Code adds up the usage of all answers.
		usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
	};
	return {
		...keptFields(instead, sessionFields),
		type: role,
		message: role === "user" ? { role, content: text } : answer,
		...(compacted ? keptFields(instead, ["isVisibleInTranscriptOnly", "isCompactSummary"]) : {}),
		uuid,
		...keptFields(instead, ["timestamp"]),
	};
}

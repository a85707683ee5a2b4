import type { Path } from "../../engine/path.ts";
import type { Message, ThinkingBlock } from "../../engine/transcript.ts";
import { readAnthropicMessage } from "../anthropic/read-anthropic-message.ts";
import type { Fit, Format, LocatedMessages } from "../format.ts";
import { isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { outputCopies } from "../sessions/output-copies.ts";
import { readAttachment } from "./claude-code-attachments.ts";
import {
	answeredCalls,
	apiMessageId,
	conversationChain,
	conversationRecords,
	readSpeech,
	type SpeechRecord,
} from "./claude-code-records.ts";
import { writeClaudeCode } from "./write-claude-code.ts";

/** What Claude Code writes beside a message; the API's own messages have none of it. */
const sessionKeys = ["sessionId", "session_id", "parentUuid", "isSidechain", "uuid"];

/** Where a record keeps a second copy of what a tool answered. */
const copyKeys = ["toolUseResult", "tool_use_result", "mcpMeta"];

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

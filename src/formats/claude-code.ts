import type { Path } from "../engine/path.ts";
import type { Message, ThinkingBlock } from "../engine/transcript.ts";
import { readMessage } from "./anthropic-messages.ts";
import {
	apiMessageId,
	conversationChain,
	conversationRecords,
	readSpeech,
	type SpeechRecord,
} from "./claude-code-records.ts";
import type { Fit, Format, LocatedMessages } from "./format.ts";
import { isJsonObject, type JsonObject, stringAt } from "./json-values.ts";
import { outputCopies } from "./output-copies.ts";

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
	read({ messages, base }) {
		return {
			format: "claude-code",
			messages: readRecords(conversationRecords(messages), base),
			surroundings: [],
			opensWithUser: true,
		};
	},
	links: { id: ["uuid"], parent: ["parentUuid"], chain: ({ messages }) => conversationChain(messages) },
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

function readRecords(records: readonly SpeechRecord[], base: Path): Message[] {
	const messages: Message[] = [];
	const positions = new Map<string, number>();
	const argumentsOf = new Map<string, ReadonlySet<unknown>>();
	for (const one of records) {
		for (const [id, values] of argumentsIn(one.message)) argumentsOf.set(id, values);
		const message = one.repeats
			.map((repeat) => readRecord(repeat, base, argumentsOf))
			.reduce(joinRepeat, readRecord(one, base, argumentsOf));
		const id = apiMessageId(one);
		const position = id === undefined ? undefined : positions.get(id);
		const begun = position === undefined ? undefined : messages[position];
		if (position !== undefined && begun) {
			messages[position] = join(begun, message);
			continue;
		}
		if (id !== undefined) positions.set(id, messages.length);
		messages.push(message);
	}
	return messages;
}

function readRecord(
	{ index, record, message }: SpeechRecord,
	base: Path,
	argumentsOf: ReadonlyMap<string, ReadonlySet<unknown>>,
): Message {
	const path = [...base, index];
	const own = readMessage(message, [...path, "message"]);
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

/** Two parts of one API message. */
function join(first: Message, second: Message): Message {
	return {
		role: first.role,
		paths: [...first.paths, ...second.paths],
		counted: [...first.counted, ...second.counted],
		mediaTokens: first.mediaTokens + second.mediaTokens,
		calls: [...first.calls, ...second.calls],
		results: [...first.results, ...second.results],
		thinking: [...first.thinking, ...second.thinking],
	};
}

/** A record with another that repeats it: what the one holds is sent once, and edited in both. */
function joinRepeat(first: Message, repeat: Message): Message {
	const results = first.results.map((result, index) => {
		const again = repeat.results[index];
		return again ? { ...result, copies: [...result.copies, ...again.texts, ...again.copies] } : result;
	});
	const thinking = [...first.thinking, ...repeat.thinking];
	return { ...first, paths: [...first.paths, ...repeat.paths], results, thinking };
}

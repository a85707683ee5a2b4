import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Message } from "../engine/conversation/transcript.ts";
import { cacheApartUsage } from "./answer.ts";
import { type Format, keptFields, probeEach, roleOf, rolesWithTool, transcriptOf } from "./format.ts";
import { hasMember, idAt, numberAt, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.ts";
import { readMedia } from "./media.ts";
import { readChatMedia } from "./openai-chat.ts";
import { MessageDraft, readToolContent, unsent } from "./parts.ts";

/**
 * `wire.jsonl` of Kimi Code (protocol 1.4 and 1.5, read from its version 2.1). Records of other types, such as usage and settings, hold no
 * message. A step of the model is written piece by piece, and is one message.
 */
export const kimiCode: Format = {
	name: "kimi-code",
	title: "Kimi Code session",
	looksFor: "Kimi Code session (records of `type` context.append_message and context.append_loop_event)",
	probe: ({ messages }) =>
		probeEach(messages, "a record of `type` context.append_message or context.append_loop_event", (record) => {
			const type = stringAt(objectOf(record), "type");
			return type === undefined ? "a record with a string `type`" : isSpeech(objectOf(record));
		}),
	read: ({ messages: records, base }) => transcriptOf("kimi-code", readRecords(records, base)),
	write: {
		message: ({ role, text, instead }) => ({
			type: "context.append_message",
			message: { role, content: [{ type: "text", text }], toolCalls: [] },
			...keptFields(instead, ["time"]),
		}),
		appends: false,
	},
};

function isSpeech({ type, message, event }: JsonObject): boolean {
	return type === "context.append_message"
		? isJsonObject(message)
		: type === "context.append_loop_event" && isJsonObject(event);
}

/** Types of its records have a dot, such as `usage.record`, but for these. */
function isOwnRecord({ type }: JsonObject): boolean {
	return typeof type === "string" && (type.includes(".") || type === "metadata" || type === "forked");
}

interface Kept {
	readonly message: Message;
	readonly isOfPerson: boolean;
}

function readRecords(records: readonly unknown[], base: Path): Message[] {
	/** What is sent, in order, and what a compaction or the person took back. */
	let sent: Kept[] = [];
	const found: { message: Message; isSent: () => boolean }[] = [];
	const add = (message: Message, isOfPerson: boolean) => {
		const kept = { message, isOfPerson };
		sent.push(kept);
		found.push({ message, isSent: () => stays.has(kept) });
	};
	let step: MessageDraft | undefined;
	for (const [index, value] of records.entries()) {
		const record = objectOf(value);
		const [path, time] = [[...base, index], timeAt(record, "time")];
		if (record.type === "context.append_message") {
			const message = objectOf(record.message);
			add(readMessage(message, path).setTime(time), isOfPerson(message));
		} else if (record.type === "context.append_loop_event") {
			const event = objectOf(record.event);
			if (event.type === "step.begin") step = undefined;
			if (event.type === "tool.result") {
				add(readResult(event, [...path, "event"], path).setTime(time), false);
			} else {
				if (!step) {
					step = new MessageDraft("assistant").setTime(time);
					add(step, false);
				}
				readStepEvent(event, [...path, "event"], path, step);
			}
		} else if (record.type === "context.clear") sent = [];
		else if (record.type === "context.undo") {
			sent = sent.slice(0, undoneFrom(sent, numberAt(record, "count") ?? 0));
		} else if (record.type === "context.apply_compaction") {
			sent = keptBy(record, sent);
			const { summary, contextSummary } = record;
			add(new MessageDraft("user", path).setTime(time).count(contextSummary ?? summary), false);
		} else if (!isOwnRecord(record)) add(new MessageDraft("other", path).count(record), false);
	}
	const stays = new Set(sent);
	return found.map(({ message, isSent }) => (isSent() ? message : unsent(message)));
}

/** Whether a person wrote a message. Others of role user come from the program. */
function isOfPerson({ role, origin }: JsonObject): boolean {
	const { kind, trigger } = objectOf(origin);
	return role === "user" && (kind === undefined || kind === "user" || trigger === "user-slash");
}

/** The place of the message of a person at which `count` of them are taken back. */
function undoneFrom(sent: readonly Kept[], count: number): number {
	const persons = [...sent.keys()].filter((index) => sent[index]?.isOfPerson);
	return count > 0 ? (persons.at(-count) ?? sent.length) : sent.length;
}

/** Older versions keep what was said after the compacted messages; newer ones words of the person alone. */
function keptBy(record: JsonObject, sent: readonly Kept[]): Kept[] {
	const kept = numberAt(record, "keptUserMessageCount");
	if (kept === undefined || record.legacyTail === true) {
		return sent.slice(numberAt(record, "compactedCount") ?? numberAt(record, "count") ?? sent.length);
	}
	const persons = sent.filter((one) => one.isOfPerson);
	const first = numberAt(record, "keptHeadUserMessageCount") ?? 0;
	const last = Math.max(0, kept - first);
	return persons.filter((_, index) => index < first || index >= persons.length - last);
}

function readMessage(message: JsonObject, at: Path): MessageDraft {
	const path = [...at, "message"];
	const draft = new MessageDraft(roleOf(message, rolesWithTool), at);
	if (draft.role === "tool") {
		const read = readToolContent(message.content, [...path, "content"], readKimiMedia);
		const isError = message.isError === true || undefined;
		return draft.addResult({ callId: idAt(message, "toolCallId"), ...read, isError });
	}
	for (const call of objectsOf(message.toolCalls)) {
		const body = isJsonObject(call.function) ? call.function : call;
		draft.addCall(idAt(call, "id"), stringAt(body, "name"), body.arguments);
	}
	return draft.readParts(message.content, [...path, "content"], readPart);
}

function readResult(event: JsonObject, path: Path, record: Path): MessageDraft {
	const { output, isError } = objectOf(event.result);
	const read = readToolContent(output, [...path, "result", "output"], readKimiMedia);
	const failed = isError === true || undefined;
	return new MessageDraft("tool", record).addResult({ callId: idAt(event, "toolCallId"), ...read, isError: failed });
}

function readStepEvent(event: JsonObject, path: Path, record: Path, step: MessageDraft): void {
	step.paths.push(record);
	if (event.type === "tool.call") step.addCall(idAt(event, "toolCallId"), stringAt(event, "name"), event.args);
	else if (event.type === "content.part" && isJsonObject(event.part))
		readPart(event.part, [...path, "part"], step, record);
	else if (event.type === "step.end") {
		const { inputOther: input, inputCacheRead: cacheRead, inputCacheCreation: cacheWrite } = objectOf(event.usage);
		step.setUsage(cacheApartUsage({ input, cacheRead, cacheWrite, model: event.model }));
	} else if (event.type !== "step.begin") step.count(event);
}

/** `record`: set if the part has a record of its own. */
function readPart(part: JsonObject, path: Path, draft: MessageDraft, record?: Path | number): void {
	if (part.type === "text") draft.count(part.text);
	else if (part.type === "think") {
		const at = typeof record === "object" ? record : path;
		draft.addThinking(at, part.think, Boolean(stringAt(part, "encrypted")));
	} else draft.countPart(part, readKimiMedia(part, path));
}

function readKimiMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const kind = (["image", "audio", "video"] as const).find((one) => hasMember(part, `${one}Url`));
	if (!kind) return readChatMedia(part, path);
	return readMedia({ path, provider: "openai", data: objectOf(part[`${kind}Url`]).url, kind });
}

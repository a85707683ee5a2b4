import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Message, TextNode } from "../engine/conversation/transcript.ts";
import { cacheApartUsage } from "./answer.ts";
import { type Format, idOfText, keptFields, plainRoles, probeEach, roleOf, transcriptOf } from "./format.ts";
import { hiddenTokens } from "./hidden-reasoning.ts";
import { asCountedText, idAt, listOf, memberAt, membersOf, objectOf, stringAt, timeAt } from "./json-text/value.ts";
import { readMedia } from "./media.ts";
import { MessageDraft, noContent, readToolContent, unsent } from "./parts.ts";

interface OpencodeRecord {
	readonly info: JsonObject;
	readonly parts: readonly JsonObject[];
}

/** Stands for an item that is no message of opencode. */
const noRecord: OpencodeRecord = { info: {}, parts: [] };

/** A call and its result are one part. `parentID` is the answered user message, not the record before: no links. */
export const opencode: Format = {
	name: "opencode",
	title: "opencode session",
	looksFor: "opencode session (messages of `info` with a `role`, and `parts`)",
	probe: ({ messages }) => probeEach(messages, "at least one message", probe),
	read({ messages, base }) {
		const records = messages.map((message) => (probe(message) === true ? (message as OpencodeRecord) : noRecord));
		const { first, summary } = findCompaction(records);
		// The newest user message has the system prompt of the call.
		const system = stringAt(records.findLast(({ info }) => info.role === "user")?.info ?? {}, "system");
		const found = records.flatMap((record, index) => {
			if (!isSent(record)) return [];
			const read = readRecord(record, [...base, index], summary.has(index));
			return index >= first ? read : read.map(unsent);
		});
		return transcriptOf("opencode", found, system === undefined ? [] : [system]);
	},
	write: { message: writeMessage, appends: false },
};

function probe(record: unknown) {
	const [info, parts] = [memberAt(objectOf(record), "info"), memberAt(objectOf(record), "parts")];
	if (!isJsonObject(info)) return "an object with `info`";
	if (stringAt(info, "role") === undefined) return "`info` with a string `role`";
	if (!Array.isArray(parts)) return "`parts` as a list";
	return parts.every((part) => stringAt(objectOf(part), "type") !== undefined) || "`parts` that have a `type`";
}

/**
 * Finds the last finished compaction: a user message with a `compaction` part (the request) that a summary answers.
 * opencode sends the messages from the request on, or from `tail_start_id` on: from the index `first`. `summary` has the
 * indexes of the request and of the summary.
 */
function findCompaction(records: readonly OpencodeRecord[]) {
	const summaries = new Map<string, number>();
	for (let index = records.length - 1; index >= 0; index -= 1) {
		const { info, parts } = records[index] as OpencodeRecord;
		const parent = idAt(info, "parentID");
		if (info.role === "assistant" && info.summary === true && info.finish && !info.error && parent) {
			summaries.set(parent, index);
		}
		const summary = summaries.get(idAt(info, "id") ?? "");
		const request = parts.find((part) => part.type === "compaction");
		if (info.role !== "user" || summary === undefined || !request) continue;
		const tail = idAt(request, "tail_start_id");
		const start = tail === undefined ? index : startOfTail(records, tail);
		return { first: Math.min(start, index), summary: new Set([index, summary]) };
	}
	return { first: 0, summary: new Set<number>() };
}

/** Ids ascend, so this finds the tail even after its first message has been dropped. */
function startOfTail(records: readonly OpencodeRecord[], tail: string): number {
	const exact = records.findIndex(({ info }) => info.id === tail);
	if (exact !== -1) return exact;
	const next = records.findIndex(({ info }) => (idAt(info, "id") ?? "") > tail);
	return next === -1 ? records.length : next;
}

/** opencode skips messages without parts, and those that failed before any text. */
function isSent({ info, parts }: OpencodeRecord): boolean {
	if (parts.length === 0) return false;
	if (info.role !== "assistant" || !info.error) return true;
	const saysNothing = (part: JsonObject) => part.type === "step-start" || part.type === "reasoning";
	return objectOf(info.error).name === "MessageAbortedError" && !parts.every(saysNothing);
}

/** Each step is a message. A summary stays, like a system message: otherwise the replaced messages would be sent again. */
function readRecord({ info, parts }: OpencodeRecord, path: Path, isSummary: boolean): Message[] {
	const role = info.role === "system" ? "other" : roleOf(info, plainRoles);
	const steps = role === "assistant" ? splitIntoSteps(parts) : [[...parts.keys()]];
	const messages = steps.map((indexes): Message => {
		const partPaths = indexes.map((index) => [...path, "parts", index]);
		const draft = new MessageDraft(role, ...(steps.length > 1 ? partPaths : [path]));
		if (indexes === steps[0]) draft.setTime(timeAt(objectOf(info.time), "created"));
		for (const [position, index] of indexes.entries()) {
			readPart(parts[index] as JsonObject, partPaths[position] as Path, draft);
			readTimes(parts[index] as JsonObject, info, draft);
		}
		return isSummary ? { ...draft, role: "system" } : draft;
	});
	const isEmpty = ({ counted, mediaTokens }: Message) => counted.length + mediaTokens === 0;
	return messages.filter((message) => message.role !== "user" || !isEmpty(message));
}

/** Reads the end time of a tool call, and the usage at the end of a step. */
function readTimes(part: JsonObject, { modelID: model }: JsonObject, draft: MessageDraft): void {
	if (part.type === "tool") {
		const end = timeAt(objectOf(objectOf(part.state).time), "end");
		if (end !== undefined) draft.endTime = Math.max(end, draft.endTime ?? end);
	} else if (part.type === "step-finish") {
		const { input, cache } = objectOf(part.tokens);
		const { read: cacheRead, write: cacheWrite } = objectOf(cache);
		draft.setUsage(cacheApartUsage({ input, cacheRead, cacheWrite, model }));
	}
}

/** The indexes of the parts of each step. Parts before the first `step-start` belong to the first step. */
function splitIntoSteps(parts: readonly JsonObject[]): number[][] {
	const steps: number[][] = [];
	let begun = false;
	for (const [index, part] of parts.entries()) {
		const begins = part.type === "step-start";
		const step = steps.at(-1);
		if (!step || (begins && begun)) steps.push([index]);
		else step.push(index);
		begun ||= begins;
	}
	return steps;
}

const unsentParts = new Set(["step-start", "step-finish", "snapshot", "patch", "agent", "retry"]);

/** Types of files whose text is in text parts next to them. */
const inlinedFiles = new Set(["text/plain", "application/x-directory"]);

/** Keys that bind reasoning to the messages before it. OpenAI checks no binding. */
const bindings = ["signature", "redactedData", "thoughtSignature"];

function readPart(part: JsonObject, path: Path, draft: MessageDraft): void {
	const type = stringAt(part, "type") ?? "";
	if (type === "text") {
		if (draft.role !== "user" || part.ignored !== true) draft.count(asCountedText(part.text));
	} else if (type === "reasoning") {
		const isBound = hasAny(part.metadata, bindings);
		const hidden = isBound ? hiddenTokens(part.text, valueIn(part.metadata, bindings)) : undefined;
		draft.addThinking(path, part.text, isBound, hasAny(part.metadata, ["itemId"]), hidden);
	} else if (type === "file") {
		const isSent = draft.role !== "assistant" && !inlinedFiles.has(stringAt(part, "mime") ?? "");
		if (isSent) draft.mediaTokens += readFile(part, path).tokens;
	} else if (type === "tool") readTool(part, path, draft);
	// opencode sends these texts instead of the parts.
	else if (type === "compaction") draft.count("What did we do so far?");
	else if (type === "subtask") draft.count("The following tool was executed by the user");
	else if (!unsentParts.has(type)) draft.count(part);
}

function hasAny(metadata: unknown, keys: readonly string[]): boolean {
	return Boolean(valueIn(metadata, keys));
}

/** The first text that is not empty which the data of a provider has under one of the keys. */
function valueIn(metadata: unknown, keys: readonly string[]): string | undefined {
	const values = membersOf(metadata).flatMap(([, ofProvider]) =>
		keys.map((key) => stringAt(objectOf(ofProvider), key)),
	);
	return values.find(Boolean);
}

/** Members of `state.metadata` that repeat the output or its beginning, for display. */
const copyKeys = ["output", "preview", "stdout", "stderr"];

function readTool(part: JsonObject, path: Path, draft: MessageDraft): void {
	const state = objectOf(part.state);
	const at = [...path, "state"];
	const callId = idAt(part, "callID");
	draft.addCall(callId, stringAt(part, "tool"), state.input);
	if (state.status === "completed") {
		readOutput(state, at, callId, draft);
	} else if (state.status === "error") {
		const metadata = objectOf(state.metadata);
		// opencode sends the partial output of an aborted call instead of the error.
		const partial = metadata.interrupted === true ? stringAt(metadata, "output") : undefined;
		const content =
			partial === undefined
				? readToolContent(state.error, [...at, "error"])
				: readToolContent(partial, [...at, "metadata", "output"]);
		const copies = copiesIn(metadata, [...at, "metadata"], partial === undefined ? copyKeys : copyKeys.slice(1));
		draft.addResult({ callId, ...content, copies, isError: true });
	} else {
		// opencode sends this for a call without a result.
		draft.count("[Tool execution was interrupted]");
	}
}

function readOutput(state: JsonObject, path: Path, callId: string | undefined, draft: MessageDraft): void {
	if (objectOf(state.time).compacted) {
		// opencode sends this in place of an output that it cleared.
		draft.count("[Old tool result content cleared]");
		draft.addResult({ callId, ...noContent, isError: false });
		return;
	}
	const content = readToolContent(state.output, [...path, "output"]);
	const attachments = listOf(state.attachments);
	const media: MediaNode[] = [];
	const inPlaceOfMedia: TextNode[] = [];
	for (const [index, attachment] of attachments.entries()) {
		const at = [...path, "attachments", index];
		const text = textOfAttachment(attachment);
		if (text === undefined) media.push(readFile(attachment as JsonObject, at));
		else inPlaceOfMedia.push({ path: at, text });
	}
	draft.count(...inPlaceOfMedia.map(({ text }) => text));
	const whole = attachments.length > 0 ? undefined : content.whole;
	const copies = copiesIn(state.metadata, [...path, "metadata"], copyKeys);
	draft.addResult({ callId, ...content, whole, copies, media, inPlaceOfMedia, isError: false });
}

function copiesIn(metadata: unknown, path: Path, keys: readonly string[]): TextNode[] {
	return keys.flatMap((key) => {
		const text = stringAt(objectOf(metadata), key);
		return text ? [{ path: [...path, key], text }] : [];
	});
}

const textUrl = "data:text/plain;base64,";

/** A file of a message or a result. A text replaces it as a file of plain text. */
function readFile(file: JsonObject, path: Path): MediaNode {
	const write = (text: string) => ({
		...file,
		mime: "text/plain",
		url: `${textUrl}${Buffer.from(text).toString("base64")}`,
	});
	return readMedia({ path, provider: "any", data: stringAt(file, "url"), mediaType: stringAt(file, "mime"), write });
}

function textOfAttachment(attachment: unknown): string | undefined {
	if (!isJsonObject(attachment)) return asCountedText(attachment);
	if (stringAt(attachment, "mime") !== "text/plain") return undefined;
	const url = stringAt(attachment, "url") ?? "";
	return url.startsWith(textUrl) ? Buffer.from(url.slice(textUrl.length), "base64").toString("utf8") : url;
}

/** A user message needs an agent and a model: opencode continues with those of the last one. */
function writeMessage({ role, text, instead }: WrittenMessage) {
	const before = objectOf(objectOf(instead).info);
	const id = idAt(before, "id") ?? `msg_${idOfText(text)}`;
	const session = keptFields(before, ["sessionID"]);
	const info = { id, ...session, role, ...(role === "user" ? userInfo(before) : answerInfo(before)) };
	const [first] = listOf(objectOf(instead).parts);
	const partId = stringAt(objectOf(first), "id") ?? `prt_${idOfText(text)}`;
	return { info, parts: [{ id: partId, ...session, messageID: id, type: "text", text }] };
}

const settings = ["agent", "model", "variant", "system", "tools", "format"];

function userInfo(before: JsonObject): JsonObject {
	const time = { time: keptFields(before.time, ["created"]) };
	if (before.role === "user") return { ...time, ...keptFields(before, settings) };
	const { providerID, modelID } = before;
	const answered = providerID === undefined || modelID === undefined ? {} : { model: { providerID, modelID } };
	return { ...time, ...keptFields(before, ["agent", "variant"]), ...answered };
}

function answerInfo(before: JsonObject): JsonObject {
	return {
		time: keptFields(before.time, ["created", "completed"]),
		...keptFields(before.model, ["modelID", "providerID"]),
		...(before.agent === undefined ? {} : { mode: before.agent }),
		...keptFields(before, ["parentID", "modelID", "providerID", "mode", "agent", "path"]),
		cost: 0,
		tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
		finish: "stop",
	};
}

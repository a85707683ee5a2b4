import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type {
	MediaNode,
	Message,
	Path,
	Role,
	TextNode,
	ThinkingBlock,
	ToolCall,
	ToolResult,
} from "../conversation/transcript.ts";
import { type Fit, type Format, idOfText, keptFields, type LocatedMessages } from "./format.ts";
import { asCountedText, idAt, stringAt } from "./json-values.ts";
import { readMedia, tokensOfMedia } from "./media.ts";
import { readResultContent } from "./parts.ts";

/** What opencode goes on with when a user message is the last one. */
const settings = ["agent", "model", "variant", "system", "tools", "format"];

/** What an answer says of where it was given. */
const circumstances = ["parentID", "modelID", "providerID", "mode", "agent", "path"];

/**
 * opencode's sessions as `opencode export` writes them and its plugins see them: `{info, parts}` for each message, a
 * call and its result in one part. Failed messages are left alone; those before a compaction are no longer sent. `parentID` names the user message that is answered, not the record before, so nothing is
 * tied anew when records are dropped.
 */
export const opencode: Format = {
	name: "opencode",
	title: "opencode session",
	looksFor: "opencode session (messages of `info` with a `role`, and `parts`)",
	probe,
	read({ messages, base }) {
		const records = messages as readonly OpencodeRecord[];
		const { first, summary } = findCompaction(records);
		const lastUser = records.findLastIndex(({ info }) => info.role === "user");
		const system = stringAt(records[lastUser]?.info ?? {}, "system");
		return {
			format: "opencode",
			messages: records.flatMap((record, index) => {
				if (!isSent(record)) return [];
				const read = readOpencodeRecord(record, [...base, index], { isSummary: summary.has(index) });
				return index >= first ? read : read.map((message) => ({ ...message, sent: false }));
			}),
			// The newest user message carries the system prompt of the call.
			surroundings: system === undefined ? [] : [system],
			opensWithUser: false,
		};
	},
	write: { message: writeOpencode, appends: false },
};

function probe({ messages }: LocatedMessages): Fit {
	for (const [message, record] of messages.entries()) {
		const expected = misfit(record);
		if (expected !== undefined) return { fit: "none", message, expected };
	}
	return messages.length > 0 ? { fit: "certain" } : { fit: "none", message: 0, expected: "at least one message" };
}

/** What a record should have been; `undefined` where it fits. */
function misfit(record: unknown): string | undefined {
	if (!isJsonObject(record) || !Object.hasOwn(record, "info") || !isJsonObject(record.info))
		return "an object with `info`";
	if (stringAt(record.info, "role") === undefined) return "`info` with a string `role`";
	if (!Object.hasOwn(record, "parts") || !Array.isArray(record.parts)) return "`parts` as a list";
	const isPart = (part: unknown) => isJsonObject(part) && stringAt(part, "type") !== undefined;
	return record.parts.every(isPart) ? undefined : "`parts` that have a `type`";
}

const roles: Readonly<Record<string, Role>> = { user: "user", assistant: "assistant" };

/** Parts that opencode keeps for itself. */
const unsent = new Set(["step-start", "step-finish", "snapshot", "patch", "agent", "retry"]);

/** What opencode says to the model in the place of some parts of a user message. */
const standIns: Readonly<Record<string, string>> = {
	compaction: "What did we do so far?",
	subtask: "The following tool was executed by the user",
};

/** Files whose text stands in text parts beside them. */
const inlinedFiles = new Set(["text/plain", "application/x-directory"]);

/** Keys under which providers keep what binds a reasoning part to its prefix. OpenAI encrypts its own, but checks no prefix. */
const bindings = ["signature", "redactedData", "thoughtSignature"];

/**
 * Reads a record. Mostly it holds one call of the model; where it holds several (each begins with a `step-start` part),
 * every one is a message of its own, made up of its parts. A summary that stands for what was compacted counts as system,
 * since without it what it stands for would be sent again.
 */
export function readOpencodeRecord(
	record: OpencodeRecord,
	path: Path,
	{ isSummary }: { readonly isSummary: boolean },
): Message[] {
	const roleName = stringAt(record.info, "role") ?? "";
	const known = (Object.hasOwn(roles, roleName) && roles[roleName]) || "other";
	const steps = known === "assistant" ? splitIntoSteps(record.parts) : [record.parts.map((_, index) => index)];
	const messages = steps.map((indexes): Message => {
		const reading: Reading = { counted: [], calls: [], results: [], media: [], thinking: [] };
		const partPaths = indexes.map((index) => [...path, "parts", index]);
		for (const [position, index] of indexes.entries()) {
			readPart(record.parts[index] as JsonObject, partPaths[position] as Path, known, reading);
		}
		const { media, ...read } = reading;
		const mediaTokens = tokensOfMedia(media);
		return { role: isSummary ? "system" : known, paths: steps.length > 1 ? partPaths : [path], mediaTokens, ...read };
	});
	const isEmpty = ({ role, counted, mediaTokens }: Message) => role === "user" && counted.length + mediaTokens === 0;
	return messages.filter((message) => !isEmpty(message));
}

/** The indexes of the parts of each step. */
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

function readPart(part: JsonObject, path: Path, role: Role, reading: Reading): void {
	const { counted } = reading;
	const type = stringAt(part, "type") ?? "";
	if (type === "text") {
		if (role !== "user" || part.ignored !== true) counted.push(asCountedText(part.text));
	} else if (type === "reasoning") {
		const text = asCountedText(part.text);
		counted.push(text);
		// OpenAI wants a reasoning item beside the call that followed it, so it can't be taken out alone.
		const fixed = hasAny(part.metadata, ["itemId"]) ? { fixed: true as const } : {};
		reading.thinking.push({ path, text, bound: hasAny(part.metadata, bindings), ...fixed });
	} else if (type === "tool") {
		readOpencodeTool(part, path, reading);
	} else if (type === "file") {
		const isMedia = role !== "assistant" && !inlinedFiles.has(stringAt(part, "mime") ?? "");
		if (isMedia) reading.media.push(readOpencodeFile(part, path));
	} else if (Object.hasOwn(standIns, type)) {
		counted.push(standIns[type] ?? "");
	} else if (!unsent.has(type)) {
		counted.push(asCountedText(part));
	}
}

/** Whether what a provider keeps with a part holds a text under one of the keys. */
function hasAny(metadata: unknown, keys: readonly string[]): boolean {
	if (!isJsonObject(metadata)) return false;
	return Object.values(metadata).some(
		(ofProvider) => isJsonObject(ofProvider) && keys.some((key) => stringAt(ofProvider, key)),
	);
}

/** One message of an opencode session. */
export interface OpencodeRecord {
	readonly info: JsonObject;
	readonly parts: readonly JsonObject[];
}

/** What stands of a session after its last compaction. */
export interface Compaction {
	/** Index of the first record that is still sent. */
	readonly first: number;
	/** Indexes of the request for the summary and of the summary. */
	readonly summary: ReadonlySet<number>;
}

/**
 * Finds the last compaction that came to its end: a user message with a `compaction` part, answered by a summary. The
 * model is sent what follows the request, or what follows `tail_start_id` where the part keeps a tail.
 */
export function findCompaction(records: readonly OpencodeRecord[]): Compaction {
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
	return { first: 0, summary: new Set() };
}

/** Ids ascend, so that a tail is found even where its first message has been dropped. */
function startOfTail(records: readonly OpencodeRecord[], tail: string): number {
	const exact = records.findIndex(({ info }) => info.id === tail);
	if (exact !== -1) return exact;
	const next = records.findIndex(({ info }) => (idAt(info, "id") ?? "") > tail);
	return next === -1 ? records.length : next;
}

/** Whether opencode sends a message: one without parts it skips, and one that failed before it said anything. */
export function isSent({ info, parts }: OpencodeRecord): boolean {
	if (parts.length === 0) return false;
	if (info.role !== "assistant" || !info.error) return true;
	const saysNothing = (part: JsonObject) => part.type === "step-start" || part.type === "reasoning";
	const aborted = isJsonObject(info.error) && stringAt(info.error, "name") === "MessageAbortedError";
	return aborted && !parts.every(saysNothing);
}

/** What opencode sends in the place of an output that it has cleared itself. */
const clearedText = "[Old tool result content cleared]";

/** What opencode sends where a call was never answered. */
const interruptedText = "[Tool execution was interrupted]";

/** Where `state.metadata` repeats the output or its beginning, for display. */
const copyKeys = ["output", "preview", "stdout", "stderr"];

/** What is read of one message while its parts are gone through. */
export interface Reading {
	readonly counted: string[];
	readonly calls: ToolCall[];
	readonly results: ToolResult[];
	readonly media: MediaNode[];
	readonly thinking: ThinkingBlock[];
}

/** Reads a tool part: the call, and its result where there is one. */
export function readOpencodeTool(part: JsonObject, path: Path, reading: Reading): void {
	const state = isJsonObject(part.state) ? part.state : {};
	const name = stringAt(part, "tool");
	const callId = idAt(part, "callID");
	reading.calls.push({ id: callId, name });
	reading.counted.push(name ?? "", asCountedText(state.input));
	if (state.status === "completed") readOutput(state, [...path, "state"], callId, reading);
	else if (state.status === "error") readError(state, [...path, "state"], callId, reading);
	else reading.counted.push(interruptedText);
}

function readOutput(state: JsonObject, path: Path, callId: string | undefined, reading: Reading): void {
	const { counted, results } = reading;
	if (isJsonObject(state.time) && state.time.compacted) {
		counted.push(clearedText);
		results.push({ callId, texts: [], whole: undefined, copies: [], media: [], isError: false });
		return;
	}
	const content = readResultContent(state.output, [...path, "output"]);
	counted.push(...content.others.map(asCountedText));
	const attachments = Array.isArray(state.attachments) ? (state.attachments as unknown[]) : [];
	const media: MediaNode[] = [];
	for (const [index, attachment] of attachments.entries()) {
		const text = textOfAttachment(attachment);
		if (text === undefined) media.push(readOpencodeFile(attachment as JsonObject, [...path, "attachments", index]));
		else counted.push(text);
	}
	reading.media.push(...media);
	const whole = attachments.length > 0 ? undefined : content.whole;
	const copies = copiesIn(state.metadata, [...path, "metadata"], copyKeys);
	results.push({ callId, texts: content.texts, whole, copies, media, isError: false });
}

/** A call that was aborted keeps what it had put out by then in `metadata.output`; the model is sent that instead. */
function readError(state: JsonObject, path: Path, callId: string | undefined, reading: Reading): void {
	const { metadata } = state;
	const partial = isJsonObject(metadata) && metadata.interrupted === true ? stringAt(metadata, "output") : undefined;
	const content =
		partial === undefined
			? readResultContent(state.error, [...path, "error"])
			: readResultContent(partial, [...path, "metadata", "output"]);
	reading.counted.push(...content.others.map(asCountedText));
	const keys = partial === undefined ? copyKeys : copyKeys.slice(1);
	const copies = copiesIn(metadata, [...path, "metadata"], keys);
	reading.results.push({ callId, texts: content.texts, whole: content.whole, copies, media: [], isError: true });
}

function copiesIn(metadata: unknown, path: Path, keys: readonly string[]): TextNode[] {
	if (!isJsonObject(metadata)) return [];
	return keys.flatMap((key) => {
		const text = stringAt(metadata, key);
		return text ? [{ path: [...path, key], text }] : [];
	});
}

/** A file as opencode attaches it to a message or a result. In its place a text is a file of plain text. */
export function readOpencodeFile(file: JsonObject, path: Path): MediaNode {
	const write = (text: string) => ({
		...file,
		mime: "text/plain",
		url: `data:text/plain;base64,${Buffer.from(text).toString("base64")}`,
	});
	return readMedia({ path, provider: "any", data: stringAt(file, "url"), mediaType: stringAt(file, "mime"), write });
}

/** The text of an attachment that is no media: a file of plain text, or what is no file at all. */
function textOfAttachment(attachment: unknown): string | undefined {
	if (!isJsonObject(attachment)) return asCountedText(attachment);
	if (stringAt(attachment, "mime") !== "text/plain") return undefined;
	const url = stringAt(attachment, "url") ?? "";
	const data = url.slice(url.indexOf(",") + 1);
	return url.startsWith("data:text/plain;base64,") ? Buffer.from(data, "base64").toString("utf8") : url;
}

/**
 * A message with one text part. A user message names an agent and a model, since opencode asks those of the last one:
 * where it stands in the place of an answer they are the ones that answered.
 */
export function writeOpencode({ role, text, instead }: WrittenMessage) {
	const before = isJsonObject(instead) && isJsonObject(instead.info) ? instead.info : {};
	const id = idAt(before, "id") ?? `msg_${idOfText(text)}`;
	const session = keptFields(before, ["sessionID"]);
	const info = { id, ...session, role, ...(role === "user" ? userInfo(before) : answerInfo(before)) };
	const part = { id: firstPartId(instead) ?? `prt_${idOfText(text)}`, ...session, messageID: id, type: "text", text };
	return { info, parts: [part] };
}

function userInfo(before: JsonObject): JsonObject {
	const time = { time: keptFields(before.time, ["created"]) };
	if (before.role === "user") return { ...time, ...keptFields(before, settings) };
	const { providerID, modelID } = before;
	const answered = providerID === undefined || modelID === undefined ? {} : { model: { providerID, modelID } };
	return { ...time, ...keptFields(before, ["agent", "variant"]), ...answered };
}

function answerInfo(before: JsonObject): JsonObject {
	const asked = isJsonObject(before.model) ? keptFields(before.model, ["modelID", "providerID"]) : {};
	const mode = keptFields({ mode: before.agent }, before.agent === undefined ? [] : ["mode"]);
	return {
		time: keptFields(before.time, ["created", "completed"]),
		...asked,
		...mode,
		...keptFields(before, circumstances),
		cost: 0,
		tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
		finish: "stop",
	};
}

function firstPartId(record: unknown): string | undefined {
	const parts: readonly unknown[] = isJsonObject(record) && Array.isArray(record.parts) ? record.parts : [];
	return isJsonObject(parts[0]) ? stringAt(parts[0], "id") : undefined;
}

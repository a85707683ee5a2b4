import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path, Role, TextNode, ToolResult, WholeContent } from "../conversation/transcript.ts";
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
import {
	countParts,
	isSearchByProvider,
	readAnswerItem,
	readResponseMedia,
	sealedTokens,
	textOfPart,
} from "./openai-responses.ts";
import { outputCopies } from "./session-files.ts";

/** Types of the records of a rollout. */
const recordTypes = new Set(["session_meta", "response_item", "event_msg", "turn_context", "compacted"]);

/** Types of items that the first versions wrote without a record around them. */
const itemTypes =
	/^(message|reasoning|ghost_snapshot|(function|custom_tool|local_shell|web_search)_call|(function|custom_tool|local_shell)_call_output)$/;

/**
 * The rollout files of Codex: one record a line, of which those of type `response_item` hold items of the OpenAI
 * Responses API. Events of the user interface are no messages; those that repeat an output are edited along with it.
 */
export const codexRollout: Format = {
	name: "codex-rollout",
	title: "Codex rollout",
	looksFor: "Codex rollout (records with `type`, such as session_meta or response_item, and `payload`)",
	probe,
	read(located) {
		const history = replayRollout(located);
		return {
			format: "codex-rollout",
			messages: readCodexItems(history),
			surroundings: history.surroundings,
			opensWithUser: false,
		};
	},
	write: { message: writeCodex, within: ["payload", "replacement_history"], appends: false },
};

function probe({ messages }: LocatedMessages): Fit {
	const isBare = isBareHeader(messages[0]);
	let certain = false;
	for (const [message, record] of messages.entries()) {
		if (!isJsonObject(record)) return { fit: "none", message, expected: "a record with `type` and `payload`" };
		const type = stringAt(record, "type") ?? "";
		if (isBare) {
			const fits = message === 0 || itemTypes.test(type) || record.record_type === "state";
			if (!fits) return { fit: "none", message, expected: "an item of the Responses API" };
			certain ||= itemTypes.test(type);
			continue;
		}
		if (type === "" || !isJsonObject(record.payload)) {
			return { fit: "none", message, expected: "a record with a string `type` and an object `payload`" };
		}
		certain ||= recordTypes.has(type);
	}
	return certain ? { fit: "certain" } : { fit: "none", message: 0, expected: "a record such as session_meta" };
}

/** The first line of a rollout of the first versions: what is now inside `session_meta`. */
function isBareHeader(record: unknown): boolean {
	if (!isJsonObject(record) || Object.hasOwn(record, "type") || Object.hasOwn(record, "role")) return false;
	const isNamed = stringAt(record, "id") !== undefined && stringAt(record, "timestamp") !== undefined;
	return isNamed && ["instructions", "git", "cwd"].some((key) => Object.hasOwn(record, key));
}

const roles: Readonly<Record<string, Role>> = {
	user: "user",
	assistant: "assistant",
	system: "system",
	developer: "system",
};

/** Snapshots of the working tree, which are sent to no model. */
const neverSent = new Set(["ghost_snapshot", "other"]);

const compactions = new Set(["compaction", "compaction_summary", "context_compaction"]);

/** What the model gave in one answer, while its items are read. */
interface Answer {
	readonly paths: Path[];
	readonly draft: MessageDraft;
	readonly callIds: Set<unknown>;
	readonly sent: boolean;
}

/**
 * Reads the items of a history as messages. What the model gave in one answer (reasoning, text, calls) is a run of
 * items and becomes one message, so that parallel calls stay together; each output is a message of its own. Events that
 * stand between two answers keep them apart even where nothing else does.
 */
export function readCodexItems({ items }: CodexHistory): Message[] {
	const messages: (() => Message)[] = [];
	let answer: Answer | undefined;
	const add = (sent: boolean, finish: () => Message) =>
		messages.push(sent ? finish : () => ({ ...finish(), sent: false }));
	for (const one of items) {
		const type = stringAt(one.item, "type") ?? "";
		if (neverSent.has(type)) continue;
		if (isOfAnswer(one.item, type)) {
			if (!answer || one.opensAnswer || answer.sent !== one.sent) {
				const { paths, draft } = { paths: [], draft: startMessage() };
				answer = { paths, draft, callIds: new Set(), sent: one.sent };
				add(one.sent, () => finishMessage("assistant", paths, draft));
			}
			answer.paths.push(one.removal);
			answer.callIds.add(idAt(one.item, "call_id") ?? idAt(one.item, "id"));
			readAnswerItem({ item: one.item, type, path: one.path }, answer.draft);
			continue;
		}
		const message = readOtherItem(one, type);
		add(one.sent, () => message);
		// A late output of an earlier call does not end an answer, so that it may go without changing the answer.
		const isLate = type.endsWith("_output") && !answer?.callIds.has(idAt(one.item, "call_id"));
		if (!isLate) answer = undefined;
	}
	return messages.map((finish) => finish());
}

function isOfAnswer(item: JsonObject, type: string): boolean {
	if (type === "message") return item.role === "assistant";
	if (isSearchByProvider(item)) return true;
	return !type.endsWith("_output") && !compactions.has(type);
}

function readOtherItem({ item, path, removal, ended }: HistoryItem, type: string): Message {
	const draft = startMessage();
	if (type === "message") {
		const role = stringAt(item, "role") ?? "";
		countParts(item.content, draft);
		return finishMessage((Object.hasOwn(roles, role) && roles[role]) || "other", [removal], draft);
	}
	if (compactions.has(type)) {
		draft.mediaTokens += sealedTokens(item);
		// It stands for all that was compacted, so it has to stay as a system message does.
		return finishMessage("system", [removal], draft);
	}
	addResult(draft, readCodexOutput({ item, path, ended }));
	return finishMessage("tool", [removal], draft);
}

/** Where events of the user interface repeat what a tool answered. */
const copyKeys = ["stdout", "stderr", "aggregated_output", "formatted_output", "result", "content_items"];

/** Reads an item that answers a call, with the events about it. `counted` is what it holds beside texts. */
export function readCodexOutput({
	item,
	path,
	ended,
}: Pick<HistoryItem, "item" | "path" | "ended">): ToolResult & { counted: string[] } {
	const { texts, whole, media, counted } = readContent(item.output, [...path, "output"]);
	if (item.output === undefined && item.tools !== undefined) counted.push(asCountedText(item.tools));
	const copies = ended.flatMap((event) =>
		copyKeys
			.filter((key) => Object.hasOwn(event.payload, key))
			.flatMap((key) => {
				const place = [...event.path, key];
				return outputCopies({ value: event.payload[key], path: place, texts, ofTheCall: new Set() });
			}),
	);
	const flags = [...ended.map(({ payload }) => flagOfEvent(payload)), flagOfOutput(item.output)];
	const isError = flags.find((flag) => flag !== undefined);
	return { callId: idAt(item, "call_id"), texts, whole, copies, media, isError, counted };
}

interface Content {
	readonly texts: TextNode[];
	readonly whole: WholeContent | undefined;
	readonly media: MediaNode[];
	readonly counted: string[];
}

/** An output is a string, a list of parts, or (in some versions) an object around a string. */
function readContent(output: unknown, path: Path): Content {
	if (typeof output === "string") return readText(output, path);
	if (Array.isArray(output)) return readParts(output, path);
	if (isJsonObject(output)) {
		for (const key of ["content", "output"]) {
			const inner = stringAt(output, key);
			if (inner !== undefined) return readText(inner, [...path, key]);
		}
	}
	const counted = output === undefined || output === null ? [] : [asCountedText(output)];
	return { texts: [], whole: undefined, media: [], counted };
}

function readText(text: string, path: Path): Content {
	return { texts: [{ path, text }], whole: { path, write: (written) => written }, media: [], counted: [] };
}

function readParts(parts: readonly unknown[], path: Path): Content {
	const texts: TextNode[] = [];
	const media: MediaNode[] = [];
	const counted: string[] = [];
	parts.forEach((part, index) => {
		const at = [...path, index];
		const text = textOfPart(part);
		const node = isJsonObject(part) ? readResponseMedia(part, at) : undefined;
		if (text !== undefined) texts.push({ path: [...at, "text"], text });
		else if (node) media.push(node);
		else counted.push(asCountedText(part));
	});
	const first = parts[0];
	const isText = texts.length > 0 && texts.length === parts.length && isJsonObject(first);
	const whole = isText ? { path, write: (text: string) => [{ ...first, text }] } : undefined;
	return { texts, whole, media, counted };
}

/** Whether a call failed, as the event about its end tells. */
function flagOfEvent(payload: JsonObject): boolean | undefined {
	if (typeof payload.exit_code === "number") return payload.exit_code !== 0;
	if (typeof payload.success === "boolean") return !payload.success;
	const { result } = payload;
	if (!isJsonObject(result)) return undefined;
	if (Object.hasOwn(result, "Err")) return true;
	return isJsonObject(result.Ok) && typeof result.Ok.isError === "boolean" ? result.Ok.isError : undefined;
}

/**
 * Whether a call failed, as an output that is an object tells. Where the exit code stands in the text of the output
 * itself it is no flag: it would be gone with the text.
 */
function flagOfOutput(output: unknown): boolean | undefined {
	if (!isJsonObject(output)) return undefined;
	if (typeof output.success === "boolean") return !output.success;
	const code = isJsonObject(output.metadata) ? output.metadata.exit_code : undefined;
	return typeof code === "number" ? code !== 0 : undefined;
}

/** An item of the history. */
export interface HistoryItem {
	/** Whether it would still be sent: a compaction may have taken its place. */
	readonly sent: boolean;
	readonly item: JsonObject;
	/** Where the item stands. */
	readonly path: Path;
	/** The value that goes when the item is dropped: its record, or the item itself inside a compaction's record. */
	readonly removal: Path;
	/** Whether an answer of the model ended before it, as far as events tell. */
	readonly opensAnswer: boolean;
	/** Of an output: records of the user interface about the end of its call. */
	readonly ended: readonly EventPlace[];
}

/** An event with its place. */
export interface EventPlace {
	readonly payload: JsonObject;
	readonly path: Path;
}

/** Events that stand between two answers of the model, never inside one. */
const betweenAnswers = new Set(["token_count", "task_started", "task_complete", "turn_started", "turn_aborted"]);

/** What a rollout comes to when it is replayed. */
export interface CodexHistory {
	readonly items: readonly HistoryItem[];
	/** What goes along with each request beside the items: instructions, tools, the summary of an older compaction. */
	readonly surroundings: readonly string[];
}

/**
 * Replays a rollout as Codex does when it resumes one: items are added in order; a `compacted` record puts its
 * `replacement_history` in the place of all before it (an older one, which has none, keeps the messages that are not
 * the assistant's beside its summary); a rollback takes the last turns back. What was replaced is no longer sent; what was
 * rolled back is no part of the history.
 */
export function replayRollout({ messages, base }: LocatedMessages): CodexHistory {
	let items: HistoryItem[] = [];
	/** Indexes of the items with which turns begin. */
	let turns: number[] = [];
	let summary: string | undefined;
	const surroundings: string[] = [];
	const eventsOf = pairEvents();
	let hasMeta = false;
	let opensAnswer = false;

	messages.forEach((record, index) => {
		if (!isJsonObject(record)) return;
		const removal = [...base, index];
		const path = isJsonObject(record.payload) ? [...removal, "payload"] : removal;
		const payload = isJsonObject(record.payload) ? record.payload : record;
		switch (kindOf(record)) {
			case "item":
				if (isRequest(payload)) turns.push(items.length);
				items.push({ sent: true, item: payload, path, removal, opensAnswer, ended: eventsOf.item(payload) });
				opensAnswer = false;
				break;
			case "meta":
				// A forked session holds the header of the one that it came from as well.
				if (!hasMeta) surroundings.push(...readMeta(payload));
				hasMeta = true;
				break;
			case "compacted":
				summary = undefined;
				if (Array.isArray(payload.replacement_history)) {
					const history = readReplacement(payload.replacement_history, [...path, "replacement_history"]);
					items = [...items.map((one) => ({ ...one, sent: false })), ...history];
				} else {
					const stays = ({ item }: HistoryItem) => item.type === "message" && item.role !== "assistant";
					items = items.map((one) => ({ ...one, sent: one.sent && stays(one) }));
					summary = stringAt(payload, "message");
				}
				turns = items.flatMap(({ item, sent }, position) => (sent && isRequest(item) ? [position] : []));
				break;
			case "event": {
				opensAnswer ||= betweenAnswers.has(stringAt(payload, "type") ?? "");
				const count = payload.type === "thread_rolled_back" ? payload.num_turns : undefined;
				if (typeof count === "number" && count >= 1) {
					const taken = turns.splice(Math.max(0, turns.length - Math.floor(count)));
					items.length = taken[0] ?? items.length;
				}
				eventsOf.event({ payload, path });
				break;
			}
		}
	});
	return { items, surroundings: summary ? [...surroundings, summary] : surroundings };
}

function readReplacement(history: readonly unknown[], path: Path): HistoryItem[] {
	return history.flatMap((item, position) => {
		const place = [...path, position];
		return isJsonObject(item) ? [{ sent: true, item, path: place, removal: place, opensAnswer: false, ended: [] }] : [];
	});
}

/**
 * Finds the events about each output: those since its call, before it or after it. Ids of calls may be used again, so an
 * event belongs to the output that is nearest.
 */
function pairEvents() {
	const waiting = new Map<string, EventPlace[]>();
	const outputs = new Map<string, EventPlace[]>();
	return {
		/** The events of an item, where it is an output: a list that grows while later events are found. */
		item(item: JsonObject): readonly EventPlace[] {
			const callId = stringAt(item, "call_id");
			if (!callId) return [];
			const isOutput = stringAt(item, "type")?.endsWith("_output") ?? false;
			const events = isOutput ? (waiting.get(callId) ?? []) : [];
			waiting.delete(callId);
			if (isOutput) outputs.set(callId, events);
			else outputs.delete(callId);
			return events;
		},
		event(event: EventPlace): void {
			const callId = stringAt(event.payload, "call_id");
			if (!callId) return;
			const known = outputs.get(callId) ?? waiting.get(callId);
			if (known) known.push(event);
			else waiting.set(callId, [event]);
		},
	};
}

/** What a record is for the history; `undefined` where it is nothing. */
function kindOf(record: JsonObject): "item" | "meta" | "compacted" | "event" | undefined {
	const isWrapped = isJsonObject(record.payload);
	if (!isWrapped) return typeof record.type === "string" ? "item" : "id" in record ? "meta" : undefined;
	switch (record.type) {
		case "response_item":
			return "item";
		case "session_meta":
			return "meta";
		case "compacted":
			return "compacted";
		case "event_msg":
			return "event";
		default:
			return undefined;
	}
}

function readMeta(meta: JsonObject): string[] {
	const { base_instructions: base, instructions, dynamic_tools: tools } = meta;
	const texts = [isJsonObject(base) ? base.text : base, instructions, tools].filter((value) => value != null);
	return texts.map(asCountedText);
}

/** Whether an item is what a user wrote, not context that Codex puts into a user message. */
function isRequest(item: JsonObject): boolean {
	if (item.type !== "message" || item.role !== "user") return false;
	const first: unknown = Array.isArray(item.content) ? item.content[0] : item.content;
	const text = isJsonObject(first) ? stringAt(first, "text") : first;
	return typeof text !== "string" || !/^\s*(<|# AGENTS\.md)/.test(text);
}

/**
 * The item of a message in a record of its own, without the event by which Codex shows it. The first versions wrote items
 * without a record around them, as a compaction's record still holds them: where such a one stood, such a one is put.
 */
export function writeCodex({ role, text, instead }: WrittenMessage) {
	const type = role === "user" ? "input_text" : "output_text";
	const item = { type: "message", role, content: [{ type, text }] };
	if (isJsonObject(instead) && !isJsonObject(instead.payload)) return item;
	return { ...keptFields(instead, ["timestamp"]), type: "response_item", payload: item };
}

import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path } from "../conversation/transcript.ts";
import { type Fit, type Format, idOfText, keptFields, type LocatedMessages } from "./format.ts";
import { asCountedText, idAt, stringAt } from "./json-values.ts";
import { readMedia, tokensOfMedia } from "./media.ts";
import { readResultContent } from "./parts.ts";
import { outputCopies } from "./session-files.ts";

/** Event types that only this format has. */
const ownTypes = /^(?:session|user|assistant|system|tool|subagent|hook|permission)\.[a-z_.]+$/;

/**
 * The session log of GitHub Copilot CLI (`events.jsonl`). Messages are the events of which a model is sent something;
 * hooks, permissions, starts of tools (they repeat the arguments) and whatever a sub-agent did stay as they are. No
 * reasoning counts as bound: Copilot strips what is encrypted of it when a session is resumed.
 */
export const copilotCli: Format = {
	name: "copilot-cli",
	title: "GitHub Copilot CLI session",
	looksFor: "GitHub Copilot CLI session (events with a `type` such as assistant.message, and `data`)",
	probe,
	read({ messages, base }) {
		return {
			format: "copilot-cli",
			messages: readEvents(conversationEvents(messages as readonly JsonObject[]), base),
			surroundings: [],
			opensWithUser: false,
		};
	},
	links: { id: ["id"], parent: ["parentId"] },
	write: { message: writeCopilot, appends: false },
};

function probe({ messages }: LocatedMessages): Fit {
	let certain = false;
	for (const [message, event] of messages.entries()) {
		const type = isJsonObject(event) ? stringAt(event, "type") : undefined;
		if (type === undefined) return { fit: "none", message, expected: "an event with a string `type`" };
		if (!isJsonObject((event as JsonObject).data)) return { fit: "none", message, expected: "an event with `data`" };
		certain ||= ownTypes.test(type);
	}
	return certain ? { fit: "certain" } : { fit: "none", message: 0, expected: "an event such as user.message" };
}

function readEvents(events: readonly CopilotEvent[], base: Path): Message[] {
	const messages: Message[] = [];
	const argumentsOf = new Map<string, ReadonlySet<unknown>>();
	let response: string | undefined;
	for (const { index, kind, data, sent } of events) {
		const path = [...base, index];
		const previous = messages.at(-1);
		const chunkOf = kind === "assistant" ? idAt(data, "apiCallId") : undefined;
		if (kind === "assistant") {
			for (const { id, values } of requestsIn(data)) if (id !== undefined) argumentsOf.set(id, values);
			const message = readAssistant(data, path);
			// One answer of the model may be split over several events; its calls are parallel.
			if (previous && chunkOf !== undefined && chunkOf === response) messages.splice(-1, 1, join(previous, message));
			else messages.push(message);
		} else if (kind === "tool") {
			messages.push(readCopilotResult(data, path, argumentsOf));
		} else {
			messages.push(readText(data, path, kind));
		}
		const latest = messages.at(-1);
		if (!sent && latest) messages.splice(-1, 1, { ...latest, sent: false });
		response = chunkOf;
	}
	return messages;
}

function readText(data: JsonObject, path: Path, kind: "system" | "user" | "summary"): Message {
	// The model is sent the transformed text; `content` of a user message is what the timeline shows.
	const keys = ["transformedContent", "summaryContent", "initialMessage", "content"];
	const text = keys.map((key) => stringAt(data, key)).find((value) => value !== undefined);
	const attachments = Array.isArray(data.attachments) ? (data.attachments as unknown[]) : [];
	const media = attachments.flatMap((one, index) =>
		isJsonObject(one) && one.type === "blob" && one.omittedReason === undefined
			? [readMedia({ path: [...path, "data", "attachments", index], provider: "any", ...blobOf(one) })]
			: [],
	);
	return {
		// What a summary stands for would be sent again without it, so it stays as a system message does.
		role: kind === "user" ? "user" : "system",
		paths: [path],
		counted: [text ?? asCountedText(data.content ?? undefined)],
		mediaTokens: tokensOfMedia(media),
		calls: [],
		results: [],
		thinking: [],
	};
}

function blobOf(attachment: JsonObject) {
	return { data: stringAt(attachment, "data"), mediaType: stringAt(attachment, "mimeType") };
}

function readAssistant(data: JsonObject, path: Path): Message {
	const requests = requestsIn(data);
	const reasoning = stringAt(data, "reasoningText") ?? "";
	const counted = [asCountedText(data.content ?? undefined), reasoning, asCountedText(data.serverTools ?? undefined)];
	for (const { name, input } of requests) counted.push(name ?? "", asCountedText(input));
	return {
		role: "assistant",
		paths: [path],
		counted: counted.filter((text) => text !== ""),
		mediaTokens: 0,
		calls: requests.map(({ id, name }) => ({ id, name })),
		results: [],
		thinking: reasoning
			? [{ path: [...path, "data", "reasoningText"], text: reasoning, bound: false, fixed: true }]
			: [],
	};
}

function requestsIn(data: JsonObject) {
	const requests = Array.isArray(data.toolRequests) ? (data.toolRequests as unknown[]).filter(isJsonObject) : [];
	return requests.map((request) => ({
		id: idAt(request, "toolCallId"),
		name: stringAt(request, "name"),
		input: request.arguments,
		values: new Set(isJsonObject(request.arguments) ? Object.values(request.arguments) : []),
	}));
}

function join(first: Message, second: Message): Message {
	return {
		...first,
		paths: [...first.paths, ...second.paths],
		counted: [...first.counted, ...second.counted],
		calls: [...first.calls, ...second.calls],
		thinking: [...first.thinking, ...second.thinking],
	};
}

/** An event of which the model is, or once was, sent something. */
export interface CopilotEvent {
	readonly index: number;
	/** Whether it still is: a compaction may have taken its place. */
	readonly sent: boolean;
	readonly kind: "system" | "user" | "assistant" | "tool" | "summary";
	readonly data: JsonObject;
}

const kinds: Readonly<Record<string, CopilotEvent["kind"]>> = {
	"system.message": "system",
	"user.message": "user",
	// Told to the model as a user message.
	"system.notification": "user",
	"assistant.message": "assistant",
	"tool.execution_complete": "tool",
};

/**
 * The events that make up what the main agent's model is sent at the end of a log:
 * - none that a rewind took back;
 * - after a compaction that came to its end, its summary and what followed its start, since Copilot goes on while the
 *   summary is written; after the context was cleared, what followed; the rest is no longer sent;
 * - of system messages under one name the last, since each turn logs the same prompt anew;
 * - none of a sub-agent.
 * A truncation only says how many messages it left out of a request, not which, so it changes nothing here.
 */
export function conversationEvents(events: readonly JsonObject[]): CopilotEvent[] {
	const gone = rewoundEvents(events);
	const isOwn = (index: number) => !gone.has(index) && !isOfSubagent(events[index] as JsonObject);
	const { first, summary } = findStart(events, isOwn);
	const prompts = new Map<string, number>();
	events.forEach((event, index) => {
		if (event.type === "system.message" && isOwn(index)) prompts.set(promptName(event), index);
	});
	return events.flatMap((event, index): CopilotEvent[] => {
		const data = dataOf(event);
		if (index === summary) return [{ index, sent: true, kind: "summary", data }];
		const type = stringAt(event, "type") ?? "";
		const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
		if (kind === undefined || !isOwn(index)) return [];
		if (kind === "system") {
			return prompts.get(promptName(event)) === index ? [{ index, sent: true, kind, data }] : [];
		}
		return [{ index, sent: index >= first, kind, data }];
	});
}

function findStart(events: readonly JsonObject[], isOwn: (index: number) => boolean) {
	for (let index = events.length - 1; index >= 0; index -= 1) {
		if (!isOwn(index)) continue;
		const event = events[index] as JsonObject;
		const data = dataOf(event);
		if (event.type === "session.context_cleared") {
			return { first: index, summary: stringAt(data, "initialMessage") === undefined ? undefined : index };
		}
		const summarised = data.success !== false && stringAt(data, "summaryContent") !== undefined;
		if (event.type !== "session.compaction_complete" || !summarised) continue;
		let start = index - 1;
		while (start >= 0 && !(events[start]?.type === "session.compaction_start" && isOwn(start))) start -= 1;
		return { first: start === -1 ? index : start, summary: index };
	}
	return { first: 0, summary: undefined };
}

/** Indexes of the events that were taken back: from the one that a rewind names up to the rewind. */
function rewoundEvents(events: readonly JsonObject[]): ReadonlySet<number> {
	const indexOf = new Map(events.map((event, index) => [idAt(event, "id"), index]));
	const gone = new Set<number>();
	for (let index = events.length - 1; index >= 0; index -= 1) {
		const event = events[index] as JsonObject;
		if (event.type !== "session.snapshot_rewind") continue;
		const target = idAt(dataOf(event), "upToEventId");
		const from = target === undefined ? undefined : indexOf.get(target);
		if (from === undefined) continue;
		// A rewind among what is taken back has nothing left to take back but what stands before it.
		while (index > from) {
			index -= 1;
			gone.add(index);
		}
	}
	return gone;
}

/** Newer logs name the sub-agent in the event, older ones the call that started it. */
function isOfSubagent(event: JsonObject): boolean {
	return idAt(event, "agentId") !== undefined || idAt(dataOf(event), "parentToolCallId") !== undefined;
}

function promptName(event: JsonObject): string {
	const data = dataOf(event);
	return JSON.stringify([stringAt(data, "role"), stringAt(data, "name")]);
}

function dataOf(event: JsonObject): JsonObject {
	return isJsonObject(event.data) ? event.data : {};
}

/** Where an event keeps further copies of what the tool put out: for the timeline, as blocks, for telemetry. */
const copyPlaces = [
	["result", "detailedContent"],
	["result", "contents"],
	["result", "structuredContent"],
	["toolTelemetry"],
] as const;

/**
 * Reads a `tool.execution_complete` event. The model is sent `result.content` and the binaries beside it; of a call that
 * failed, the error's message.
 */
export function readCopilotResult(
	data: JsonObject,
	path: Path,
	argumentsOf: ReadonlyMap<string, ReadonlySet<unknown>>,
): Message {
	const callId = idAt(data, "toolCallId");
	const at = [...path, "data"];
	const result = isJsonObject(data.result) ? data.result : {};
	const isFailure = data.success === false && isJsonObject(data.error);
	const content = isFailure
		? readResultContent((data.error as JsonObject).message, [...at, "error", "message"])
		: readResultContent(result.content, [...at, "result", "content"]);
	const counted = content.others.map(asCountedText);
	const media: MediaNode[] = [];
	const binaries = Array.isArray(result.binaryResultsForLlm) ? (result.binaryResultsForLlm as unknown[]) : [];
	for (const [index, binary] of binaries.entries()) {
		const node = isJsonObject(binary) ? readBinary(binary, [...at, "result", "binaryResultsForLlm", index]) : undefined;
		if (node) media.push(node);
		else counted.push(isJsonObject(binary) ? (stringAt(binary, "description") ?? "") : asCountedText(binary));
	}
	const { texts } = content;
	const ofTheCall = argumentsOf.get(callId ?? "") ?? new Set();
	const copies = copyPlaces.flatMap(([key, inner]) => {
		const outer = Object.hasOwn(data, key) ? data[key] : undefined;
		if (inner === undefined) return outputCopies({ value: outer, path: [...at, key], texts, ofTheCall });
		const value = isJsonObject(outer) && Object.hasOwn(outer, inner) ? outer[inner] : undefined;
		return outputCopies({ value, path: [...at, key, inner], texts, ofTheCall });
	});
	const whole = binaries.length > 0 ? undefined : content.whole;
	const isError = typeof data.success === "boolean" ? !data.success : undefined;
	return {
		role: "tool",
		paths: [path],
		counted,
		mediaTokens: tokensOfMedia(media),
		calls: [],
		results: [{ callId, texts, whole, copies, media, isError }],
		thinking: [],
	};
}

/** A binary that is still there, in the event or in an asset; `undefined` for one that the log has left out already. */
function readBinary(binary: JsonObject, path: Path): MediaNode | undefined {
	if (binary.omittedReason !== undefined) return undefined;
	const mediaType = stringAt(binary, "mimeType");
	const type = stringAt(binary, "type") ?? "resource";
	const byteLength = typeof binary.byteLength === "number" ? binary.byteLength : undefined;
	const kind = type === "image" ? "image" : undefined;
	const node = readMedia({ path, provider: "any", data: stringAt(binary, "data"), mediaType, kind });
	const bytes = byteLength ?? node.bytes;
	// The log's own way to say that a binary is no longer there.
	const write = (text: string) => ({
		type,
		mimeType: mediaType ?? "application/octet-stream",
		byteLength: bytes ?? 0,
		omittedReason: "asset_unavailable",
		description: text,
	});
	return { ...node, bytes, write };
}

/** An event as Copilot logs a user's prompt, with the same text for the model as for the timeline, or a model's answer. */
export function writeCopilot({ role, text, instead }: WrittenMessage) {
	const id = (isJsonObject(instead) && stringAt(instead, "id")) || idOfText(text);
	const interaction = keptFields(isJsonObject(instead) ? instead.data : undefined, ["interactionId"]);
	const data =
		role === "user"
			? { content: text, transformedContent: text, attachments: [], ...interaction }
			: { messageId: id, content: text, toolRequests: [], ...interaction };
	return { type: `${role}.message`, data, id, ...keptFields(instead, ["timestamp", "parentId"]) };
}

import { isJsonObject } from "../engine/conversation/json.js";
import { idOfText, keptFields, probeEach, transcriptOf } from "./format.js";
import { idAt, listOf, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.js";
import { readMedia } from "./media.js";
import { added, joinMessages, MessageDraft, readToolContent, unsent } from "./parts.js";
import { outputCopies, rememberCall } from "./session-files.js";

const ownTypes = /^(?:session|user|assistant|system|tool|subagent|hook|permission)\.[a-z_.]+$/;
/** `events.jsonl` of GitHub Copilot CLI. Reasoning is never bound: on resuming, Copilot strips its encrypted part. */
export const copilotCli = {
	name: "copilot-cli",
	title: "GitHub Copilot CLI session",
	looksFor: "GitHub Copilot CLI session (events with a `type` such as assistant.message, and `data`)",
	probe: ({ messages }) =>
		probeEach(messages, "an event such as user.message", (event) => {
			const type = isJsonObject(event) ? stringAt(event, "type") : undefined;
			if (type === undefined) return "an event with a string `type`";
			return isJsonObject(event.data) ? ownTypes.test(type) : "an event with `data`";
		}),
	read: (located) => transcriptOf("copilot-cli", readEvents(located)),
	links: { id: ["id"], parent: ["parentId"] },
	write: { message: writeMessage, appends: false },
};
function readEvents({ messages: events, base }) {
	const messages = [];
	const callValues = new Map();
	let lastCall;
	for (const { index, role, sent } of conversationEvents(events)) {
		const data = dataOf(events[index]);
		const draft = new MessageDraft(role, [...base, index]).setTime(timeAt(events[index], "timestamp"));
		const at = [...base, index, "data"];
		if (role === "assistant") readAnswer(data, at, draft, callValues);
		else if (role === "tool") readToolEnd(data, at, draft, callValues);
		else readText(data, at, draft);
		const apiCall = role === "assistant" ? idAt(data, "apiCallId") : undefined;
		// Several events may be one answer of the model; their calls are parallel.
		const previous = apiCall !== undefined && apiCall === lastCall ? messages.pop() : undefined;
		const message = previous ? joinMessages([previous, draft]) : draft;
		messages.push(sent ? message : unsent(message));
		lastCall = apiCall;
	}
	return messages;
}
const roles = {
	"system.message": "system",
	"user.message": "user",
	"system.notification": "user",
	"assistant.message": "assistant",
	"tool.execution_complete": "tool",
};
/**
 * The events of the main agent's context at the end of a log, without rewound ones and those of sub-agents. Of the system
 * messages of one name only the last counts, since each turn logs the prompt again. After a finished compaction, its summary
 * and the events since its start are sent (Copilot continues while the summary is written); after the context was
 * cleared, the events that followed. A truncation logs only the number of omitted messages, so it is ignored.
 */
function conversationEvents(events) {
	const gone = rewoundEvents(events);
	const isOwn = (index) => !gone.has(index) && !isOfSubagent(events[index]);
	const { first, summary } = findStart(events, isOwn);
	const prompts = new Map();
	events.forEach((event, index) => {
		if (event.type === "system.message" && isOwn(index)) prompts.set(promptName(event), index);
	});
	return events.flatMap((event, index) => {
		// Kept like a system message: without it, the program would send the originals again.
		if (index === summary) return [{ index, role: "system", sent: true }];
		const type = stringAt(event, "type") ?? "";
		const role = Object.hasOwn(roles, type) ? roles[type] : undefined;
		if (role === undefined || !isOwn(index)) return [];
		if (role !== "system") return [{ index, role, sent: index >= first }];
		return prompts.get(promptName(event)) === index ? [{ index, role, sent: true }] : [];
	});
}
function findStart(events, isOwn) {
	for (let index = events.length - 1; index >= 0; index -= 1) {
		if (!isOwn(index)) continue;
		const event = events[index];
		const data = dataOf(event);
		if (event.type === "session.context_cleared") {
			return { first: index, summary: stringAt(data, "initialMessage") === undefined ? undefined : index };
		}
		const isSummarised = data.success !== false && stringAt(data, "summaryContent") !== undefined;
		if (event.type !== "session.compaction_complete" || !isSummarised) continue;
		const start = events.findLastIndex(
			({ type }, at) => at < index && type === "session.compaction_start" && isOwn(at),
		);
		return { first: start === -1 ? index : start, summary: index };
	}
	return { first: 0, summary: undefined };
}
/** Indexes of the rewound events: from the one that a rewind names to the rewind. */
function rewoundEvents(events) {
	const indexOf = new Map(events.map((event, index) => [idAt(event, "id"), index]));
	const gone = new Set();
	for (let index = events.length - 1; index >= 0; index -= 1) {
		const event = events[index];
		if (event.type !== "session.snapshot_rewind") continue;
		const from = indexOf.get(idAt(dataOf(event), "upToEventId") ?? "");
		if (from === undefined) continue;
		// A rewind inside this range has itself been rewound.
		while (index > from) {
			index -= 1;
			gone.add(index);
		}
	}
	return gone;
}
/** Newer logs name the sub-agent in the event, older ones the call that started it. */
function isOfSubagent(event) {
	return idAt(event, "agentId") !== undefined || idAt(dataOf(event), "parentToolCallId") !== undefined;
}
function promptName(event) {
	const data = dataOf(event);
	return JSON.stringify([stringAt(data, "role"), stringAt(data, "name")]);
}
function dataOf(event) {
	return objectOf(objectOf(event).data);
}
function readText(data, path, draft) {
	// The transformed text is sent; `content` of a user message is for the timeline.
	const keys = ["transformedContent", "summaryContent", "initialMessage", "content"];
	draft.count(data[keys.find((key) => stringAt(data, key) !== undefined) ?? "content"]);
	for (const one of objectsOf(data.attachments)) {
		if (one.type !== "blob" || one.omittedReason !== undefined) continue;
		draft.mediaTokens += readMedia({ path, provider: "any", ...blobOf(one) }).tokens;
	}
}
function blobOf(blob) {
	return { data: stringAt(blob, "data"), mediaType: stringAt(blob, "mimeType") };
}
function readAnswer(data, path, draft, callValues) {
	const text = stringAt(data, "reasoningText");
	draft.count(data.content, text, data.serverTools);
	for (const request of objectsOf(data.toolRequests)) {
		const id = idAt(request, "toolCallId");
		draft.addCall(id, stringAt(request, "name"), request.arguments);
		rememberCall(callValues, id, request.arguments);
	}
	if (text)
		draft.thinking = added(draft.thinking, { path: [...path, "reasoningText"], text, bound: false, fixed: true });
}
/** Members that repeat the output of the tool, for the timeline and for telemetry. */
const copyPlaces = [
	["result", "detailedContent"],
	["result", "contents"],
	["result", "structuredContent"],
	["toolTelemetry"],
];
/** Copilot sends `result.content` and its binaries. For a failed call it sends the message of the error. */
function readToolEnd(data, path, draft, callValues) {
	const { success, error } = data;
	const { content: output, binaryResultsForLlm } = objectOf(data.result);
	const content =
		success === false && isJsonObject(error)
			? readToolContent(error.message, [...path, "error", "message"])
			: readToolContent(output, [...path, "result", "content"]);
	const media = [];
	const descriptions = [];
	const binaries = listOf(binaryResultsForLlm);
	for (const [index, binary] of binaries.entries()) {
		const at = [...path, "result", "binaryResultsForLlm", index];
		const node = isJsonObject(binary) ? readBinary(binary, at) : undefined;
		const description = stringAt(objectOf(binary), "description");
		if (node) media.push(node);
		else if (description !== undefined) descriptions.push({ path: [...at, "description"], text: description });
		else if (!isJsonObject(binary)) draft.count(binary);
	}
	const callId = idAt(data, "toolCallId");
	const ofTheCall = callValues.get(callId ?? "");
	const copies = outputCopies({ record: data, path, places: copyPlaces, texts: content.texts, ofTheCall });
	const whole = binaries.length > 0 ? undefined : content.whole;
	const isError = typeof success === "boolean" ? !success : undefined;
	const texts = [...content.texts, ...descriptions];
	draft.addResult({ callId, ...content, texts, whole, media, ...copies, isError });
}
/** A binary in the event or in an asset; `undefined` for one that the log omits. */
function readBinary(binary, path) {
	if (binary.omittedReason !== undefined) return undefined;
	const type = stringAt(binary, "type") ?? "resource";
	const node = readMedia({ path, provider: "any", ...blobOf(binary), kind: type === "image" ? type : undefined });
	const bytes = typeof binary.byteLength === "number" ? binary.byteLength : node.bytes;
	// Copilot writes this for a binary that the log omits.
	const write = (text) => ({
		type,
		mimeType: stringAt(binary, "mimeType") ?? "application/octet-stream",
		byteLength: bytes ?? 0,
		omittedReason: "asset_unavailable",
		description: text,
	});
	return { ...node, bytes, write };
}
function writeMessage({ role, text, instead }) {
	const id = stringAt(objectOf(instead), "id") || idOfText(text);
	const interaction = keptFields(dataOf(instead), ["interactionId"]);
	const data =
		role === "user"
			? { content: text, transformedContent: text, attachments: [], ...interaction }
			: { messageId: id, content: text, toolRequests: [], ...interaction };
	return { type: `${role}.message`, data, id, ...keptFields(instead, ["timestamp", "parentId"]) };
}

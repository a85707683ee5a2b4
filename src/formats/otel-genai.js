import { isJsonObject } from "../engine/conversation/json.js";
import { linkTo, openLink } from "./block-links.js";
import { pairByPosition, probeMessages, readTranscript, roleOf, rolesWithTool } from "./format.js";
import { booleanAt, hasMember, idAt, listOf, objectOf, stringAt } from "./json-text/value.js";
import { readInlineMedia, readMedia } from "./media.js";
import { isMcpFailure, MessageDraft, readJsonContent } from "./parts.js";

/** Parts that only these messages have. */
const ownTypes = new Set(["tool_call", "tool_call_response", "server_tool_call", "server_tool_call_response"]);
/**
 * Messages as OpenTelemetry's conventions for generative AI define them (`gen_ai.input.messages`). Pydantic AI, Microsoft's
 * agent frameworks and Langfuse export them.
 */
export const otelGenai = {
	name: "otel-genai",
	title: "OpenTelemetry GenAI messages",
	looksFor:
		"OpenTelemetry GenAI messages (`role` and `parts`, of `type` text with `content`, tool_call, tool_call_response)",
	probe: ({ messages }) => probeMessages(messages, "a part `tool_call`, or a text with `content`", probe),
	read(located) {
		const ids = pairByPosition(located.messages.map(exchangesOf));
		const around = ["gen_ai.system_instructions", "gen_ai.tool.definitions"];
		return readTranscript("otel-genai", located, around, (message, path, index) =>
			readMessage(message, path, ids[index] ?? []),
		);
	},
	write: {
		message: ({ role, text }) => ({ role, parts: [{ type: "text", content: text }] }),
		part: { lists: [["parts"]], key: "content", write: (content) => ({ type: "text", content }) },
		appends: true,
	},
};
function probe({ parts, content }) {
	if (content !== undefined || !Array.isArray(parts)) return "`parts` as a list, and no `content`";
	let certain = false;
	for (const part of parts) {
		if (!isJsonObject(part) || typeof part.type !== "string") return "`parts` with a `type` each";
		const isText = part.type === "text" || part.type === "reasoning";
		if (isText && stringAt(part, "content") === undefined) return "texts in `content`";
		// Crush has the same types, with everything in `data`.
		if (ownTypes.has(part.type) && !hasMember(part, "id", "name", "response", "result")) return "calls with `name`";
		certain ||= isText || ownTypes.has(part.type);
	}
	return certain;
}
/** Calls and results may come without an id. */
function exchangesOf(message) {
	return listOf(objectOf(message).parts).map((part) => {
		const { type, ...call } = objectOf(part);
		if (type !== "tool_call" && type !== "tool_call_response") return undefined;
		return {
			kind: type === "tool_call" ? "call" : "result",
			name: stringAt(call, "name"),
			ownId: idAt(call, "id"),
		};
	});
}
function readMessage(message, path, ids) {
	const draft = new MessageDraft(roleOf(message, rolesWithTool), path);
	return draft.readParts(message.parts, [...path, "parts"], (part, at, _, index) =>
		readPart(part, { path: at, id: ids[index] ?? idAt(part, "id") }, draft),
	);
}
function readPart(part, { path, id }, draft) {
	const { type } = part;
	if (type === "text") draft.count(part.content);
	else if (type === "reasoning") draft.addThinking(path, part.content, false);
	else if (type === "tool_call") draft.addCall(id, stringAt(part, "name"), part.arguments);
	else if (type === "tool_call_response") {
		// Earlier versions of Pydantic AI call it `result`.
		const key = hasMember(part, "response") ? "response" : "result";
		const isError = booleanAt(part, "is_error") ?? (isMcpFailure(part[key]) || undefined);
		draft.addResult({ callId: id, ...readJsonContent(part[key], [...path, key], readInlineMedia), isError });
	} else {
		if (type === "server_tool_call") openLink(id, draft);
		if (type === "server_tool_call_response") linkTo(id, draft, stringAt(part, "name") ?? "");
		draft.countPart(part, readPartMedia(part, path));
	}
}
function readPartMedia(part, path) {
	const { type, modality } = part;
	if (type !== "blob" && type !== "uri" && type !== "file") return readInlineMedia(part, path);
	const kind = ["image", "audio", "video"].find((one) => one === modality) ?? "document";
	const mediaType = stringAt(part, "mime_type");
	const write = (content) => ({ type: "text", content });
	return readMedia({ path, provider: "any", mediaType, kind, data: part.content ?? part.uri, write });
}

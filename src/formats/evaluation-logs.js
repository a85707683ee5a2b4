import { isJsonObject } from "../engine/conversation/json.js";
import {
	contentPart,
	keptFields,
	plainMessage,
	probeCalls,
	probeMessages,
	probeParts,
	readTranscript,
	roleOf,
	rolesWithTool,
} from "./format.js";
import { booleanAt, idAt, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.js";
import { readMedia } from "./media.js";
import { MessageDraft, readOpenContent } from "./parts.js";
/** Logs of Inspect AI. Models get the message of an `error`. Calls that the provider ran are counted, never edited. */
export const inspect = {
	name: "inspect",
	title: "Inspect AI",
	looksFor: 'Inspect AI messages (calls in `tool_calls` as {id, function, arguments}, results in `role: "tool"`)',
	probe: ({ messages }) =>
		probeMessages(
			messages,
			"a call whose `function` is the tool's name, or a message whose `source` is known",
			probeInspect,
		),
	read: (located) => ({ ...readTranscript("inspect", located, ["tools"], readInspectMessage), plainInTurn: true }),
	write: {
		message: (given) => ({ ...keptFields(given.instead, ["id"]), ...plainMessage(given) }),
		part: contentPart,
		appends: true,
	},
};
function probeInspect(message, role) {
	if (!Object.hasOwn(rolesWithTool, role)) return false;
	if (Object.hasOwn(message, "parts")) return "`content`, not `parts`";
	const { content, tool_calls: calls, source } = message;
	if (isJsonObject(content)) return "`content` as a string or a list of parts";
	const parts =
		Array.isArray(content) && probeParts(content, { own: ["tool_use"], foreign: ["image_url", "input_audio"] });
	if (typeof parts === "string") return parts;
	const isCall = (call) => stringAt(call, "function") !== undefined;
	const called = probeCalls(calls, isCall, "`function` as a string");
	const isResult = role === "tool" && typeof message.function === "string";
	return called || isResult || source === "input" || source === "generate";
}
function readInspectMessage(message, path) {
	const draft = new MessageDraft(roleOf(message, rolesWithTool), path);
	for (const call of objectsOf(message.tool_calls)) {
		draft.addCall(idAt(call, "id"), stringAt(call, "function"), call.arguments);
	}
	const at = [...path, "content"];
	if (draft.role === "tool") {
		draft.count(stringAt(objectOf(message.error), "message"));
		const content = readOpenContent(message.content, at, readMediaPart);
		const isError = isJsonObject(message.error) || undefined;
		draft.addResult({ callId: idAt(message, "tool_call_id"), ...content, isError });
	} else draft.readParts(message.content, at, readPart);
	// Older logs keep the reasoning here.
	return draft.count(stringAt(message, "reasoning"));
}
function readPart(part, path, draft) {
	if (part.type === "text") draft.count(part.text);
	else if (part.type === "reasoning") {
		// The id of OpenAI's reasoning item. OpenAI does not check the messages before it.
		const isItem = stringAt(part, "signature")?.startsWith("rs_") ?? false;
		const bound = !isItem && (typeof part.signature === "string" || part.redacted === true);
		draft.addThinking(path, part.reasoning, bound, isItem);
	} else if (part.type === "tool_use") draft.count(part.name, part.arguments, part.result);
	else draft.countPart(part, readMediaPart(part, path));
}
/** The data of a part is under the name of its type. */
function readMediaPart(part, path) {
	const kind = ["image", "audio", "video", "document"].find((type) => type === part.type);
	if (kind === undefined || typeof part[kind] !== "string") return undefined;
	const format = stringAt(part, "format");
	const mediaType = stringAt(part, "mime_type") || (format && `${kind}/${format}`);
	return readMedia({ path, provider: "any", mediaType, kind, data: part[kind], detail: stringAt(part, "detail") });
}
/** Trajectories of tau2-bench. Its simulated user calls tools too; these results are in no tool turn and are never masked. */
export const tau2 = {
	name: "tau2",
	title: "tau2-bench trajectory",
	looksFor:
		'tau2-bench messages (calls in `tool_calls` as {id, name, arguments, requestor}, results in `role: "tool"`)',
	probe: ({ messages }) =>
		probeMessages(
			messages,
			"a call with `name` and `arguments` in `tool_calls`, or a result with `requestor`",
			probeTau2,
		),
	read: (located) => readTranscript("tau2", located, [], readTau2Message),
	write: {
		message: (given) => ({
			...plainMessage(given),
			tool_calls: null,
			...keptFields(given.instead, ["turn_idx", "timestamp"]),
		}),
		appends: true,
	},
};
function probeTau2(message, role) {
	if (!Object.hasOwn(rolesWithTool, role)) return false;
	if (Object.hasOwn(message, "parts")) return "`content`, not `parts`";
	const { content, tool_calls: calls, requestor } = message;
	if (typeof content !== "string" && content != null) return "`content` as a string or null";
	if (Object.hasOwn(message, "tool_call_id")) return "the call's id as `id`, not `tool_call_id`";
	const isCall = (call) =>
		!Object.hasOwn(call, "function") && stringAt(call, "name") !== undefined && isJsonObject(call.arguments);
	const called = probeCalls(calls, isCall, "`name` and `arguments`");
	const isResult = Array.isArray(message.tool_messages) || requestor === "assistant" || requestor === "user";
	return called || (role === "tool" && isResult);
}
function readTau2Message(message, path) {
	const draft = new MessageDraft(roleOf(message, rolesWithTool), path).setTime(timeAt(message, "timestamp"));
	for (const call of objectsOf(message.tool_calls)) {
		draft.addCall(idAt(call, "id"), stringAt(call, "name"), call.arguments);
	}
	const { tool_messages: results } = message;
	if (draft.role !== "tool") draft.count(message.content);
	else if (!Array.isArray(results)) readTau2Result(message, path, draft);
	else {
		for (const [index, result] of results.entries())
			if (isJsonObject(result)) readTau2Result(result, [...path, "tool_messages", index], draft);
	}
	return draft;
}
function readTau2Result(result, path, draft) {
	const content = readOpenContent(result.content, [...path, "content"]);
	draft.addResult({ callId: idAt(result, "id"), ...content, isError: booleanAt(result, "error") });
}

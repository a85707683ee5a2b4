import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path } from "../conversation/transcript.ts";
import {
	type Format,
	keptFields,
	plainMessage,
	probeCalls,
	probeMessages,
	readTranscript,
	roleOf,
	rolesWithTool,
} from "./format.ts";
import { booleanAt, idAt, objectsOf, stringAt, timeAt } from "./json-values.ts";
import { MessageDraft, readOpenContent } from "./parts.ts";

/** Trajectories of tau2-bench. Its user calls tools too, but in no tool turns, so these results are never masked. */
export const tau2: Format = {
	name: "tau2",
	title: "tau2-bench trajectory",
	looksFor:
		'tau2-bench messages (calls in `tool_calls` as {id, name, arguments, requestor}, results in `role: "tool"`)',
	probe: ({ messages }) =>
		probeMessages(messages, "a call with `name` and `arguments` in `tool_calls`, or a result with `requestor`", probe),
	read: (located) => readTranscript("tau2", located, [], readMessage),
	write: {
		message: (given) => ({
			...plainMessage(given),
			tool_calls: null,
			...keptFields(given.instead, ["turn_idx", "timestamp"]),
		}),
		appends: true,
	},
};

function probe(message: JsonObject, role: string) {
	if (!Object.hasOwn(rolesWithTool, role)) return false;
	if (Object.hasOwn(message, "parts")) return "`content`, not `parts`";
	const { content, tool_calls: calls, requestor } = message;
	if (typeof content !== "string" && content !== undefined && content !== null) return "`content` as a string or null";
	if (Object.hasOwn(message, "tool_call_id")) return "the call's id as `id`, not `tool_call_id`";
	const isCall = (call: JsonObject) =>
		!Object.hasOwn(call, "function") && stringAt(call, "name") !== undefined && isJsonObject(call.arguments);
	const called = probeCalls(calls, isCall, "`name` and `arguments`");
	const isResult = Array.isArray(message.tool_messages) || requestor === "assistant" || requestor === "user";
	return called || (role === "tool" && isResult);
}

function readMessage(message: JsonObject, path: Path): Message {
	const draft = new MessageDraft(roleOf(message, rolesWithTool), path).setTime(timeAt(message, "timestamp"));
	for (const call of objectsOf(message.tool_calls)) {
		draft.addCall(idAt(call, "id"), stringAt(call, "name"), call.arguments);
	}
	const { tool_messages: results } = message;
	if (draft.role !== "tool") draft.count(message.content);
	else if (!Array.isArray(results)) readResult(message, path, draft);
	else {
		for (const [index, result] of results.entries())
			if (isJsonObject(result)) readResult(result, [...path, "tool_messages", index], draft);
	}
	return draft;
}

function readResult(result: JsonObject, path: Path, draft: MessageDraft): void {
	const content = readOpenContent(result.content, [...path, "content"]);
	draft.addResult({ callId: idAt(result, "id"), ...content, isError: booleanAt(result, "error") });
}

import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path } from "../conversation/transcript.ts";
import {
	addCall,
	addResult,
	count,
	type Format,
	keptFields,
	type MessageDraft,
	plainMessage,
	probeMessages,
	readTranscript,
	roleOf,
	rolesWithTool,
	startMessage,
} from "./format.ts";
import { booleanAt, idAt, objectsOf, stringAt } from "./json-values.ts";
import { readOpenContent } from "./parts.ts";

/**
 * Trajectories of tau2-bench. Both sides of the conversation call tools: calls of the user side are in messages of
 * role `user`, which are no tool turns, so that their results are never masked. Arguments are objects, a result names
 * its call by its own `id`, and several results may be in one message (`tool_messages`). The simulator's own records
 * beside a message (`raw_data`, `usage`, `cost`, `reasoning`) are sent to no model.
 */
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
	if (calls !== undefined && calls !== null) {
		if (!Array.isArray(calls)) return "`tool_calls` as a list or null";
		if (!calls.every(isCall)) return "`tool_calls` whose items hold `name` and `arguments`";
		if (calls.length > 0) return true;
	}
	return role === "tool" && (Array.isArray(message.tool_messages) || requestor === "assistant" || requestor === "user");
}

function isCall(call: unknown): boolean {
	if (!isJsonObject(call) || Object.hasOwn(call, "function")) return false;
	return stringAt(call, "name") !== undefined && isJsonObject(call.arguments);
}

function readMessage(message: JsonObject, path: Path): Message {
	const draft = startMessage(roleOf(message, rolesWithTool), path);
	for (const call of objectsOf(message.tool_calls)) {
		addCall(draft, idAt(call, "id"), stringAt(call, "name"), call.arguments);
	}
	const { tool_messages: results } = message;
	if (draft.role !== "tool") count(draft, message.content);
	else if (!Array.isArray(results)) readResult(message, path, draft);
	else {
		results.forEach((result: unknown, index) => {
			if (isJsonObject(result)) readResult(result, [...path, "tool_messages", index], draft);
		});
	}
	return draft;
}

function readResult(result: JsonObject, path: Path, draft: MessageDraft): void {
	const content = readOpenContent(result.content, [...path, "content"]);
	addResult(draft, { callId: idAt(result, "id"), ...content, isError: booleanAt(result, "error") });
}

import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path, Role } from "../conversation/transcript.ts";
import {
	addCalls,
	addResult,
	type Format,
	finishMessage,
	keptFields,
	type MessageDraft,
	plainMessage,
	probeMessages,
	readEach,
	startMessage,
} from "./format.ts";
import { asCountedText, idAt, stringAt } from "./json-values.ts";
import { readTypedParts } from "./parts.ts";

const roles: Readonly<Record<string, Role>> = { system: "system", user: "user", assistant: "assistant", tool: "tool" };

/**
 * Trajectories of tau2-bench. Both sides of the conversation call tools: calls of the user side stand in messages of
 * role `user`, which are no tool turns, so that what answers them is never masked. Arguments are objects, a result names
 * its call by its own `id`, and several results may stand in one message (`tool_messages`). What the simulator records
 * beside a message (`raw_data`, `usage`, `cost`, `reasoning`) is sent to no model.
 */
export const tau2: Format = {
	name: "tau2",
	title: "tau2-bench trajectory",
	looksFor:
		'tau2-bench messages (calls in `tool_calls` as {id, name, arguments, requestor}, results in `role: "tool"`)',
	probe: ({ messages }) =>
		probeMessages(messages, "a call with `name` and `arguments` in `tool_calls`, or a result with `requestor`", probe),
	read: (located) => ({
		format: "tau2",
		messages: readEach(located, readMessage),
		surroundings: [],
		opensWithUser: false,
	}),
	write: {
		message: (given) => ({
			...plainMessage(given),
			tool_calls: null,
			...keptFields(given.instead, ["turn_idx", "timestamp"]),
		}),
		appends: true,
	},
};

function probe(message: JsonObject, role: string): boolean | string {
	if (!Object.hasOwn(roles, role)) return false;
	if (Object.hasOwn(message, "parts")) return "`content`, not `parts`";
	const { content, tool_calls: calls } = message;
	if (typeof content !== "string" && content !== undefined && content !== null) return "`content` as a string or null";
	if (Object.hasOwn(message, "tool_call_id")) return "the call's id as `id`, not `tool_call_id`";
	if (calls !== undefined && calls !== null) {
		if (!Array.isArray(calls)) return "`tool_calls` as a list or null";
		if (!calls.every(isCall)) return "`tool_calls` whose items hold `name` and `arguments`";
		if (calls.length > 0) return true;
	}
	if (role !== "tool") return false;
	return Array.isArray(message.tool_messages) || isRequestor(message.requestor);
}

function isCall(call: unknown): boolean {
	if (!isJsonObject(call) || Object.hasOwn(call, "function")) return false;
	return stringAt(call, "name") !== undefined && isJsonObject(call.arguments);
}

function isRequestor(value: unknown): boolean {
	return value === "assistant" || value === "user";
}

function readMessage(message: JsonObject, path: Path): Message {
	const name = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(roles, name) && roles[name]) || "other";
	const draft = startMessage();
	addCalls(draft, message.tool_calls, "name");
	if (role !== "tool") draft.counted.push(asCountedText(message.content ?? undefined));
	else if (Array.isArray(message.tool_messages)) {
		message.tool_messages.forEach((result: unknown, index) => {
			if (isJsonObject(result)) readResult(result, [...path, "tool_messages", index], draft);
		});
	} else readResult(message, path, draft);
	return finishMessage(role, [path], draft);
}

function readResult(result: JsonObject, path: Path, draft: MessageDraft): void {
	addResult(draft, {
		callId: idAt(result, "id"),
		...readTypedParts(result.content, [...path, "content"], () => undefined),
		copies: [],
		isError: typeof result.error === "boolean" ? result.error : undefined,
	});
}

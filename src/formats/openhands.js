import { isJsonObject } from "../engine/conversation/json.js";
import { joinAnswers, keptFields, probeEach, roleOf, rolesWithTool, transcriptOf } from "./format.js";
import { booleanAt, hasMember, idAt, listOf, numberAt, objectOf, stringAt, timeAt } from "./json-text/value.js";
import { readMedia } from "./media.js";
import { readChatMedia } from "./openai-chat.js";
import { MessageDraft, readOpenContent, unsent } from "./parts.js";
import { outputCopies, rememberCall } from "./session-files.js";
/**
 * Events of OpenHands: actions and observations, which older versions keep in pairs, and events with a `kind` of its agent
 * SDK. Events that a condensation left out are not sent.
 */
export const openhands = {
	name: "openhands",
	title: "OpenHands events",
	looksFor: "OpenHands events (`action` or `observation` next to `source`; or a `kind` such as ActionEvent)",
	probe: ({ messages }) =>
		probeEach(messages, "an event with `action` and `args`, or of `kind` ActionEvent or MessageEvent", (item) => {
			if (!Array.isArray(item)) return probe(item);
			const probed = item.map(probe);
			return probed.find((one) => typeof one === "string") ?? probed.includes(true);
		}),
	read: readSession,
	write: { message: writeMessage, appends: false },
};
function probe(event) {
	if (!isJsonObject(event)) return "an object with `action`, `observation` or `kind`";
	const [action, observation, kind] = ["action", "observation", "kind"].map((key) => stringAt(event, key));
	if (hasMember(event, "role", "type")) return "an event without a `role` or `type`";
	if (kind !== undefined) return Object.hasOwn(readers, kind) && typeof event.source === "string";
	if (action !== undefined) return isJsonObject(event.args) || isFlat(event) || "`args` in an action";
	if (observation !== undefined) return hasMember(event, "content") ? false : "`content` in an observation";
	return "an object with `action`, `observation` or `kind`";
}
/** Actions that the resolver's `history` has without `args`: their members are in the event itself. */
const flatActions = new Set([
	...["system", "message", "run", "run_ipython", "read", "write", "edit", "browse", "browse_interactive"],
	...["call_tool_mcp", "think", "finish", "reject", "delegate", "recall", "task_tracking", "condensation"],
]);
function isFlat(event) {
	return flatActions.has(event.action) && !hasMember(event, "args", "observation");
}
function placedEvents({ messages, base }) {
	return messages.flatMap((item, index) => {
		const path = [...base, index];
		if (isJsonObject(item)) return [{ event: item, path }];
		return listOf(item).flatMap((event, at) => (isJsonObject(event) ? [{ event, path: [...path, at] }] : []));
	});
}
function readSession(located) {
	const events = placedEvents(located);
	const forgotten = new Set(events.flatMap(({ event }) => forgottenIds(event)));
	const summary = events.findLast(({ event }) => isCondensation(event));
	const calls = { ids: new Map(), values: new Map(), open: undefined, hasActed: false };
	const messages = events.flatMap((one) => {
		const message = isCondensation(one.event) ? readSummary(one, one === summary) : readEvent(one, calls);
		if (!message) return [];
		const time = timeAt(one.event, "timestamp");
		return [forgotten.has(nameOf(one.event) ?? "") ? unsent(message) : message.setTime(time)];
	});
	return transcriptOf("openhands", joinAnswers(messages));
}
function nameOf({ id }) {
	return typeof id === "number" ? String(id) : typeof id === "string" ? id : undefined;
}
function isCondensation({ action, kind }) {
	return action === "condensation" || kind === "Condensation";
}
function forgottenIds(event) {
	if (!isCondensation(event)) return [];
	const given = isJsonObject(event.args) ? event.args : event;
	const named = listOf(given.forgotten_event_ids).map(String);
	const [first, last] = ["forgotten_events_start_id", "forgotten_events_end_id"].map((key) => numberAt(given, key));
	if (first === undefined || last === undefined || last - first > 100_000) return named;
	return [...named, ...Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => String(first + index))];
}
/** Kept like a system message: without it, OpenHands would send the originals again. Only the last summary is sent. */
function readSummary({ event, path }, isLast) {
	const summary = stringAt(isJsonObject(event.args) ? event.args : event, "summary");
	const draft = new MessageDraft("system", path).count(summary);
	return isLast && draft.counted.length > 0 ? draft : undefined;
}
/** Actions and observations that change or show the state of the program. */
const unsentKinds = new Set([
	"",
	"null",
	"recall",
	"change_agent_state",
	"agent_state_changed",
	"condensation_request",
]);
function readEvent({ event, path }, calls) {
	const kind = stringAt(event, "kind");
	if (kind !== undefined) return Object.hasOwn(readers, kind) ? readers[kind]?.(event, path, calls) : undefined;
	const [action, observation] = [stringAt(event, "action"), stringAt(event, "observation")];
	const { action: _, ...members } = event;
	const args = isFlat(event) ? members : objectOf(event.args);
	const text = (role, ...values) => new MessageDraft(role, path).count(...values);
	if (observation === "recall") return text("user", event.content || undefined);
	if (unsentKinds.has(observation ?? action ?? "")) return undefined;
	const callId = idAt(objectOf(event.tool_call_metadata), "tool_call_id");
	if (observation !== undefined) {
		const draft = new MessageDraft("tool", path);
		const cause = nameOf({ id: event.cause });
		const content = readOpenContent(event.content, [...path, "content"]);
		const ofTheCall = calls.values.get(cause ?? "");
		const copies = outputCopies({ record: event, path, places: [["extras"]], texts: content.texts, ofTheCall });
		const isError = observation === "error" || booleanAt(event, "success") === false || undefined;
		draft.addResult({ callId: callId ?? calls.ids.get(cause) ?? cause ?? calls.open, ...content, ...copies, isError });
		calls.open = undefined;
		return draft;
	}
	if (action === "system") return text("system", args.content, args.tools);
	if (action === "message") {
		const draft = text(isOfUser(event, calls) ? "user" : "assistant", args.content);
		calls.hasActed ||= draft.role === "assistant";
		for (const data of listOf(args.image_urls)) {
			draft.mediaTokens += readMedia({ path, provider: "any", kind: "image", data }).tokens;
		}
		return draft;
	}
	if (action === "finish") return text("assistant", args.final_thought || args.thought || undefined);
	calls.hasActed = true;
	const { thought, ...input } = args;
	const draft = text("assistant", thought || undefined);
	const id = callId ?? nameOf(event) ?? action;
	draft.addCall(id, stringAt(objectOf(event.tool_call_metadata), "function_name") ?? action, input);
	calls.ids.set(nameOf(event), id);
	calls.open = id;
	rememberCall(calls.values, nameOf(event), args);
	return draft;
}
/** Events of the resolver name no source: the task comes first, and its program answers the agent's questions. */
function isOfUser(event, { hasActed }) {
	if (event.source !== undefined || !isFlat(event)) return event.source === "user";
	return !hasActed || /^\s*Please continue working on the task/.test(stringAt(event, "content") ?? "");
}
/** The events of the agent SDK that are sent. */
const readers = {
	SystemPromptEvent: (event, path) =>
		new MessageDraft("system", path).count(objectOf(event.system_prompt).text, event.tools),
	MessageEvent(event, path) {
		const message = objectOf(event.llm_message);
		const content = [...path, "llm_message", "content"];
		return new MessageDraft(roleOf(message, rolesWithTool), path).countParts(message.content, content, readChatMedia);
	},
	ActionEvent(event, path) {
		const draft = new MessageDraft("assistant", path);
		draft.countParts(event.thought, [...path, "thought"], readChatMedia);
		for (const [index, block] of listOf(event.thinking_blocks).entries()) {
			if (!isJsonObject(block)) continue;
			const bound = typeof block.signature === "string" || block.type === "redacted_thinking";
			draft.addThinking([...path, "thinking_blocks", index], block.thinking ?? "", bound, true);
		}
		const call = objectOf(event.tool_call);
		draft.addCall(
			idAt(event, "tool_call_id") ?? nameOf(event),
			stringAt(event, "tool_name"),
			call.arguments ?? event.action,
		);
		return draft;
	},
	ObservationEvent(event, path) {
		const { observation } = event;
		const key = Object.hasOwn(objectOf(observation), "content") ? "content" : "output";
		const value = objectOf(observation)[key];
		const isError = booleanAt(objectOf(observation), "is_error") || undefined;
		return resultOf(event, path, { key: ["observation", key], value, isError });
	},
	AgentErrorEvent: (event, path) => resultOf(event, path, { key: ["error"], value: event.error, isError: true }),
	UserRejectObservation: (event, path) =>
		resultOf(event, path, { key: ["rejection_reason"], value: event.rejection_reason, isError: true }),
};
function resultOf(event, path, { key, value, isError }) {
	const content = readOpenContent(value, [...path, ...key], readChatMedia);
	const callId = idAt(event, "tool_call_id") ?? idAt(event, "action_id");
	return new MessageDraft("tool", path).addResult({ callId, ...content, isError });
}
function writeMessage({ role, text, instead }) {
	const frame = { ...keptFields(instead, ["id", "timestamp"]), source: role === "user" ? "user" : "agent" };
	if (isFlat(objectOf(instead))) return { ...frame, content: text, action: "message" };
	if (stringAt(objectOf(instead), "kind") === undefined)
		return { ...frame, action: "message", args: { content: text } };
	return { ...frame, kind: "MessageEvent", llm_message: { role, content: [{ type: "text", text }] } };
}

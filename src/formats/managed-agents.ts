import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path, Role } from "../conversation/transcript.ts";
import { anthropicUsage } from "./answer.ts";
import { readAnthropicMedia } from "./anthropic.ts";
import { type Format, idOfText, keptFields, type LocatedMessages, probeEach, readEvents } from "./format.ts";
import { booleanAt, idAt, objectOf, stringAt, timeAt } from "./json-values.ts";
import { MessageDraft, readToolContent, unsent } from "./parts.ts";
import { outputCopies } from "./session-files.ts";

/** The member that holds the id of the call, by type of result. */
const resultIds: Readonly<Record<string, string>> = {
	"agent.tool_result": "tool_use_id",
	"agent.mcp_tool_result": "mcp_tool_use_id",
	"user.tool_result": "tool_use_id",
	"user.custom_tool_result": "custom_tool_use_id",
};

const roles: Readonly<Record<string, Role>> = {
	"agent.message": "assistant",
	"agent.thinking": "assistant",
	"agent.tool_use": "assistant",
	"agent.mcp_tool_use": "assistant",
	"agent.custom_tool_use": "assistant",
	"user.message": "user",
	"user.define_outcome": "user",
	"system.message": "system",
	...Object.fromEntries(Object.keys(resultIds).map((type) => [type, "tool"])),
};

/** Events of a session of Claude Managed Agents, as they are or in the `raw` member of a record. */
export const managedAgents: Format = {
	name: "managed-agents",
	title: "Claude Managed Agents session",
	looksFor: "Claude Managed Agents session (events of `type` agent.tool_use, agent.tool_result, user.message, …)",
	probe: ({ messages }) =>
		probeEach(messages, "an event with an `id` such as sevt_…", (record) => {
			const { event } = eventOf(record);
			const type = stringAt(event, "type");
			if (type === undefined || !/^[a-z]+\.[a-z_.]+$/.test(type)) return "an event with a `type` such as agent.message";
			return idAt(event, "id")?.startsWith("sevt_") || type.startsWith("agent.");
		}),
	read: readSession,
	write: { message: writeMessage, appends: false },
};

function eventOf(record: unknown): { readonly event: JsonObject; readonly key?: "raw" } {
	const { raw } = objectOf(record);
	return isJsonObject(raw) ? { event: raw, key: "raw" } : { event: objectOf(record) };
}

function readSession(located: LocatedMessages) {
	const { messages: records } = located;
	const compaction = records.findLastIndex((record) => eventOf(record).event.type === "agent.thread_context_compacted");
	let latest: MessageDraft | undefined;
	return readEvents("managed-agents", located, (record, path, index) => {
		const { event, key } = eventOf(record);
		// The usage of a call comes after its answer.
		if (event.type === "span.model_request_end") latest?.setUsage(anthropicUsage({ usage: event.model_usage }));
		const message = readEvent(event, record, path, key === undefined ? path : [...path, key]);
		if (message?.role === "assistant") latest = message;
		return message && index < compaction ? (unsent(message) as Message) : message;
	});
}

function readEvent(event: JsonObject, record: JsonObject, path: Path, at: Path): MessageDraft | undefined {
	const type = stringAt(event, "type") ?? "";
	const role = Object.hasOwn(roles, type) ? roles[type] : undefined;
	const content = [...at, "content"];
	if (role === undefined) return undefined;
	const draft = new MessageDraft(role, path).setTime(timeAt(event, "processed_at") ?? timeAt(event, "created_at"));
	if (role === "tool") {
		const read = readToolContent(event.content, content, readAnthropicMedia);
		const copies = outputCopies({ record, path, places: at === path ? [] : [["content"]], texts: read.texts });
		const callId = idAt(event, resultIds[type] ?? "");
		draft.addResult({ callId, ...read, copies, isError: booleanAt(event, "is_error") });
	} else if (type.endsWith("_use")) draft.addCall(idAt(event, "id"), stringAt(event, "name"), event.input);
	else if (type === "user.define_outcome") draft.count(event.description, event.rubric);
	// Some sessions do not include the text of a thought.
	else if (type === "agent.thinking" && event.content === undefined) return undefined;
	else draft.countParts(event.content, content, readAnthropicMedia);
	return draft;
}

function writeMessage({ role, text, instead }: WrittenMessage) {
	const { event, key } = eventOf(instead);
	const type = role === "user" ? "user.message" : "agent.message";
	// The id of a call cannot be kept: its result refers to it.
	const own = /message$/.test(stringAt(event, "type") ?? "") ? idAt(event, "id") : undefined;
	const id = own ?? `sevt_${idOfText(text)}`;
	const written = { id, type, content: [{ type: "text", text }], ...keptFields(event, ["processed_at"]) };
	if (key === undefined) return written;
	const name = role === "user" ? "user" : "agent";
	return { role: name, kind: "message", content: text, ...keptFields(instead, ["time"]), raw: written };
}

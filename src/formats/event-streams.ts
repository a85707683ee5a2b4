import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { Message } from "../engine/conversation/transcript.ts";
import { type Format, keptFields, probeEach, readEvents } from "./format.ts";
import { hasMember, idAt, objectOf, stringAt, timeAt } from "./json-text/value.ts";
import { MessageDraft, readOpenContent } from "./parts.ts";

/** The output of `gemini --output-format stream-json`: an event for each text, call and result. */
export const geminiStream = eventStream({
	name: "gemini-stream",
	title: "Gemini CLI stream",
	looksFor: "Gemini CLI stream (events of `type` init, message, tool_use with `tool_id`, tool_result, result)",
	types: ["init", "message", "tool_use", "tool_result", "error", "result"],
	tells: { type: "init", by: "session_id" },
	call: { type: "tool_use", id: "tool_id", name: "tool_name" },
	text: "content",
	output: "output",
});

/** The output of `droid exec --output-format stream-json`. */
export const droidStream = eventStream({
	name: "droid-stream",
	title: "Factory Droid stream",
	looksFor:
		"Factory Droid stream (events of `type` system, message, tool_call with `toolName`, tool_result, completion)",
	types: ["system", "message", "reasoning", "tool_call", "tool_result", "error", "completion"],
	// Streams of Claude Code begin with the same event of `type` system.
	tells: { type: "message", by: "role" },
	call: { type: "tool_call", id: "id", name: "toolName" },
	text: "text",
	output: "value",
});

interface Stream extends Pick<Format, "name" | "title" | "looksFor"> {
	readonly types: readonly string[];
	/** An event without a call that no other stream has, and its member that is a string. */
	readonly tells: { readonly type: string; readonly by: string };
	readonly call: { readonly type: string; readonly id: string; readonly name: string };
	/** The members that hold the text of a message, and the output of a result. */
	readonly text: string;
	readonly output: string;
}

function eventStream({ types, tells, call, text, output, ...names }: Stream): Format {
	const isResultless = (event: JsonObject) => event.type === "message" || event.type === "reasoning";
	const readEvent = (event: JsonObject, path: Path): Message | undefined => {
		const time = timeAt(event, "timestamp");
		const draft = (role: Message["role"]) => new MessageDraft(role, path).setTime(time);
		if (isResultless(event)) return draft(event.role === "user" ? "user" : "assistant").count(event[text]);
		if (event.type === call.type) {
			return draft("assistant").addCall(idAt(event, call.id), stringAt(event, call.name), event.parameters);
		}
		if (event.type !== "tool_result") return undefined;
		const isError = event.status === "error" || event.isError === true || undefined;
		const message = Object.hasOwn(event, output) ? undefined : stringAt(objectOf(event.error), "message");
		const content =
			message === undefined
				? readOpenContent(event[output], [...path, output])
				: readOpenContent(message, [...path, "error", "message"]);
		return draft("tool").addResult({ callId: idAt(event, call.id), ...content, isError });
	};
	return {
		...names,
		probe: ({ messages }) =>
			probeEach(messages, `an event of \`type\` ${tells.type} or ${call.type}`, (event) => {
				if (!isJsonObject(event) || !types.includes(String(event.type))) return "an event of a known `type`";
				if (event.type === "message" && !hasMember(event, text)) return `\`${text}\` in a message`;
				const isTelling = event.type === tells.type && stringAt(event, tells.by) !== undefined;
				return isTelling || (event.type === call.type && stringAt(event, call.name) !== undefined);
			}),
		read: (located) => readEvents(names.name, located, readEvent),
		write: {
			message: ({ role, text: words, instead }) => ({
				type: "message",
				...keptFields(instead, ["timestamp"]),
				role,
				[text]: words,
			}),
			appends: false,
		},
	};
}

import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path } from "../conversation/transcript.ts";
import {
	addCall,
	addResult,
	addThinking,
	count,
	countPart,
	type Format,
	keptFields,
	type MessageDraft,
	plainMessage,
	probeMessages,
	probeParts,
	readParts,
	readTranscript,
	roleOf,
	rolesWithTool,
	startMessage,
} from "./format.ts";
import { idAt, objectOf, objectsOf, stringAt } from "./json-values.ts";
import { readMedia } from "./media.ts";
import { readOpenContent } from "./parts.ts";

/**
 * Messages of Inspect AI, as its logs hold them: Chat Completions roles, but calls as {id, function, arguments} with the
 * tool's name in `function` and its arguments as an object. A result has failed where it has an `error`, whose message
 * is what models are told. Tools that the provider runs are in one part with their result, which is opaque.
 */
export const inspect: Format = {
	name: "inspect",
	title: "Inspect AI",
	looksFor: 'Inspect AI messages (calls in `tool_calls` as {id, function, arguments}, results in `role: "tool"`)',
	probe: ({ messages }) =>
		probeMessages(messages, "a call whose `function` is the tool's name, or a message whose `source` is known", probe),
	read: (located) => readTranscript("inspect", located, ["tools"], readMessage),
	write: { message: (given) => ({ ...keptFields(given.instead, ["id"]), ...plainMessage(given) }), appends: true },
};

function probe(message: JsonObject, role: string) {
	if (!Object.hasOwn(rolesWithTool, role)) return false;
	if (Object.hasOwn(message, "parts")) return "`content`, not `parts`";
	const { content, tool_calls: calls, source } = message;
	if (isJsonObject(content)) return "`content` as a string or a list of parts";
	const parts =
		Array.isArray(content) && probeParts(content, { own: ["tool_use"], foreign: ["image_url", "input_audio"] });
	if (typeof parts === "string") return parts;
	if (calls !== undefined && calls !== null) {
		if (!Array.isArray(calls)) return "`tool_calls` as a list";
		const isCall = (call: unknown) => isJsonObject(call) && stringAt(call, "function") !== undefined;
		if (!calls.every(isCall)) return "`tool_calls` whose items hold `function` as a string";
		if (calls.length > 0) return true;
	}
	return (role === "tool" && typeof message.function === "string") || source === "input" || source === "generate";
}

function readMessage(message: JsonObject, path: Path): Message {
	const draft = startMessage(roleOf(message, rolesWithTool), path);
	for (const call of objectsOf(message.tool_calls)) {
		addCall(draft, idAt(call, "id"), stringAt(call, "function"), call.arguments);
	}
	const at = [...path, "content"];
	if (draft.role === "tool") {
		count(draft, stringAt(objectOf(message.error), "message"));
		const content = readOpenContent(message.content, at, readMediaPart);
		addResult(draft, {
			callId: idAt(message, "tool_call_id"),
			...content,
			isError: isJsonObject(message.error) || undefined,
		});
	} else readParts(message.content, at, draft, (part, partPath) => readPart(part, partPath, draft));
	// Older logs keep the reasoning here.
	count(draft, stringAt(message, "reasoning"));
	return draft;
}

function readPart(part: JsonObject, path: Path, draft: MessageDraft): void {
	if (part.type === "text") count(draft, part.text);
	else if (part.type === "reasoning") {
		// The id of OpenAI's reasoning item, which checks no prefix.
		const isItem = stringAt(part, "signature")?.startsWith("rs_") ?? false;
		const bound = !isItem && (typeof part.signature === "string" || part.redacted === true);
		addThinking(draft, path, part.reasoning, bound, isItem);
	} else if (part.type === "tool_use") count(draft, part.name, part.arguments, part.result);
	else countPart(draft, part, readMediaPart(part, path));
}

/** A part whose data are under the name of its type. */
function readMediaPart(part: JsonObject, path: Path): MediaNode | undefined {
	const kind = (["image", "audio", "video", "document"] as const).find((type) => type === part.type);
	if (kind === undefined || typeof part[kind] !== "string") return undefined;
	const format = stringAt(part, "format");
	const mediaType = stringAt(part, "mime_type") || (format && `${kind}/${format}`);
	return readMedia({ path, provider: "any", mediaType, kind, data: part[kind], detail: stringAt(part, "detail") });
}

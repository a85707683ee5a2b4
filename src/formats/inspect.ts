import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path, Role } from "../conversation/transcript.ts";
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
	readSurroundings,
	startMessage,
} from "./format.ts";
import { asCountedText, idAt, stringAt } from "./json-values.ts";
import { readMedia } from "./media.ts";
import { readTypedParts } from "./parts.ts";

const roles: Readonly<Record<string, Role>> = { system: "system", user: "user", assistant: "assistant", tool: "tool" };

/** Part types of formats that are like this one elsewhere. */
const foreignParts = new Set(["tool-call", "tool-result", "tool_result", "toolCall", "image_url", "input_audio"]);

/** Part types that hold their data under the type's own name. */
const mediaKinds: Readonly<Record<string, MediaNode["kind"]>> = {
	image: "image",
	audio: "audio",
	video: "video",
	document: "document",
};

/**
 * Messages of Inspect AI, as its logs hold them: Chat Completions roles, but calls as {id, function, arguments} with the
 * tool's name in `function` and its arguments as an object. A result has failed where it has an `error`, whose message
 * is what models are told. Tools that the provider runs stand in one part with their result, which is opaque.
 */
export const inspect: Format = {
	name: "inspect",
	title: "Inspect AI",
	looksFor: 'Inspect AI messages (calls in `tool_calls` as {id, function, arguments}, results in `role: "tool"`)',
	probe: ({ messages }) =>
		probeMessages(messages, "a call whose `function` is the tool's name, or a message whose `source` is known", probe),
	read(located) {
		return {
			format: "inspect",
			messages: readEach(located, readMessage),
			surroundings: readSurroundings(located, ["tools"]),
			opensWithUser: false,
		};
	},
	write: { message: (given) => ({ ...keptFields(given.instead, ["id"]), ...plainMessage(given) }), appends: true },
};

function probe(message: JsonObject, role: string): boolean | string {
	if (!Object.hasOwn(roles, role)) return false;
	if (Object.hasOwn(message, "parts")) return "`content`, not `parts`";
	const { content, tool_calls: calls } = message;
	if (Array.isArray(content)) {
		for (const part of content as unknown[]) {
			if (!isJsonObject(part) || typeof part.type !== "string") return "content parts with a `type`";
			if (foreignParts.has(part.type)) return `content parts of its own kinds, not \`${part.type}\``;
		}
	} else if (isJsonObject(content)) return "`content` as a string or a list of parts";
	if (calls !== undefined && calls !== null) {
		if (!Array.isArray(calls)) return "`tool_calls` as a list";
		if (!calls.every(isCall)) return "`tool_calls` whose items hold `function` as a string";
		if (calls.length > 0) return true;
	}
	if (role === "tool" && typeof message.function === "string") return true;
	return message.source === "input" || message.source === "generate";
}

function isCall(call: unknown): boolean {
	return isJsonObject(call) && stringAt(call, "function") !== undefined;
}

function readMessage(message: JsonObject, path: Path): Message {
	const name = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(roles, name) && roles[name]) || "other";
	const draft = startMessage();
	addCalls(draft, message.tool_calls, "function");
	const contentPath = [...path, "content"];
	if (role === "tool") {
		const error = isJsonObject(message.error) ? message.error : undefined;
		if (error) draft.counted.push(stringAt(error, "message") ?? "");
		addResult(draft, {
			callId: idAt(message, "tool_call_id"),
			...readTypedParts(message.content, contentPath, readMediaPart),
			copies: [],
			isError: error ? true : undefined,
		});
	} else if (Array.isArray(message.content)) {
		message.content.forEach((part: unknown, index) => {
			readPart(part, [...contentPath, index], draft);
		});
	} else draft.counted.push(asCountedText(message.content ?? undefined));
	// Where older logs keep the reasoning.
	draft.counted.push(stringAt(message, "reasoning") ?? "");
	return finishMessage(role, [path], draft);
}

function readPart(part: unknown, path: Path, draft: MessageDraft): void {
	if (!isJsonObject(part)) {
		draft.counted.push(asCountedText(part));
		return;
	}
	const media = readMediaPart(part, path);
	if (media) draft.mediaTokens += media.tokens;
	else if (part.type === "text") draft.counted.push(asCountedText(part.text));
	else if (part.type === "reasoning") {
		const text = asCountedText(part.reasoning);
		draft.counted.push(text);
		// The id of OpenAI's reasoning item: no prefix is checked, but the item has to stay beside its call.
		const isItem = stringAt(part, "signature")?.startsWith("rs_") ?? false;
		const bound = !isItem && (typeof part.signature === "string" || part.redacted === true);
		draft.thinking.push({ path, text, bound, ...(isItem ? { fixed: true } : {}) });
	} else if (part.type === "tool_use") {
		draft.counted.push(...[part.name, part.arguments, part.result].map(asCountedText));
	} else draft.counted.push(asCountedText(part));
}

function readMediaPart(part: JsonObject, path: Path): MediaNode | undefined {
	const type = stringAt(part, "type") ?? "";
	const kind = Object.hasOwn(mediaKinds, type) ? mediaKinds[type] : undefined;
	if (kind === undefined || typeof part[type] !== "string") return undefined;
	const format = stringAt(part, "format");
	const mediaType = stringAt(part, "mime_type") || (format && `${kind}/${format}`);
	return readMedia({ path, provider: "any", mediaType, kind, data: part[type], detail: stringAt(part, "detail") });
}

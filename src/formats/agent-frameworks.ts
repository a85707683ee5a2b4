import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Message } from "../engine/conversation/transcript.ts";
import {
	type Exchange,
	type Format,
	keptFields,
	pairByPosition,
	probeMessages,
	readTranscript,
	roleOf,
	rolesWithTool,
} from "./format.ts";
import { hasMember, idAt, listOf, memberAt, objectOf, objectsOf, stringAt } from "./json-text/value.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { readChatMedia } from "./openai-chat.ts";
import {
	MessageDraft,
	readJsonContent,
	readJsonTexts,
	readOpenContent,
	readPartList,
	type ToolContent,
} from "./parts.ts";
import { outputCopies } from "./session-files.ts";

/** LlamaIndex: calls and results are in `options` (TypeScript), or in `blocks` and `additional_kwargs` (Python). */
export const llamaIndex: Format = {
	name: "llamaindex",
	title: "LlamaIndex messages",
	looksFor: "LlamaIndex messages (`options` with `toolCall` or `toolResult`; or `blocks` with a `block_type` each)",
	probe: ({ messages }) =>
		probeMessages(messages, "`options` with `toolCall` or `toolResult`, or `blocks`", (message) => {
			if (!Array.isArray(message.blocks)) {
				if (!hasMember(message, "content")) return "`content` or `blocks`";
				return hasMember(objectOf(message.options), "toolCall", "toolResult");
			}
			const isBlock = (block: unknown) => isJsonObject(block) && stringAt(block, "block_type") !== undefined;
			return message.blocks.every(isBlock) || "`blocks` with a `block_type` each";
		}),
	read: (located) => readTranscript("llamaindex", located, [], readLlamaIndex),
	write: {
		message: ({ role, text, instead }) =>
			hasMember(objectOf(instead), "blocks")
				? { role, additional_kwargs: {}, blocks: [{ block_type: "text", text }] }
				: { role, content: text },
		appends: false,
	},
};

function readLlamaIndex(message: JsonObject, path: Path): Message {
	const { blocks, content } = message;
	const { toolCall, toolResult } = objectOf(message.options);
	const { tool_calls: given, tool_call_id: answered } = objectOf(message.additional_kwargs);
	if (isJsonObject(toolResult)) {
		const read = readOpenContent(toolResult.result, [...path, "options", "toolResult", "result"], readChatMedia);
		const copies = outputCopies({ record: message, path, places: [["content"]], texts: read.texts });
		const isError = toolResult.isError === true || undefined;
		return new MessageDraft("tool", path).addResult({ callId: idAt(toolResult, "id"), ...read, ...copies, isError });
	}
	const draft = new MessageDraft(roleOf(message, rolesWithTool), path);
	if (draft.role === "tool") {
		const read = Array.isArray(blocks)
			? readPartList(blocks, [...path, "blocks"], {
					textKey: (block) => (block.block_type === "text" && typeof block.text === "string" ? "text" : undefined),
					readOther: (block, at) => readOpenContent([block], at, readBlockMedia),
				})
			: readOpenContent(content, [...path, "content"], readChatMedia);
		return draft.addResult({ callId: typeof answered === "string" ? answered : undefined, ...read });
	}
	for (const call of objectsOf(toolCall)) draft.addCall(idAt(call, "id"), stringAt(call, "name"), call.input);
	draft.readParts(blocks ?? content, [...path, blocks ? "blocks" : "content"], readBlock);
	// Newer versions have the calls as blocks, and those of the API beside them.
	for (const call of draft.calls.length > 0 ? [] : objectsOf(given)) {
		const body = objectOf(call.function);
		draft.addCall(idAt(call, "id"), stringAt(body, "name"), body.arguments);
	}
	return draft;
}

function readBlock(block: JsonObject, path: Path, draft: MessageDraft): void {
	const kind = block.block_type ?? block.type;
	if (kind === "text") draft.count(block.text);
	else if (kind === "tool_call") {
		draft.addCall(idAt(block, "tool_call_id"), stringAt(block, "tool_name"), block.tool_kwargs);
	} else if (kind === "thinking") {
		const signature = stringAt(objectOf(block.additional_information), "signature");
		draft.addThinking(path, block.content, signature !== undefined);
	} else draft.countPart(block, readBlockMedia(block, path));
}

function readBlockMedia(block: JsonObject, path: Path): MediaNode | undefined {
	const kind = (["image", "audio", "video", "document"] as const).find((one) => one === block.block_type);
	if (kind === undefined) return readChatMedia(block, path);
	const data = block[kind === "document" ? "data" : kind] ?? block.url;
	const mediaType = stringAt(block, `${kind}_mimetype`);
	const write = (text: string) => ({ block_type: "text", text });
	return readMedia({ path, provider: "any", data, mediaType, kind, write });
}

/** Microsoft's Agent Framework: `$type` and camelCase in .NET (also Microsoft.Extensions.AI), `type` in Python. */
export const agentFramework: Format = {
	name: "agent-framework",
	title: "Microsoft Agent Framework messages",
	looksFor: "Microsoft Agent Framework messages (`role`, and `contents` with a `$type` or `type` each)",
	probe: ({ messages }) =>
		probeMessages(messages, "`contents` with a `$type` or `type` each", ({ contents }) => {
			const isContent = (one: unknown) => isJsonObject(one) && typeof (one.$type ?? one.type) === "string";
			return (Array.isArray(contents) && contents.every(isContent)) || "`contents` with a `$type` or `type` each";
		}),
	read: (located) => readTranscript("agent-framework", located, ["instructions", "tools"], readFramework),
	write: {
		message({ role, text, instead }: WrittenMessage) {
			const [first] = objectsOf(objectOf(instead).contents);
			const key = first && !hasMember(first, "$type") ? "type" : "$type";
			return { ...keptFields(instead, ["type"]), role, contents: [{ [key]: "text", text }] };
		},
		appends: false,
	},
};

function readFramework(message: JsonObject, path: Path): Message {
	const draft = new MessageDraft(roleOf(message, rolesWithTool), path);
	return draft.readParts(message.contents, [...path, "contents"], (content, at) => {
		const kind = String(content.$type ?? content.type);
		const callId = idAt(content, "callId") ?? idAt(content, "call_id");
		if (kind === "text") draft.count(content.text);
		else if (kind === "functionCall" || kind === "function_call") {
			draft.addCall(callId, stringAt(content, "name"), content.arguments);
		} else if (kind === "functionResult" || kind === "function_result") {
			// Python has the parts of a rich result beside its text.
			const key = listOf(content.items).length > 0 ? "items" : "result";
			const read = readReturned(content[key], [...at, key]);
			const places = key === "items" ? [["result"]] : [];
			const copies = outputCopies({ record: content, path: at, places, texts: read.texts });
			draft.addResult({ callId, ...read, ...copies, isError: content.exception != null || undefined });
		} else if (kind === "reasoning" || kind === "text_reasoning") {
			const bound = typeof memberAt(content, "protectedData", "protected_data") === "string";
			draft.addThinking(at, content.text ?? "", bound);
		} else if (kind !== "usage") draft.countPart(content, readFrameworkMedia(content, at));
	});
}

/** What a function returned: any JSON, or contents as in a message. */
function readReturned(value: unknown, path: Path): ToolContent {
	const isContents = Array.isArray(value) && objectsOf(value).some((one) => hasMember(one, "$type"));
	if (!isContents) return readJsonContent(value, path, readFrameworkMedia);
	return readPartList(value, path, {
		textKey: ({ $type, text }) => ($type === "text" && typeof text === "string" ? "text" : undefined),
		readOther: (part, at) => readJsonTexts(part, at, readFrameworkMedia),
	});
}

function readFrameworkMedia(content: JsonObject, path: Path): MediaNode | undefined {
	const kind = content.$type ?? content.type;
	if (kind !== "data" && kind !== "uri") return readInlineMedia(content, path);
	const mediaType = memberAt(content, "mediaType", "media_type");
	const write = (text: string) => ({ [hasMember(content, "$type") ? "$type" : "type"]: "text", text });
	return readMedia({
		path,
		provider: "any",
		data: content.uri,
		mediaType: typeof mediaType === "string" ? mediaType : undefined,
		write,
	});
}

/** Firebase Genkit. A `ref` pairs a call and its result; without one their places do. */
export const genkit: Format = {
	name: "genkit",
	title: "Genkit messages",
	looksFor: "Genkit messages (`content` with parts such as `toolRequest` and `toolResponse`, without a `type`)",
	probe: ({ messages }) =>
		probeMessages(messages, "a part `toolRequest` or `toolResponse` in `content`", ({ content }) => {
			const isOwn = (part: unknown) => isJsonObject(part) && part.type === undefined;
			if (!Array.isArray(content) || !content.every(isOwn)) return "`content` as a list of parts without a `type`";
			return content.some((part) => exchangeOf(part) !== undefined);
		}),
	read(located) {
		const ids = pairByPosition(located.messages.map((message) => listOf(objectOf(message).content).map(exchangeOf)));
		return readTranscript("genkit", located, ["system", "tools"], (message, path, index) => {
			const role = message.role === "model" ? "assistant" : roleOf(message, rolesWithTool);
			return new MessageDraft(role, path).readParts(message.content, [...path, "content"], (part, at, draft, place) =>
				readGenkitPart(part, at, draft, ids[index]?.[place]),
			);
		});
	},
	write: {
		message: ({ role, text }) => ({ role: role === "assistant" ? "model" : role, content: [{ text }] }),
		part: { lists: [["content"]], key: "text", write: (text) => ({ text }) },
		appends: true,
	},
};

function exchangeOf(part: unknown): Exchange | undefined {
	const { toolRequest, toolResponse } = objectOf(part);
	const held = [toolRequest, toolResponse].find(isJsonObject);
	if (!held || objectOf(part).type !== undefined) return undefined;
	const kind = held === toolRequest ? "call" : "result";
	return { kind, name: stringAt(held, "name"), ownId: idAt(held, "ref") };
}

function readGenkitPart(part: JsonObject, path: Path, draft: MessageDraft, id: string | undefined): void {
	const { toolRequest: request, toolResponse: response, media } = part;
	if (typeof part.text === "string") draft.count(part.text);
	else if (isJsonObject(request)) draft.addCall(id, stringAt(request, "name"), request.input);
	else if (isJsonObject(response)) {
		draft.addResult({
			callId: id,
			...readJsonContent(response.output, [...path, "toolResponse", "output"], readInlineMedia),
		});
		draft.countParts(response.content, [...path, "toolResponse", "content"], readGenkitMedia);
	} else if (typeof part.reasoning === "string") {
		const bound = hasMember(objectOf(part.metadata), "thoughtSignature", "reasoningSignature", "signature");
		draft.addThinking(path, part.reasoning, bound);
	} else draft.countPart(part, isJsonObject(media) ? readGenkitMedia(part, path) : undefined);
}

function readGenkitMedia({ media }: JsonObject, path: Path): MediaNode | undefined {
	if (!isJsonObject(media)) return undefined;
	const write = (text: string) => ({ text });
	return readMedia({ path, provider: "any", data: media.url, mediaType: stringAt(media, "contentType"), write });
}

import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path } from "../conversation/transcript.ts";
import { finishResponse, type LastResponse, textsOf } from "./answer.ts";
import { readToolUses } from "./anthropic.ts";
import { type Format, plainRoles, probeMessages, readTranscript, roleOf } from "./format.ts";
import { booleanAt, hasMember, idAt, objectsOf, stringAt } from "./json-values.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { MessageDraft, readOpenContent } from "./parts.ts";

/** As in specification 2025-11-25. */
const answerBlockTypes: readonly unknown[] = ["text", "image", "audio", "tool_use", "tool_result"];

const blockTypes: readonly unknown[] = [...answerBlockTypes, "resource", "resource_link"];

/** MCP sampling. A result with `structuredContent` is not replaced as a whole: some hosts send only that copy of it. */
export const mcpSampling: Format = {
	name: "mcp-sampling",
	title: "MCP sampling",
	looksFor: "MCP sampling messages (`content` a block or a list of blocks, results with `toolUseId`)",
	probe: ({ messages }) =>
		probeMessages(
			messages,
			"a `tool_result` with `toolUseId`, `content` as one block, or media with `mimeType`",
			probe,
		),
	read: (located) => readTranscript("mcp-sampling", located, ["systemPrompt", "tools"], readMessage),
	write: { message: ({ role, text }) => ({ role, content: { type: "text", text } }), appends: true },
	answer: { shape: "{stopReason, role, content} of MCP sampling", read: readAnswer },
};

function probe({ content }: JsonObject, role: string) {
	if (!Object.hasOwn(plainRoles, role)) return false;
	if (!Array.isArray(content) && !isJsonObject(content)) return "`content` as a block or a list of blocks";
	let certain = !Array.isArray(content);
	for (const block of Array.isArray(content) ? (content as unknown[]) : [content]) {
		if (!isJsonObject(block) || typeof block.type !== "string") return "content blocks with a `type`";
		const { type } = block;
		if (!blockTypes.includes(type)) return `content blocks of its own kinds, not \`${type}\``;
		const isResult = type === "tool_result";
		if (isResult && stringAt(block, "toolUseId") === undefined) return "`toolUseId` in each `tool_result`";
		const isMedia = type === "image" || type === "audio";
		if (isMedia && !readMediaBlock(block, [])) return `\`data\` and \`mimeType\` in each \`${type}\``;
		certain ||= isResult || isMedia;
	}
	return certain;
}

function readMessage(message: JsonObject, path: Path): Message {
	const draft = new MessageDraft(roleOf(message, plainRoles), path);
	const { content } = message;
	const at = [...path, "content"];
	if (!isJsonObject(content)) return draft.readParts(content, at, readBlock);
	readBlock(content, at, draft);
	return draft;
}

function readBlock(block: JsonObject, path: Path, draft: MessageDraft): void {
	if (block.type === "text") draft.count(block.text);
	else if (block.type === "tool_use") draft.addCall(idAt(block, "id"), stringAt(block, "name"), block.input);
	else if (block.type === "tool_result") readResult(block, path, draft);
	else draft.countPart(block, readMediaBlock(block, path));
}

function readResult(block: JsonObject, path: Path, draft: MessageDraft): void {
	const content = readOpenContent(block.content, [...path, "content"], readMediaBlock);
	const structured = readOpenContent(block.structuredContent, [...path, "structuredContent"], readInlineMedia);
	const hasStructured = block.structuredContent != null;
	draft.addResult({
		callId: idAt(block, "toolUseId"),
		texts: [...content.texts, ...structured.texts],
		whole: hasStructured ? undefined : content.whole,
		media: [...content.media, ...structured.media],
		counted: [...content.counted, ...structured.counted],
		isError: booleanAt(block, "isError"),
	});
}

function readMediaBlock(block: JsonObject, path: Path): MediaNode | undefined {
	const { type, resource } = block;
	if (type === "resource") {
		const data = isJsonObject(resource) ? stringAt(resource, "blob") : undefined;
		if (!isJsonObject(resource) || data === undefined) return undefined;
		return readMedia({ path, provider: "any", mediaType: stringAt(resource, "mimeType"), data });
	}
	if (type !== "image" && type !== "audio") return undefined;
	const [mediaType, data] = [stringAt(block, "mimeType"), stringAt(block, "data")];
	if (mediaType === undefined || data === undefined) return undefined;
	return readMedia({ path, provider: "any", mediaType, kind: type, data });
}

/** An answer may have no `stopReason`; then it must have a `model` and a `role`. */
function readAnswer(response: JsonObject): LastResponse | undefined {
	const { content, stopReason: reason } = response;
	const isResult = typeof response.model === "string" && typeof response.role === "string";
	if (!isResult && !hasMember(response, "stopReason")) return undefined;
	const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
	if (!blocks.every((block) => isJsonObject(block) && answerBlockTypes.includes(block.type))) return undefined;
	return finishResponse({ reason, texts: textsOf(blocks), calls: readToolUses(objectsOf(blocks)) });
}

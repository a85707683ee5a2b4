import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path, Role } from "../conversation/transcript.ts";
import { finishResponse, hasMember, type LastResponse, objectsOf, textsOf } from "./answer.ts";
import { readToolUses } from "./anthropic.ts";
import {
	addResult,
	type Format,
	finishMessage,
	type MessageDraft,
	probeMessages,
	readEach,
	readSurroundings,
	startMessage,
} from "./format.ts";
import { asCountedText, idAt, stringAt } from "./json-values.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { readTypedParts } from "./parts.ts";

const roles: Readonly<Record<string, Role>> = { system: "system", user: "user", assistant: "assistant" };

const blockTypes = new Set(["text", "image", "audio", "tool_use", "tool_result", "resource", "resource_link"]);

/**
 * Messages of MCP sampling with tools (`sampling/createMessage`, specification 2025-11-25): `content` is one block or a
 * list of blocks, never a string, and a result names its call by `toolUseId`. A result with `structuredContent` is not
 * replaced as a whole, since the same output stands there again and some hosts send only that; its long strings may be
 * cut.
 */
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
	read(located) {
		return {
			format: "mcp-sampling",
			messages: readEach(located, readMessage),
			surroundings: readSurroundings(located, ["systemPrompt", "tools"]),
			opensWithUser: false,
		};
	},
	write: { message: ({ role, text }) => ({ role, content: { type: "text", text } }), appends: true },
	answer: { shape: "{stopReason, role, content} of MCP sampling", read: readAnswer },
};

function probe(message: JsonObject, role: string): boolean | string {
	if (!Object.hasOwn(roles, role)) return false;
	const { content } = message;
	if (!Array.isArray(content) && !isJsonObject(content)) return "`content` as a block or a list of blocks";
	let certain = !Array.isArray(content);
	for (const block of Array.isArray(content) ? (content as unknown[]) : [content]) {
		if (!isJsonObject(block) || typeof block.type !== "string") return "content blocks with a `type`";
		if (!blockTypes.has(block.type)) return `content blocks of its own kinds, not \`${block.type}\``;
		if (block.type === "tool_result") {
			if (stringAt(block, "toolUseId") === undefined) return "`toolUseId` in each `tool_result`";
			certain = true;
		}
		if (block.type === "image" || block.type === "audio") {
			if (!readMediaBlock(block, [])) return `\`data\` and \`mimeType\` in each \`${block.type}\``;
			certain = true;
		}
	}
	return certain;
}

function readMessage(message: JsonObject, path: Path): Message {
	const name = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(roles, name) && roles[name]) || "other";
	const draft = startMessage();
	const contentPath = [...path, "content"];
	if (Array.isArray(message.content)) {
		message.content.forEach((block: unknown, index) => {
			readBlock(block, [...contentPath, index], draft);
		});
	} else readBlock(message.content, contentPath, draft);
	return finishMessage(role, [path], draft);
}

function readBlock(block: unknown, path: Path, draft: MessageDraft): void {
	if (!isJsonObject(block)) {
		draft.counted.push(asCountedText(block ?? undefined));
		return;
	}
	const media = readMediaBlock(block, path);
	if (media) draft.mediaTokens += media.tokens;
	else if (block.type === "text") draft.counted.push(asCountedText(block.text));
	else if (block.type === "tool_use") {
		draft.calls.push({ id: idAt(block, "id"), name: stringAt(block, "name") });
		draft.counted.push(stringAt(block, "name") ?? "", asCountedText(block.input));
	} else if (block.type === "tool_result") readResult(block, path, draft);
	else draft.counted.push(asCountedText(block));
}

function readResult(block: JsonObject, path: Path, draft: MessageDraft): void {
	const content = readTypedParts(block.content, [...path, "content"], readMediaBlock);
	const structured = readTypedParts(block.structuredContent, [...path, "structuredContent"], readInlineMedia);
	const hasStructured = block.structuredContent !== undefined && block.structuredContent !== null;
	addResult(draft, {
		callId: idAt(block, "toolUseId"),
		texts: [...content.texts, ...structured.texts],
		whole: hasStructured ? undefined : content.whole,
		media: [...content.media, ...structured.media],
		counted: [...content.counted, ...structured.counted],
		copies: [],
		isError: typeof block.isError === "boolean" ? block.isError : undefined,
	});
}

/** An image or a recording, or a resource whose contents are embedded in base64. */
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

/** The blocks of a sampled message (specification 2025-11-25). */
const answerBlockTypes: ReadonlySet<unknown> = new Set(["text", "image", "audio", "tool_use", "tool_result"]);

/** The result of MCP sampling, whose `stopReason` may be left out. Whose model the host asks is not known. */
function readAnswer(response: JsonObject): LastResponse | undefined {
	const { content, stopReason: reason } = response;
	const isResult = typeof response.model === "string" && typeof response.role === "string";
	if (!isResult && !hasMember(response, "stopReason")) return undefined;
	const blocks = Array.isArray(content) ? content : [content];
	if (!blocks.every((block) => isJsonObject(block) && answerBlockTypes.has(block.type))) return undefined;
	return finishResponse({ reason, texts: textsOf(blocks), calls: readToolUses(objectsOf(blocks)) });
}

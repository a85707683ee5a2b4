import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import {
	childPath,
	type MediaNode,
	type Message,
	type Path,
	type Role,
	type TextNode,
	type ThinkingBlock,
	type ToolCall,
	type ToolResult,
} from "../conversation/transcript.ts";
import { finishResponse, type GivenCall, hasMember, type LastResponse, objectsOf, textsOf } from "./answer.ts";
import {
	type Fit,
	type Format,
	fittedList,
	type LocatedMessages,
	type MessagePlace,
	plainMessage,
	readEach,
	readSurroundings,
} from "./format.ts";
import { asCountedText, idAt, stringAt } from "./json-values.ts";
import { readInlineMedia, readMedia, tokensOfMedia } from "./media.ts";
import { readJsonTexts, readResultContent, readToolContent } from "./parts.ts";

const looksFor =
	"Anthropic Messages (`role` user or assistant, `content` a string or blocks such as `tool_use` and `tool_result`)";

/** Block types that only this format has. */
const ownBlocks = new Set([
	"tool_use",
	"tool_result",
	"thinking",
	"redacted_thinking",
	"server_tool_use",
	"mcp_tool_use",
	"mcp_tool_result",
	"search_result",
	"container_upload",
	"compaction",
]);

const foreignBlocks = new Set([
	"image_url",
	"input_audio",
	"refusal",
	"input_text",
	"output_text",
	"tool-call",
	"tool-result",
	"toolCall",
]);

/** The roles of the API; of any other a message is kept and counted. */
export const anthropicRoles: Readonly<Record<string, Role>> = {
	user: "user",
	assistant: "assistant",
	system: "system",
};

/** Anthropic Messages. Thinking blocks are opaque: counted, never edited. */
export const anthropicMessages: Format = {
	name: "anthropic-messages",
	title: "Anthropic Messages",
	looksFor,
	probe,
	read(located) {
		const messages = markCompacted(readEach(located, readCompacted), located);
		return {
			format: "anthropic-messages",
			messages,
			surroundings: readSurroundings(located, ["system", "tools"]),
			// What was compacted still opens the conversation.
			opensWithUser: messages[0]?.sent !== false,
		};
	},
	write: { message: plainMessage, appends: true },
	answer: { shape: "{stop_reason, content} of Anthropic Messages", read: readAnswer },
};

function probe({ document, messages }: LocatedMessages): Fit {
	let certain = false;
	// An assistant message that is a list of blocks is what this API answers with; Chat Completions answers a string.
	let likely = isJsonObject(document) && document.system !== undefined;
	for (const [message, value] of messages.entries()) {
		const outcome = probeMessage(value);
		if (typeof outcome === "string") return { fit: "none", message, expected: outcome };
		certain ||= outcome;
		likely ||= isJsonObject(value) && value.role === "assistant" && Array.isArray(value.content);
	}
	return { fit: certain ? "certain" : likely ? "likely" : "possible" };
}

/** Whether the message can only be of this format; a text says what it should have been instead. */
function probeMessage(message: unknown): boolean | string {
	if (!isJsonObject(message)) return "an object with `role`";
	const role = stringAt(message, "role");
	if (role === undefined) return "an object with a string `role`";
	if (role === "tool" || role === "function" || role === "developer") return `no \`role: "${role}"\``;
	if (Array.isArray(message.tool_calls) && message.tool_calls.length > 0) return "calls as `tool_use` blocks";
	if (!Object.hasOwn(anthropicRoles, role)) return false;
	if (typeof message.content === "string" || message.content === null) return false;
	if (!Array.isArray(message.content)) return "`content` as a string or a list of blocks";
	let certain = false;
	for (const block of message.content as unknown[]) {
		if (!isJsonObject(block) || typeof block.type !== "string") return "content blocks with a `type`";
		if (foreignBlocks.has(block.type)) return `content blocks of its own kinds, not \`${block.type}\``;
		const isImage = block.type === "image" && isJsonObject(block.source);
		certain ||= ownBlocks.has(block.type) || isImage;
	}
	return certain;
}

/**
 * Anthropic Messages. The API and its SDK make an object of the part of a call's input that came, down to `{}`, so that
 * a call that ends a cut answer is taken to be cut.
 */
function readAnswer(response: JsonObject): LastResponse | undefined {
	const { content } = response;
	if (typeof content !== "string" && !Array.isArray(content)) return undefined;
	// vLLM puts a `stop_reason` of its own beside the `finish_reason`; an item of OpenAI Responses has a `status`.
	if (hasMember(response, "finish_reason", "status")) return undefined;
	const isMessage = response.type === "message" && response.role === "assistant";
	if (!isMessage && !hasMember(response, "stop_reason")) return undefined;
	if (Array.isArray(content) && !content.every(hasType)) return undefined;
	return finishResponse({
		reason: response.stop_reason,
		texts: textsOf(content),
		calls: readToolUses(objectsOf(content)),
	});
}

function hasType(block: unknown): boolean {
	return typeof (block as JsonObject | null)?.type === "string";
}

/** Reads the `tool_use` blocks of a content, which MCP writes alike. */
export function readToolUses(blocks: readonly JsonObject[]): GivenCall[] {
	return blocks.flatMap((block, index): GivenCall[] => {
		if (block.type !== "tool_use") return [];
		const input = { kind: "parsed_partly", value: block.input } as const;
		return [{ id: idAt(block, "id"), name: idAt(block, "name"), input, endsAnswer: index === blocks.length - 1 }];
	});
}

/**
 * Reads a message of the API, of which a `compaction` block is a message of its own: the API ignores all that stands
 * before the last such block, so that it has to stay as a system message does.
 */
export function readCompacted(message: JsonObject, path: Path, place?: MessagePlace): Message | Message[] {
	const at = compactionIn(message);
	if (at === -1) return readAnthropicMessage(message, path, place);
	const blocks = message.content as readonly JsonObject[];
	const places = blocks.map((_, index) => childPath(childPath(path, "content"), index));
	const counted = [asCountedText(blocks[at]?.content)];
	const isAll = at === blocks.length - 1;
	const paths = isAll ? [path] : places.slice(0, at + 1);
	const summary: Message = { role: "system", paths, counted, mediaTokens: 0, calls: [], results: [], thinking: [] };
	if (isAll) return summary;
	const rest = readAnthropicMessage(
		{ ...message, content: blocks.map((block, index) => (index > at ? block : "")) },
		path,
	);
	return [summary, { ...rest, paths: places.slice(at + 1) }];
}

/** Marks what stands before the last `compaction` block: it is sent, and ignored. */
export function markCompacted(
	messages: readonly Message[],
	{ messages: values, base }: LocatedMessages,
): readonly Message[] {
	const last = values.findLastIndex((value) => isJsonObject(value) && compactionIn(value) !== -1);
	if (last === -1) return messages;
	return messages.map((message) =>
		Number(message.paths[0]?.[base.length]) < last ? { ...message, sent: false } : message,
	);
}

/** Where the last compaction that came about stands among a message's blocks; -1 where none does. */
function compactionIn({ content }: JsonObject): number {
	if (!Array.isArray(content)) return -1;
	return (content as unknown[]).findLastIndex(
		(block) => isJsonObject(block) && block.type === "compaction" && stringAt(block, "content") !== undefined,
	);
}

/** Reads one message; sessions of agents that speak this API hold it inside their records. */
export function readAnthropicMessage(message: JsonObject, path: Path, place?: MessagePlace): Message {
	const roleName = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(anthropicRoles, roleName) && anthropicRoles[roleName]) || "other";
	const paths = place?.paths ?? [path];
	const calls: ToolCall[] = [];
	const results: ToolResult[] = [];
	const counted: string[] = [];
	const thinking: ThinkingBlock[] = [];
	let mediaTokens = 0;
	const countOpaque = (block: unknown) => counted.push(asCountedText(block));

	if (!Array.isArray(message.content)) {
		counted.push(asCountedText(message.content ?? undefined));
		return { role, paths, counted: fittedList(counted), mediaTokens, calls, results, thinking };
	}
	const contentPath = place?.content ?? childPath(path, "content");
	(message.content as unknown[]).forEach((block, index) => {
		if (!isJsonObject(block)) {
			countOpaque(block);
			return;
		}
		switch (block.type) {
			case "text":
				counted.push(asCountedText(block.text));
				break;
			case "thinking":
				// The signature is not part of the prompt's text.
				counted.push(asCountedText(block.thinking));
				thinking.push({
					path: childPath(contentPath, index),
					text: asCountedText(block.thinking),
					bound: typeof block.signature === "string",
				});
				break;
			case "redacted_thinking":
				countOpaque(block);
				thinking.push({ path: childPath(contentPath, index), text: asCountedText(block), bound: true });
				break;
			case "tool_use":
				calls.push({ id: idAt(block, "id"), name: stringAt(block, "name") });
				counted.push(stringAt(block, "name") ?? "", asCountedText(block.input));
				break;
			case "tool_result": {
				const at = childPath(childPath(contentPath, index), "content");
				const { texts, whole, media, counted: beside } = readToolContent(block.content, at, readResultMedia);
				counted.push(...beside);
				mediaTokens += tokensOfMedia(media);
				const isError = typeof block.is_error === "boolean" ? block.is_error : undefined;
				results.push({ callId: idAt(block, "tool_use_id"), texts, whole, copies: [], media, isError });
				break;
			}
			default: {
				if (stringAt(block, "type")?.endsWith("_tool_result")) {
					const result = readServerResult(block, childPath(contentPath, index));
					counted.push(...result.counted);
					mediaTokens += result.mediaTokens;
					break;
				}
				const media = readAnthropicMedia(block, childPath(contentPath, index));
				if (!media) countOpaque(block);
				mediaTokens += media?.tokens ?? 0;
				counted.push(...(media?.texts ?? []).map((node) => node.text));
			}
		}
	});
	return {
		role,
		paths,
		counted: fittedList(counted),
		mediaTokens,
		calls: fittedList(calls),
		results: fittedList(results),
		thinking: fittedList(thinking),
	};
}

/** Agents put what their tools return into a result as it is, with images as MCP writes them. */
function readResultMedia(part: JsonObject, path: Path): MediaNode | undefined {
	return readAnthropicMedia(part, path) ?? readInlineMedia(part, path);
}

/**
 * Characters for a token of what a server tool found and encrypted: base64, so three bytes. Estimated from the usage of one
 * recorded answer with ten results of a web search: some 14 400 characters, some 4 000 tokens. As text they are 9 900.
 */
const encryptedCharactersPerToken = 4;

const sealedKeys = ["encrypted_content", "encrypted_stdout"];

/** What the result of a server tool (`web_search_tool_result` and the like) costs. It is opaque: never edited. */
export function readServerResult(block: JsonObject, path: Path): { counted: readonly string[]; mediaTokens: number } {
	const { texts, media, counted } = readJsonTexts(block, path, readPart);
	const held = [...texts, ...media.flatMap((node) => node.texts ?? [])].map(({ text }) => text);
	return { counted: [...counted, ...held], mediaTokens: tokensOfMedia(media) };
}

/** A fetched image or document, or an object that is encrypted but for its address. */
function readPart(part: JsonObject, path: Path): MediaNode | undefined {
	const media = readAnthropicMedia(part, path);
	if (media || !sealedKeys.some((key) => stringAt(part, key) !== undefined)) return media;
	const node = readMedia({ path, provider: "anthropic", data: undefined, kind: "document" });
	return { ...node, tokens: Math.ceil(asCountedText(part).length / encryptedCharactersPerToken) };
}

/** Characters of a document's title and context assumed for a token. */
const charactersPerToken = 4;

/**
 * Reads a block of the Messages API that holds an image or a document. A document given as text or as blocks is counted
 * by its texts; a title and a context are counted as part of the estimate.
 */
export function readAnthropicMedia(block: JsonObject, path: Path): MediaNode | undefined {
	if ((block.type !== "image" && block.type !== "document") || !isJsonObject(block.source)) return undefined;
	const { source, cache_control } = block;
	const node = readMedia({
		path,
		provider: "anthropic",
		data: stringAt(source, "data") ?? stringAt(source, "url"),
		mediaType: stringAt(source, "media_type"),
		kind: block.type,
		// A breakpoint of the prompt cache stays where it was.
		write: (text) => ({ type: "text", text, ...(cache_control === undefined ? {} : { cache_control }) }),
	});
	if (block.type === "image") return node;
	const content = readText(source, [...path, "source"]);
	const beside = (stringAt(block, "title") ?? "").length + (stringAt(block, "context") ?? "").length;
	const tokens = (content ? tokensOfMedia(content.media) : node.tokens) + Math.ceil(beside / charactersPerToken);
	if (!content) return { ...node, tokens };
	const bytes = content.media.length > 0 ? undefined : content.texts.reduce((sum, { text }) => sum + bytesOf(text), 0);
	return { ...node, bytes, tokens, texts: content.texts };
}

/** The text of a document that is given as such, with the media among it. */
function readText(
	source: JsonObject,
	path: Path,
): { texts: readonly TextNode[]; media: readonly MediaNode[] } | undefined {
	if (source.type === "text") {
		const text = stringAt(source, "data") ?? "";
		return { texts: [{ path: [...path, "data"], text }], media: [] };
	}
	return source.type === "content"
		? readResultContent(source.content, [...path, "content"], readAnthropicMedia)
		: undefined;
}

function bytesOf(text: string): number {
	return Buffer.byteLength(text, "utf8");
}

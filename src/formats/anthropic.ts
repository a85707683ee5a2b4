import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { childPath, type MediaNode, type Message, type Path } from "../conversation/transcript.ts";
import { finishResponse, type GivenCall, type LastResponse, textsOf } from "./answer.ts";
import {
	addCall,
	addResult,
	addThinking,
	count,
	countJson,
	countPart,
	type Format,
	type LocatedMessages,
	type MessageDraft,
	plainMessage,
	plainRoles,
	probeMessages,
	probeParts,
	readParts,
	readTranscript,
	roleOf,
	startMessage,
} from "./format.ts";
import { asCountedText, hasMember, idAt, objectsOf, stringAt } from "./json-values.ts";
import { readInlineMedia, readMedia, tokensOfMedia } from "./media.ts";
import { readToolContent, textContent } from "./parts.ts";

const blockTypes = {
	own: [
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
	],
	foreign: ["image_url", "input_audio", "refusal", "input_text", "output_text"],
};

/** Anthropic Messages. Thinking blocks are opaque: counted, never edited. */
export const anthropicMessages: Format = {
	name: "anthropic-messages",
	title: "Anthropic Messages",
	looksFor:
		"Anthropic Messages (`role` user or assistant, `content` a string or blocks such as `tool_use` and `tool_result`)",
	probe({ document, messages }) {
		const hasSystem = isJsonObject(document) && document.system !== undefined;
		// This API answers with a list of blocks; Chat Completions answers with a string.
		const answersInBlocks = () =>
			messages.some((one) => isJsonObject(one) && one.role === "assistant" && Array.isArray(one.content));
		const fit = probeMessages(messages, { fit: "possible" }, probe);
		return fit.fit === "possible" && (hasSystem || answersInBlocks()) ? { fit: "likely" } : fit;
	},
	read(located) {
		const transcript = readTranscript("anthropic-messages", located, ["system", "tools"], readCompacted);
		const messages = markCompacted(transcript.messages, located);
		// What was compacted still opens the conversation.
		return { ...transcript, messages, opensWithUser: messages[0]?.sent !== false };
	},
	write: { message: plainMessage, appends: true },
	answer: { shape: "{stop_reason, content} of Anthropic Messages", read: readAnswer },
};

function probe({ content, tool_calls: calls }: JsonObject, role: string) {
	if (role === "tool" || role === "function" || role === "developer") return `no \`role: "${role}"\``;
	if (Array.isArray(calls) && calls.length > 0) return "calls as `tool_use` blocks";
	if (!Object.hasOwn(plainRoles, role)) return false;
	if (typeof content === "string" || content === null) return false;
	if (!Array.isArray(content)) return "`content` as a string or a list of blocks";
	return probeParts(content, blockTypes, ({ type, source }) => type === "image" && isJsonObject(source));
}

/**
 * Reads a message of the API, of which a `compaction` block is a message of its own: the API ignores everything before
 * the last such block, so the block has to stay as a system message does.
 */
function readCompacted(message: JsonObject, path: Path): Message | Message[] {
	const at = compactionIn(message);
	if (at === -1) return readAnthropicMessage(message, path);
	const blocks = message.content as readonly JsonObject[];
	const places = blocks.map((_, index) => [...path, "content", index]);
	const isAll = at === blocks.length - 1;
	const summary = startMessage("system", path);
	count(summary, blocks[at]?.content);
	if (isAll) return summary;
	const rest = readAnthropicMessage(
		{ ...message, content: blocks.map((block, index) => (index > at ? block : "")) },
		path,
	);
	return [
		{ ...summary, paths: places.slice(0, at + 1) },
		{ ...rest, paths: places.slice(at + 1) },
	];
}

/** Marks the messages before the last `compaction` block: they are sent, and ignored. */
function markCompacted(messages: readonly Message[], { messages: values, base }: LocatedMessages): readonly Message[] {
	const last = values.findLastIndex((value) => isJsonObject(value) && compactionIn(value) !== -1);
	if (last === -1) return messages;
	return messages.map((message) =>
		Number(message.paths[0]?.[base.length]) < last ? { ...message, sent: false } : message,
	);
}

/** The index of the last compaction that was finished among a message's blocks; -1 where there is none. */
function compactionIn({ content }: JsonObject): number {
	if (!Array.isArray(content)) return -1;
	return (content as unknown[]).findLastIndex(
		(block) => isJsonObject(block) && block.type === "compaction" && stringAt(block, "content") !== undefined,
	);
}

/** Reads one message; sessions of agents that speak this API hold it inside their records. */
export function readAnthropicMessage(message: JsonObject, path: Path): MessageDraft {
	const draft = startMessage(roleOf(message, plainRoles), path);
	readParts(message.content, childPath(path, "content"), draft, (block, at) => readBlock(block, at, draft));
	return draft;
}

function readBlock(block: JsonObject, path: Path, draft: MessageDraft): void {
	switch (block.type) {
		case "text":
			count(draft, block.text);
			return;
		case "thinking":
			// The signature is not part of the prompt's text.
			addThinking(draft, path, block.thinking, typeof block.signature === "string");
			return;
		case "redacted_thinking":
			addThinking(draft, path, block, true);
			return;
		case "tool_use":
			addCall(draft, idAt(block, "id"), stringAt(block, "name"), block.input);
			return;
		case "tool_result":
			addResult(draft, {
				callId: idAt(block, "tool_use_id"),
				...readToolContent(block.content, childPath(path, "content"), readResultMedia),
				isError: typeof block.is_error === "boolean" ? block.is_error : undefined,
			});
			return;
	}
	if (stringAt(block, "type")?.endsWith("_tool_result")) countJson(draft, block, path, readServerMedia);
	else countPart(draft, block, readAnthropicMedia(block, path));
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

/** What the result of a server tool holds beside text: a fetched image or document, or an object that is encrypted. */
function readServerMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const media = readAnthropicMedia(part, path);
	const isEncrypted = ["encrypted_content", "encrypted_stdout"].some((key) => stringAt(part, key) !== undefined);
	if (media || !isEncrypted) return media;
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
		// A breakpoint of the prompt cache keeps its place.
		write: (text) => ({ type: "text", text, ...(cache_control === undefined ? {} : { cache_control }) }),
	});
	if (block.type === "image") return node;
	const content =
		source.type === "text"
			? textContent(stringAt(source, "data") ?? "", [...path, "source", "data"])
			: source.type === "content"
				? readToolContent(source.content, [...path, "source", "content"], readAnthropicMedia)
				: undefined;
	const beside = (stringAt(block, "title") ?? "").length + (stringAt(block, "context") ?? "").length;
	const tokens = (content ? tokensOfMedia(content.media) : node.tokens) + Math.ceil(beside / charactersPerToken);
	if (!content) return { ...node, tokens };
	const { texts } = content;
	const bytes = texts.reduce((sum, { text }) => sum + Buffer.byteLength(text, "utf8"), 0);
	return { ...node, bytes: content.media.length > 0 ? undefined : bytes, tokens, texts };
}

/**
 * The API and its SDK make an object of the part of a call's input that came, down to `{}`, so that a call that ends a cut
 * answer is taken to be cut.
 */
function readAnswer(response: JsonObject): LastResponse | undefined {
	const { content } = response;
	if (typeof content !== "string" && !Array.isArray(content)) return undefined;
	// vLLM puts a `stop_reason` of its own beside the `finish_reason`; an item of OpenAI Responses has a `status`.
	if (hasMember(response, "finish_reason", "status")) return undefined;
	const isMessage = response.type === "message" && response.role === "assistant";
	if (!isMessage && !hasMember(response, "stop_reason")) return undefined;
	const hasType = (block: unknown) => typeof (block as JsonObject | null)?.type === "string";
	if (Array.isArray(content) && !content.every(hasType)) return undefined;
	return finishResponse({
		reason: response.stop_reason,
		texts: textsOf(content),
		calls: readToolUses(objectsOf(content)),
	});
}

/** Reads the `tool_use` blocks of an answer, which MCP writes alike. */
export function readToolUses(blocks: readonly JsonObject[]): GivenCall[] {
	return blocks.flatMap((block, index): GivenCall[] => {
		if (block.type !== "tool_use") return [];
		const input = { kind: "parsed_partly", value: block.input } as const;
		return [{ id: idAt(block, "id"), name: idAt(block, "name"), input, endsAnswer: index === blocks.length - 1 }];
	});
}

import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { childPath, type Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Message, Role } from "../engine/conversation/transcript.ts";
import { anthropicUsage, callsAmong, finishResponse, type GivenCall, type LastResponse, textsOf } from "./answer.ts";
import { linkBlock, linkCaller, linkTo } from "./block-links.ts";
import { messageUsage } from "./cline-ui.ts";
import {
	contentPart,
	type Format,
	idOfText,
	keptFields,
	type LocatedMessages,
	plainMessage,
	plainRoles,
	probeEach,
	probeMessages,
	probeParts,
	readEvents,
	readTranscript,
	roleOf,
} from "./format.ts";
import { hiddenTokens } from "./hidden-reasoning.ts";
import { asCountedText, booleanAt, hasMember, idAt, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { MessageDraft, readOpenContent, readToolContent, textContent, tokensOfMedia, unsent } from "./parts.ts";
import { outputCopies } from "./session-files.ts";

const blockTypes = {
	own: [
		...["tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use"],
		...["mcp_tool_result", "search_result", "container_upload", "compaction"],
	],
	foreign: ["image_url", "input_audio", "refusal", "input_text", "output_text"],
};

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
		// Messages before a compaction still open the conversation.
		return { ...transcript, messages, opensWithUser: messages[0]?.sent !== false };
	},
	write: { message: plainMessage, part: contentPart, appends: true },
	answer: { shape: "{stop_reason, content} of Anthropic Messages", read: readAnswer },
};

function probe({ content, tool_calls: calls }: JsonObject, role: string) {
	if (role === "tool" || role === "function" || role === "developer") return `no \`role: "${role}"\``;
	if (Array.isArray(calls) && calls.length > 0) return "calls as `tool_use` blocks";
	if (!Object.hasOwn(plainRoles, role)) return false;
	if (typeof content === "string" || content === null) return false;
	if (!Array.isArray(content)) return "`content` as a string or a list of blocks";
	// Results of Amp.
	if (objectsOf(content).some((block) => block.type === "tool_result" && hasMember(block, "toolUseID", "toolUseId")))
		return "`tool_use_id` in each `tool_result`";
	return probeParts(content, blockTypes, ({ type, source }) => type === "image" && isJsonObject(source));
}

/** Reads a `compaction` block as a system message, which stays: the API ignores everything before the last block of it. */
function readCompacted(message: JsonObject, path: Path): Message | Message[] {
	const at = compactionIn(message);
	if (at === -1) return readAnthropicMessage(message, path);
	const blocks = message.content as readonly JsonObject[];
	const places = blocks.map((_, index) => [...path, "content", index]);
	const summary = new MessageDraft("system", path).count(blocks[at]?.content);
	if (at === blocks.length - 1) return summary;
	const laterBlocks = blocks.map((block, index) => (index > at ? block : ""));
	const rest = readAnthropicMessage({ ...message, content: laterBlocks }, path);
	return [
		{ ...summary, paths: places.slice(0, at + 1) },
		{ ...rest, paths: places.slice(at + 1) },
	];
}

/** Marks the messages before the last `compaction` block: the API ignores them. */
function markCompacted(messages: readonly Message[], { messages: values, base }: LocatedMessages): readonly Message[] {
	const last = values.findLastIndex((value) => isJsonObject(value) && compactionIn(value) !== -1);
	if (last === -1) return messages;
	return messages.map((message) => (Number(message.paths[0]?.[base.length]) < last ? unsent(message) : message));
}

/** The index of the last finished compaction among the blocks of a message, or -1. */
function compactionIn({ content }: JsonObject): number {
	if (!Array.isArray(content)) return -1;
	return (content as unknown[]).findLastIndex(
		(block) => isJsonObject(block) && block.type === "compaction" && stringAt(block, "content") !== undefined,
	);
}

/** Reads one message. `paths` names the values to remove with it, if it is part of a record. */
export function readAnthropicMessage(message: JsonObject, path: Path, paths: readonly Path[] = [path]): MessageDraft {
	// Cline and Roo Code add the time to messages of the API, and Cline since version 3 the usage of an answer.
	const draft = new MessageDraft(roleOf(message, plainRoles), ...paths).setTime(timeAt(message, "ts"));
	return draft.setUsage(messageUsage(message)).readParts(message.content, childPath(path, "content"), readBlock);
}

function readBlock(block: JsonObject, path: Path, draft: MessageDraft): void {
	const { type } = block;
	if (type === "text") draft.count(block.text);
	// The signature is not counted: it is not sent as text.
	else if (type === "thinking") {
		const hidden = hiddenTokens(block.thinking, block.signature);
		draft.addThinking(path, block.thinking, typeof block.signature === "string", false, hidden);
	} else if (type === "redacted_thinking") draft.addThinking(path, block, true, false, hiddenTokens("", block.data));
	else if (type === "tool_use") {
		draft.addCall(idAt(block, "id"), stringAt(block, "name"), block.input);
		linkCaller(block, draft);
	} else if (type === "tool_result") {
		const content = readToolContent(block.content, childPath(path, "content"), readResultMedia);
		draft.addResult({ callId: idAt(block, "tool_use_id"), ...content, isError: booleanAt(block, "is_error") });
	} else {
		linkBlock(block, draft);
		if (stringAt(block, "type")?.endsWith("_tool_result")) draft.countJson(block, path, readServerMedia);
		else draft.countPart(block, readAnthropicMedia(block, path));
	}
}

/** Agents put the output of their tools into a result unchanged, with images in the form of MCP. */
function readResultMedia(part: JsonObject, path: Path): MediaNode | undefined {
	return readAnthropicMedia(part, path) ?? readInlineMedia(part, path);
}

/** Measured on one web search with ten results: 14 400 characters are some 4 000 tokens, but 9 900 if counted as text. */
const encryptedCharactersPerToken = 4;

/** Reads a fetched image or document, or an encrypted object, in the result of a server tool. */
function readServerMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const media = readAnthropicMedia(part, path);
	const isEncrypted = ["encrypted_content", "encrypted_stdout"].some((key) => stringAt(part, key) !== undefined);
	if (media || !isEncrypted) return media;
	const node = readMedia({ path, provider: "anthropic", data: undefined, kind: "document" });
	return { ...node, tokens: Math.ceil(asCountedText(part).length / encryptedCharactersPerToken) };
}

/** An assumption for the title and the context of a document. */
const charactersPerToken = 4;

/** Reads an image or a document. One given as text or blocks is counted by its texts. */
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

/** The API and its SDK parse a partial input into an object, so a call at the end of a cut answer counts as cut. */
function readAnswer(response: JsonObject): LastResponse | undefined {
	const { content } = response;
	if (typeof content !== "string" && !Array.isArray(content)) return undefined;
	// vLLM has a `stop_reason` as well as a `finish_reason`; an item of OpenAI Responses has a `status`.
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

/** Reads the `tool_use` blocks of an answer. MCP sampling has the same blocks. */
function readToolUses(blocks: readonly JsonObject[]): GivenCall[] {
	return callsAmong(blocks, (block) => {
		if (block.type !== "tool_use") return undefined;
		return { id: idAt(block, "id"), name: idAt(block, "name"), input: { kind: "parsed_partly", value: block.input } };
	});
}

/** The member that holds the id of the call, by type of result. */
const resultIds: Readonly<Record<string, string>> = {
	"agent.tool_result": "tool_use_id",
	"agent.mcp_tool_result": "mcp_tool_use_id",
	"user.tool_result": "tool_use_id",
	"user.custom_tool_result": "custom_tool_use_id",
};

const eventRoles: Readonly<Record<string, Role>> = {
	"agent.message": "assistant",
	"agent.thinking": "assistant",
	"agent.tool_use": "assistant",
	"agent.mcp_tool_use": "assistant",
	"agent.custom_tool_use": "assistant",
	"user.message": "user",
	"user.define_outcome": "user",
	"user.tool_confirmation": "tool",
	"system.message": "system",
	...Object.fromEntries(Object.keys(resultIds).map((type) => [type, "tool"])),
};

/** Events of a session of Claude Managed Agents, on their own or in the `raw` member of a record. */
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
	write: { message: writeEvent, appends: false },
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
	const role = Object.hasOwn(eventRoles, type) ? eventRoles[type] : undefined;
	const content = [...at, "content"];
	if (role === undefined) return undefined;
	const draft = new MessageDraft(role, path).setTime(timeAt(event, "processed_at") ?? timeAt(event, "created_at"));
	if (role === "tool" && Object.hasOwn(resultIds, type)) {
		const read = readToolContent(event.content, content, readAnthropicMedia);
		const copies = outputCopies({ record, path, places: at === path ? [] : [["content"]], texts: read.texts });
		const callId = idAt(event, resultIds[type] ?? "");
		draft.addResult({ callId, ...read, ...copies, isError: booleanAt(event, "is_error") });
	} else if (type.endsWith("_use")) draft.addCall(idAt(event, "id"), stringAt(event, "name"), event.input);
	else if (type === "user.tool_confirmation") {
		linkTo(idAt(event, "tool_use_id"), draft);
		draft.count(event.deny_message);
	} else if (type === "user.define_outcome") draft.count(event.description, event.rubric);
	// Some sessions do not include the text of a thought.
	else if (type === "agent.thinking" && event.content === undefined) return undefined;
	else draft.countParts(event.content, content, readAnthropicMedia);
	return draft;
}

function writeEvent({ role, text, instead }: WrittenMessage) {
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

const answerBlockTypes: readonly unknown[] = ["text", "image", "audio", "tool_use", "tool_result"];

const foreignBlocks = blockTypes.own.slice(2).concat(blockTypes.foreign, "document", "tool-call", "tool-result");

/** MCP sampling. A result with `structuredContent` is not replaced as a whole: some hosts send only that copy of it. */
export const mcpSampling: Format = {
	name: "mcp-sampling",
	title: "MCP sampling",
	looksFor: "MCP sampling messages (`content` a block or a list of blocks, results with `toolUseId`)",
	probe: ({ messages }) =>
		probeMessages(
			messages,
			"a `tool_result` with `toolUseId`, `content` as one block, or media with `mimeType`",
			probeSampling,
		),
	read: (located) => readTranscript("mcp-sampling", located, ["systemPrompt", "tools"], readSamplingMessage),
	write: { message: ({ role, text }) => ({ role, content: { type: "text", text } }), appends: true },
	answer: { shape: "{stopReason, role, content} of MCP sampling", read: readSamplingAnswer },
};

function probeSampling({ content }: JsonObject, role: string) {
	if (!Object.hasOwn(plainRoles, role)) return false;
	if (!Array.isArray(content) && !isJsonObject(content)) return "`content` as a block or a list of blocks";
	let certain = !Array.isArray(content);
	for (const block of Array.isArray(content) ? (content as unknown[]) : [content]) {
		if (!isJsonObject(block) || typeof block.type !== "string") return "content blocks with a `type`";
		const { type } = block;
		if (foreignBlocks.includes(type)) return `content blocks of its own kinds, not \`${type}\``;
		const isResult = type === "tool_result";
		if (isResult && stringAt(block, "toolUseId") === undefined) return "`toolUseId` in each `tool_result`";
		const isMedia = type === "image" || type === "audio";
		if (isMedia && !readMediaBlock(block, [])) return `\`data\` and \`mimeType\` in each \`${type}\``;
		certain ||= isResult || isMedia;
	}
	return certain;
}

function readSamplingMessage(message: JsonObject, path: Path): Message {
	const draft = new MessageDraft(roleOf(message, plainRoles), path);
	const { content } = message;
	const at = [...path, "content"];
	if (!isJsonObject(content)) return draft.readParts(content, at, readSamplingBlock);
	readSamplingBlock(content, at, draft);
	return draft;
}

function readSamplingBlock(block: JsonObject, path: Path, draft: MessageDraft): void {
	if (block.type === "text") draft.count(block.text);
	else if (block.type === "tool_use") draft.addCall(idAt(block, "id"), stringAt(block, "name"), block.input);
	else if (block.type === "tool_result") readSamplingResult(block, path, draft);
	else draft.countPart(block, readMediaBlock(block, path));
}

function readSamplingResult(block: JsonObject, path: Path, draft: MessageDraft): void {
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
function readSamplingAnswer(response: JsonObject): LastResponse | undefined {
	const { content, stopReason: reason } = response;
	const isResult = typeof response.model === "string" && typeof response.role === "string";
	if (!isResult && !hasMember(response, "stopReason")) return undefined;
	const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
	if (!blocks.every((block) => isJsonObject(block) && answerBlockTypes.includes(block.type))) return undefined;
	return finishResponse({ reason, texts: textsOf(blocks), calls: readToolUses(objectsOf(blocks)) });
}

import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path, Role, TextNode, WholeContent } from "../conversation/transcript.ts";
import { finishResponse, type GivenCall, type LastResponse, memberAt, objectsOf } from "./answer.ts";
import {
	addResult,
	type Format,
	finishMessage,
	type MessageDraft,
	probeMessages,
	readEach,
	readSurroundings,
	readWrappedValue,
	startMessage,
} from "./format.ts";
import { asCountedText, idAt, stringAt } from "./json-values.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import { readJsonTexts } from "./parts.ts";

const roles: Readonly<Record<string, Role>> = { user: "user", assistant: "assistant", system: "system" };

/** What a block can be, by its one key. */
export const blockKinds = [
	"text",
	"toolUse",
	"toolResult",
	"image",
	"document",
	"video",
	"audio",
	"reasoningContent",
	"cachePoint",
	"guardContent",
	"citationsContent",
	"searchResult",
] as const;

/** The Converse API of AWS Bedrock: content is a list of blocks without `type`, each an object named by its one key. */
export const bedrockConverse: Format = {
	name: "bedrock-converse",
	title: "AWS Bedrock Converse",
	looksFor: "AWS Bedrock Converse messages (`content` a list of blocks such as {text}, {toolUse} and {toolResult})",
	probe: ({ messages }) => probeMessages(messages, "blocks such as {text}, {toolUse} and {toolResult}", probe),
	read(located) {
		return {
			format: "bedrock-converse",
			messages: readEach(located, readMessage),
			surroundings: readSurroundings(located, ["system", "toolConfig"]),
			opensWithUser: true,
			inTurn: true,
		};
	},
	write: {
		message: ({ role, text }) => ({ role, content: [{ text }] }),
		part: { list: ["content"], write: (text) => ({ text }) },
		appends: true,
	},
	answer: { shape: "{stopReason, output} of Bedrock Converse", read: readAnswer },
};

function probe(message: JsonObject, role: string): boolean | string {
	if (role === "tool" || role === "function" || role === "developer") return `no \`role: "${role}"\``;
	if (message.parts !== undefined) return "`content`, not `parts`";
	const { content } = message;
	if (content === undefined || content === null) return false;
	if (!Array.isArray(content)) return "`content` as a list of blocks";
	let certain = false;
	for (const block of content as unknown[]) {
		if (!isJsonObject(block) || Object.hasOwn(block, "type")) return "content blocks without a `type`";
		certain ||= blockKinds.some((kind) => Object.hasOwn(block, kind));
	}
	return certain;
}

function readMessage(message: JsonObject, path: Path): Message {
	const name = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(roles, name) && roles[name]) || "other";
	const draft = startMessage();
	if (Array.isArray(message.content)) {
		(message.content as unknown[]).forEach((block, index) => {
			readBedrockBlock(block, [...path, "content", index], draft);
		});
	} else draft.counted.push(asCountedText(message.content ?? undefined));
	return finishMessage(role, [path], draft);
}

/**
 * Bedrock Converse. As its models differ in what they make of a cut call, one that ends a cut answer is taken to be cut,
 * as with Anthropic's.
 */
function readAnswer(response: JsonObject): LastResponse | undefined {
	const reason = memberAt(response, "stopReason", "stop_reason");
	const { output } = response;
	const isWhole = isJsonObject(output) && isJsonObject(output.message);
	const holder = isWhole ? output : response;
	const message = isJsonObject(holder.message) ? holder.message : response;
	const { content } = message;
	if (!Array.isArray(content) || !content.every(isAnswerBlock)) return undefined;
	if (!isWhole && (reason === undefined || content.length === 0)) return undefined;
	return finishResponse({ reason, ...readAnswerBlocks(content) });
}

/** A block is named by its one key and has no `type`. */
function isAnswerBlock(block: unknown): block is JsonObject {
	return isJsonObject(block) && !Object.hasOwn(block, "type");
}

function readAnswerBlocks(blocks: readonly JsonObject[]) {
	const texts = blocks.flatMap((block) => {
		const { citationsContent } = block;
		const cited = isJsonObject(citationsContent) ? objectsOf(citationsContent.content) : [];
		return [block, ...cited].flatMap((one) => stringAt(one, "text") ?? []);
	});
	const calls = blocks.flatMap(({ toolUse }, index): GivenCall[] => {
		// What the provider runs itself is not the caller's to answer.
		if (!isJsonObject(toolUse) || toolUse.type === "server_tool_use") return [];
		const input = { kind: "parsed_partly", value: toolUse.input } as const;
		const endsAnswer = index === blocks.length - 1;
		return [{ id: idAt(toolUse, "toolUseId"), name: idAt(toolUse, "name"), input, endsAnswer }];
	});
	return { texts, calls };
}

const mediaKinds = ["image", "document", "video", "audio"] as const;

/** Documents that are plain text, by the `format` that their block names. */
const textFormats = new Set(["txt", "md", "csv", "html"]);

/** Reads a block into its message. What it does not know is opaque. */
export function readBedrockBlock(block: unknown, path: Path, draft: MessageDraft): void {
	const { toolUse, toolResult, reasoningContent, cachePoint } = isJsonObject(block) ? block : {};
	const media = isJsonObject(block) ? readBedrockMedia(block, path) : undefined;
	if (isJsonObject(toolUse)) {
		draft.calls.push({ id: idAt(toolUse, "toolUseId"), name: stringAt(toolUse, "name") });
		draft.counted.push(stringAt(toolUse, "name") ?? "", asCountedText(toolUse.input));
	} else if (isJsonObject(toolResult)) {
		readResult(toolResult, [...path, "toolResult"], draft);
	} else if (isJsonObject(reasoningContent)) {
		const { reasoningText, redactedContent } = reasoningContent;
		// The signature is not part of the prompt's text.
		const text = asCountedText(isJsonObject(reasoningText) ? reasoningText.text : redactedContent);
		draft.counted.push(text);
		const isSigned = isJsonObject(reasoningText) && typeof reasoningText.signature === "string";
		draft.thinking.push({ path, text, bound: isSigned || redactedContent !== undefined });
	} else if (media) {
		draft.mediaTokens += media.tokens;
	} else if (!isJsonObject(cachePoint)) {
		draft.counted.push(asCountedText((isJsonObject(block) ? stringAt(block, "text") : undefined) ?? block));
	}
}

function readResult(result: JsonObject, path: Path, draft: MessageDraft): void {
	const texts: TextNode[] = [];
	const media: MediaNode[] = [];
	const counted: string[] = [];
	const at = [...path, "content"];
	let wholeJson: WholeContent | undefined;
	const blocks = Array.isArray(result.content) ? (result.content as unknown[]) : [];
	blocks.forEach((block, index) => {
		const text = isJsonObject(block) ? stringAt(block, "text") : undefined;
		const node = isJsonObject(block) ? readBedrockMedia(block, [...at, index]) : undefined;
		if (text !== undefined) texts.push({ path: [...at, index, "text"], text });
		else if (node) media.push(node);
		else if (isJsonObject(block) && Object.hasOwn(block, "json")) {
			const json = readWrappedValue(block.json, [...at, index, "json"], readInlineMedia);
			texts.push(...json.texts);
			media.push(...json.media);
			counted.push(...json.counted);
			if (blocks.length === 1) wholeJson = json.whole;
		} else if (isJsonObject(block)) {
			const inside = readJsonTexts(block, [...at, index], () => undefined);
			texts.push(...inside.texts);
			counted.push(...inside.counted);
		} else counted.push(asCountedText(block));
	});
	if (!Array.isArray(result.content)) counted.push(asCountedText(result.content ?? undefined));
	addResult(draft, {
		callId: idAt(result, "toolUseId"),
		texts,
		whole: wholeJson ?? wholeTexts(blocks, at),
		media,
		copies: [],
		isError: result.status === "error" ? true : result.status === "success" ? false : undefined,
		counted,
	});
}

/** A list of texts can be written as one text. */
function wholeTexts(blocks: readonly unknown[], path: Path): WholeContent | undefined {
	const [first] = blocks;
	const isText = (block: unknown) => isJsonObject(block) && stringAt(block, "text") !== undefined;
	return isJsonObject(first) && blocks.every(isText) ? { path, write: (text) => [{ ...first, text }] } : undefined;
}

/** An image, a recording or a document; its bytes stand in base64 where the conversation is JSON. */
function readBedrockMedia(block: JsonObject, path: Path): MediaNode | undefined {
	const kind = mediaKinds.find((one) => isJsonObject(block[one]));
	if (!kind) return undefined;
	const { format, source } = block[kind] as JsonObject;
	// A document may hold its text as it is: that is counted, not estimated.
	if (isJsonObject(source) && (Object.hasOwn(source, "text") || Object.hasOwn(source, "content"))) return undefined;
	const name = typeof format === "string" ? format : "";
	const family = kind !== "document" ? kind : textFormats.has(name) ? "text" : "application";
	return readMedia({
		path,
		// Whose model reads it is not known: Bedrock has many.
		provider: "any",
		kind,
		data: isJsonObject(source) ? source.bytes : undefined,
		mediaType: name === "" ? undefined : `${family}/${name}`,
		write: (text) => ({ text }),
	});
}

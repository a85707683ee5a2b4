import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Message } from "../engine/conversation/transcript.ts";
import { callsAmong, finishResponse, type LastResponse } from "./answer.ts";
import { type Format, plainRoles, probeMessages, readTranscript, roleOf } from "./format.ts";
import { hiddenTokens } from "./hidden-reasoning.ts";
import { hasMember, idAt, memberAt, objectsOf, stringAt } from "./json-text/value.ts";
import { readInlineMedia, readMedia } from "./media.ts";
import {
	asWhole,
	MessageDraft,
	mediaContent,
	opaque,
	readJsonTexts,
	readPartList,
	readWrappedContent,
	type ToolContent,
} from "./parts.ts";

const mediaKinds = ["image", "document", "video", "audio"] as const;

const blockKinds = [
	...mediaKinds,
	"text",
	"toolUse",
	"toolResult",
	"reasoningContent",
	"reasoning",
	"cachePoint",
	"guardContent",
	"citationsContent",
	"searchResult",
];

/** The Converse API of AWS Bedrock: content is a list of blocks without `type`. */
export const bedrockConverse: Format = {
	name: "bedrock-converse",
	title: "AWS Bedrock Converse",
	looksFor: "AWS Bedrock Converse messages (`content` a list of blocks such as {text}, {toolUse} and {toolResult})",
	probe: ({ messages }) => probeMessages(messages, "blocks such as {text}, {toolUse} and {toolResult}", probe),
	read: (located) => ({
		...readTranscript("bedrock-converse", located, ["system", "toolConfig"], readMessage),
		opensWithUser: true,
		inTurn: true,
	}),
	write: {
		message: ({ role, text }) => ({ role, content: [{ text }] }),
		part: { lists: [["content"]], key: "text", write: (text) => ({ text }) },
		appends: true,
	},
	answer: { shape: "{stopReason, output} of Bedrock Converse", read: readAnswer },
};

function probe({ parts, content }: JsonObject, role: string) {
	if (role === "tool" || role === "function" || role === "developer") return `no \`role: "${role}"\``;
	if (parts !== undefined) return "`content`, not `parts`";
	if (content == null) return false;
	if (!Array.isArray(content)) return "`content` as a list of blocks";
	if (!content.every(isBlock)) return "content blocks without a `type`";
	return content.some((block) => hasMember(block, ...blockKinds));
}

function isBlock(block: unknown): block is JsonObject {
	return isJsonObject(block) && !Object.hasOwn(block, "type");
}

function readMessage(message: JsonObject, path: Path): Message {
	const draft = new MessageDraft(roleOf(message, plainRoles), path);
	return draft.readParts(message.content, [...path, "content"], readBlock);
}

function readBlock(block: JsonObject, path: Path, draft: MessageDraft): void {
	const { toolUse, toolResult, reasoningContent, reasoning, cachePoint } = block;
	if (isJsonObject(toolUse)) {
		draft.addCall(idAt(toolUse, "toolUseId"), stringAt(toolUse, "name"), toolUse.input);
	} else if (isJsonObject(toolResult)) {
		const { status } = toolResult;
		draft.addResult({
			callId: idAt(toolResult, "toolUseId"),
			...readResultContent(toolResult.content, [...path, "toolResult", "content"]),
			isError: status === "error" ? true : status === "success" ? false : undefined,
		});
	} else if (isJsonObject(reasoningContent)) {
		const { reasoningText, redactedContent } = reasoningContent;
		// The signature is not counted: it is not sent as text.
		const content = isJsonObject(reasoningText) ? reasoningText.text : redactedContent;
		const isSigned = isJsonObject(reasoningText) && typeof reasoningText.signature === "string";
		const hidden = isJsonObject(reasoningText)
			? hiddenTokens(reasoningText.text, reasoningText.signature)
			: hiddenTokens("", redactedContent);
		draft.addThinking(path, content, isSigned || redactedContent !== undefined, false, hidden);
	} else if (isJsonObject(reasoning)) {
		// The sessions of Strands Agents.
		const { text, signature, redactedContent } = reasoning;
		const sealed = signature ?? redactedContent;
		draft.addThinking(path, text ?? redactedContent, sealed !== undefined, false, hiddenTokens(text, sealed));
	} else if (!isJsonObject(cachePoint)) {
		draft.countPart(stringAt(block, "text") ?? block, readBedrockMedia(block, path));
	}
}

function readResultContent(blocks: unknown, path: Path): ToolContent {
	if (!Array.isArray(blocks)) return opaque(blocks ?? undefined);
	const textKey = (block: JsonObject) => (stringAt(block, "text") === undefined ? undefined : "text");
	const read = readPartList(blocks, path, {
		textKey,
		readOther(block, at) {
			if (!isJsonObject(block)) return opaque(block);
			const media = readBedrockMedia(block, at);
			if (media) return mediaContent(media);
			if (Object.hasOwn(block, "json")) return readWrappedContent(block.json, [...at, "json"], readInlineMedia);
			return readJsonTexts(block, at, () => undefined);
		},
	});
	const held = blocks.flatMap((block) => (isJsonObject(block) && isJsonObject(block.json) ? [block.json] : []));
	if (held.length === 0 || !blocks.every((block) => isJsonObject(block) && hasMember(block, "json", "text")))
		return read;
	// The API accepts no text as `json`.
	const value = blocks.length === 1 ? held[0] : { content: blocks };
	return asWhole(read, { value, path, write: (text) => [{ text }] });
}

function readBedrockMedia(block: JsonObject, path: Path): MediaNode | undefined {
	const kind = mediaKinds.find((one) => isJsonObject(block[one]));
	if (!kind) return undefined;
	const { format, source } = block[kind] as JsonObject;
	// The text of a document is counted, not estimated.
	if (isJsonObject(source) && hasMember(source, "text", "content")) return undefined;
	const name = typeof format === "string" ? format : "";
	const family = kind !== "document" ? kind : ["txt", "md", "csv", "html"].includes(name) ? "text" : "application";
	return readMedia({
		path,
		// Bedrock has models of many providers.
		provider: "any",
		kind,
		data: isJsonObject(source) ? source.bytes : undefined,
		mediaType: name === "" ? undefined : `${family}/${name}`,
		write: (text) => ({ text }),
	});
}

/** Models differ in the input that they give for a cut call, so a call at the end of a cut answer counts as cut. */
function readAnswer(response: JsonObject): LastResponse | undefined {
	const reason = memberAt(response, "stopReason", "stop_reason");
	const { output } = response;
	const isWhole = isJsonObject(output) && isJsonObject(output.message);
	const holder = isWhole ? output : response;
	const { content } = isJsonObject(holder.message) ? holder.message : response;
	if (!Array.isArray(content) || !content.every(isBlock)) return undefined;
	if (!isWhole && (reason === undefined || content.length === 0)) return undefined;
	const texts = content.flatMap((block) => {
		const cited = isJsonObject(block.citationsContent) ? objectsOf(block.citationsContent.content) : [];
		return [block, ...cited].flatMap((one) => stringAt(one, "text") ?? []);
	});
	const calls = callsAmong(content, ({ toolUse }) => {
		if (!isJsonObject(toolUse) || toolUse.type === "server_tool_use") return undefined;
		const input = { kind: "parsed_partly", value: toolUse.input } as const;
		return { id: idAt(toolUse, "toolUseId"), name: idAt(toolUse, "name"), input };
	});
	return finishResponse({ reason, texts, calls });
}

import type { Path } from "../../engine/path.ts";
import type { MediaNode, TextNode, WholeContent } from "../../engine/transcript.ts";
import { readJsonTexts } from "../json-texts.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readInlineMedia } from "../media/inline-media.ts";
import { readMedia } from "../media/read-media.ts";
import { addResult, type MessageDraft } from "../message-draft.ts";
import { readWrappedValue } from "../wrapped-value.ts";

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

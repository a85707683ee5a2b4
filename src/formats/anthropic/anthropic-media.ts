import type { Path } from "../../engine/path.ts";
import type { MediaNode, TextNode } from "../../engine/transcript.ts";
import { isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readMedia, tokensOfMedia } from "../media/read-media.ts";
import { readResultContent } from "../part-list.ts";

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

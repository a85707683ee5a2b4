import type { Path } from "../../engine/path.ts";
import type { MediaNode } from "../../engine/transcript.ts";
import { readJsonTexts } from "../json-texts.ts";
import { asCountedText, type JsonObject, stringAt } from "../json-values.ts";
import { readMedia, tokensOfMedia } from "../media/read-media.ts";
import { readAnthropicMedia } from "./anthropic-media.ts";

/**
 * Characters for a token of what a server tool found and encrypted: base64, so three bytes. Estimated from the usage of one
 * recorded answer with ten results of a web search: some 14 400 characters, some 4 000 tokens. As text they are 9 900.
 */
const charactersPerToken = 4;
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
	return { ...node, tokens: Math.ceil(asCountedText(part).length / charactersPerToken) };
}

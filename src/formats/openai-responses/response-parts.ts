import type { Path } from "../../engine/path.ts";
import type { MediaNode } from "../../engine/transcript.ts";
import { asCountedText, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readMedia } from "../media/read-media.ts";
import type { MessageDraft } from "../message-draft.ts";

const textParts = new Set(["input_text", "output_text", "text", "summary_text", "reasoning_text"]);

/** The text of a part of a message, of an output or of reasoning; `undefined` where it holds something else. */
export function textOfPart(part: unknown): string | undefined {
	return isJsonObject(part) && textParts.has(stringAt(part, "type") ?? "") ? stringAt(part, "text") : undefined;
}

/** Counts the parts of a message or of reasoning; a text may stand in the place of the list. */
export function countParts(content: unknown, message: MessageDraft): void {
	if (!Array.isArray(content)) {
		if (content !== undefined && content !== null) message.counted.push(asCountedText(content));
		return;
	}
	for (const part of content as unknown[]) {
		const media = isJsonObject(part) ? readResponseMedia(part, []) : undefined;
		const refusal = isJsonObject(part) && part.type === "refusal" ? part.refusal : undefined;
		if (media) message.mediaTokens += media.tokens;
		else message.counted.push(asCountedText(textOfPart(part) ?? refusal ?? part));
	}
}

/** An image or a file, in a message or in an output. */
export function readResponseMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const write = (text: string) => ({ type: "input_text", text });
	const provider = "openai";
	if (part.type === "input_image") {
		const detail = stringAt(part, "detail");
		return readMedia({ path, provider, kind: "image", data: part.image_url, detail, write });
	}
	if (part.type === "input_file") {
		return readMedia({ path, provider, kind: "document", data: part.file_data ?? part.file_url, write });
	}
	return undefined;
}

/**
 * Tokens of what only OpenAI can read, by Codex's own estimate: the bytes that the base64 stands for less 650 of
 * framing, at four bytes a token. Source: github.com/openai/codex, codex-rs/core, `estimate_reasoning_length`.
 */
export function sealedTokens(item: JsonObject): number {
	const length = stringAt(item, "encrypted_content")?.length ?? 0;
	return Math.ceil(Math.max(0, (length * 3) / 4 - 650) / 4);
}

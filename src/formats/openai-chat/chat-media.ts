import type { Path } from "../../engine/path.ts";
import type { MediaNode } from "../../engine/transcript.ts";
import { readAnthropicMedia } from "../anthropic/anthropic-media.ts";
import { isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readInlineMedia } from "../media/inline-media.ts";
import { readMedia } from "../media/read-media.ts";

/** Parts of Chat Completions that refer to media by URL. The last two are of compatible endpoints. */
const urlParts: Readonly<Record<string, MediaNode["kind"]>> = {
	image_url: "image",
	audio_url: "audio",
	video_url: "video",
};

/** Reads a part of a Chat Completions content that holds an image, a recording or a file. */
export function readChatMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const type = stringAt(part, "type") ?? "";
	const holder = isJsonObject(part[type]) ? (part[type] as JsonObject) : {};
	const provider = "openai";
	if (Object.hasOwn(urlParts, type)) {
		const data = stringAt(holder, "url") ?? part[type];
		return readMedia({ path, provider, data, kind: urlParts[type], detail: stringAt(holder, "detail") });
	}
	if (type === "input_audio") {
		const format = stringAt(holder, "format");
		const mediaType = format === undefined ? undefined : `audio/${format}`;
		return readMedia({ path, provider, data: holder.data, mediaType, kind: "audio" });
	}
	if (type === "file") return readMedia({ path, provider, data: holder.file_data, kind: "document" });
	// Gateways take the parts of other APIs as well, and programs pass on what an MCP server returned.
	return readAnthropicMedia(part, path) ?? readInlineMedia(part, path);
}

import type { Path } from "../../engine/path.ts";
import type { MediaNode } from "../../engine/transcript.ts";
import { type JsonObject, stringAt } from "../json-values.ts";
import { readMedia } from "./read-media.ts";

/** Media types whose base64 is of no use as text. */
const binaryTypes = /^(?:image|audio|video)\/|^application\/(?:pdf|octet-stream)$/;

/** An object anywhere in a JSON result that holds binary data with its media type, as MCP and the AI SDK write images. */
export function readInlineMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const mediaType = stringAt(part, "mimeType") ?? stringAt(part, "mediaType");
	const data = stringAt(part, "data");
	if (mediaType === undefined || data === undefined || !binaryTypes.test(mediaType)) return undefined;
	return readMedia({ path, provider: "any", mediaType, data });
}

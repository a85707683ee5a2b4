import type { Path } from "../../engine/path.ts";
import type { MediaNode, ThinkingBlock } from "../../engine/transcript.ts";
import { asCountedText, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readInlineMedia } from "../media/inline-media.ts";
import { readMedia } from "../media/read-media.ts";

/** The AI SDK's part types that hold or name a file, with what it is where no media type tells. */
const fileTypes: Readonly<Record<string, MediaNode["kind"]>> = {
	image: "image",
	"image-data": "image",
	"image-url": "image",
	"image-file-id": "image",
	"image-file-reference": "image",
	file: "document",
	"file-data": "document",
	"file-url": "document",
	"file-id": "document",
	"file-reference": "document",
	media: "document",
};

/** Where a part keeps its data, by version and type of part. */
const dataKeys = ["data", "image", "url", "fileId", "providerReference"];

/**
 * What Anthropic and Gemini call that which ties reasoning to what stands before it. OpenAI encrypts its own, but does not
 * check that.
 */
const bindingKeys = ["signature", "thoughtSignature", "redactedData"];

/** A file, an image or a recording, in a message or in a result's content. */
export function readVercelMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const type = stringAt(part, "type") ?? "";
	const kind = Object.hasOwn(fileTypes, type) ? fileTypes[type] : undefined;
	const key = dataKeys.find((one) => Object.hasOwn(part, one));
	if (kind === undefined || key === undefined) return readInlineMedia(part, path);
	const mediaType = stringAt(part, "mediaType") ?? stringAt(part, "mimeType");
	const value = part[key];
	// From v7 on the data says what it is: {type: "data", data}, {type: "url", url}, {type: "text", text}.
	if (isJsonObject(value) && value.type === "text") return undefined;
	const data = isJsonObject(value) && value.type === "data" ? value.data : value;
	return readMedia({ path, provider: "any", mediaType, kind, data });
}

/** A reasoning part, with the text that is counted of it; `undefined` for any other part. */
export function readVercelReasoning(part: JsonObject, path: Path): ThinkingBlock | undefined {
	if (part.type === "redacted-reasoning") return { path, text: asCountedText(part.data), bound: true };
	if (part.type !== "reasoning") return undefined;
	const details = Array.isArray(part.details) ? part.details.filter(isJsonObject) : [];
	const holders = [part, ...details, ...providerData(part)];
	const isRedacted = details.some((detail) => detail.type === "redacted");
	const bound = isRedacted || holders.some((holder) => bindingKeys.some((key) => stringAt(holder, key) !== undefined));
	// OpenAI wants a reasoning item beside the call that followed it.
	const isItem = providerData(part).some((data) => stringAt(data, "itemId") !== undefined);
	const text = asCountedText(part.text ?? part.reasoning);
	return { path, text, bound, ...(isItem ? { fixed: true } : {}) };
}

/** The signature that Gemini puts on a call or a text, by which it is bound to what stands before it. */
export function readVercelSignature(part: JsonObject, path: Path): ThinkingBlock[] {
	const isSigned = providerData(part).some((data) => stringAt(data, "thoughtSignature") !== undefined);
	return isSigned ? [{ path, text: "", bound: true, fixed: true }] : [];
}

/** What a part carries for each provider. */
function providerData(part: JsonObject): JsonObject[] {
	const holders = [part.providerOptions, part.providerMetadata, part.callProviderMetadata].filter(isJsonObject);
	return holders.flatMap((holder) => Object.values(holder).filter(isJsonObject));
}

import { imageDimensionsFromData } from "image-dimensions";
import { isJsonObject } from "../engine/conversation/json.js";
import { stringAt } from "./json-text/value.js";

/** Media types whose base64 is useless as text. */
const binaryTypes = /^(?:image|audio|video)\/|^application\/(?:pdf|octet-stream)$/;
/** Reads an object with binary data and its media type anywhere in a JSON result, as MCP and the AI SDK write images. */
export function readInlineMedia(part, path) {
	const mediaType = stringAt(part, "mimeType") ?? stringAt(part, "mediaType");
	const data = stringAt(part, "data");
	if (mediaType === undefined || data === undefined || !binaryTypes.test(mediaType)) return undefined;
	return readMedia({ path, provider: "any", mediaType, data });
}
/** Describes a media part from the first kilobytes of its data. Never throws. */
export function readMedia(part) {
	const { path, provider, detail, write = (text) => ({ type: "text", text }) } = part;
	const data = mediaData(part.data);
	const said = part.mediaType || data.mediaType;
	const family = said?.split("/", 1)[0]?.toLowerCase();
	const kindSaid = ["image", "audio", "video"].find((kind) => kind === family) ?? part.kind;
	const header = kindSaid === undefined || kindSaid === "image" ? imageHeader(data) : undefined;
	const kind = kindSaid ?? (header ? "image" : "document");
	const mediaType = said ?? header?.mediaType;
	const dimensions = header?.dimensions;
	const estimates =
		kind === "image"
			? imageTokens(dimensions, detail)
			: kind === "document"
				? documentTokens(mediaType, data)
				: recordingTokens(kind, mediaType, data);
	// If the provider is unknown, no estimate may be too small.
	const tokens = provider === "any" ? Math.max(...Object.values(estimates)) : estimates[provider];
	return { path, kind, mediaType, bytes: data.bytes, dimensions, tokens, write };
}
const nothing = { mediaType: undefined, bytes: undefined, head: () => new Uint8Array() };
function mediaData(data) {
	if (data instanceof Uint8Array) {
		return { mediaType: undefined, bytes: data.byteLength, head: (limit) => data.subarray(0, limit) };
	}
	// A Node.js `Buffer` becomes this in JSON.
	if (isJsonObject(data) && data.type === "Buffer" && Array.isArray(data.data)) {
		const values = data.data;
		const byte = (value) => (typeof value === "number" ? value : 0);
		const head = (limit) => Uint8Array.from(values.slice(0, limit), byte);
		return { mediaType: undefined, bytes: values.length, head };
	}
	if (typeof data !== "string") return nothing;
	if (/^data:/i.test(data)) return fromDataUrl(data);
	// Anything else is a path or a URL.
	const isBase64 = data !== "" && /^[\w+/=\s-]*$/.test(data.slice(0, 256));
	return isBase64 ? fromBase64(data, 0, undefined) : nothing;
}
function fromDataUrl(url) {
	const comma = url.slice(0, 1_024).indexOf(",");
	if (comma === -1) return nothing;
	const header = url.slice("data:".length, comma);
	const mediaType = header.replace(/;base64$/i, "") || undefined;
	if (/;base64$/i.test(header)) return fromBase64(url, comma + 1, mediaType);
	// For percent-encoded text the length is a good enough estimate.
	return { ...nothing, mediaType, bytes: url.length - comma - 1 };
}
function fromBase64(text, start, mediaType) {
	const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
	return {
		mediaType,
		bytes: Math.max(0, Math.floor(((text.length - start - padding) * 3) / 4)),
		head: (limit) => Buffer.from(text.slice(start, start + Math.ceil(limit / 3) * 4), "base64").subarray(0, limit),
	};
}
/** Nearly every header is in the first kilobyte, but a JPEG may have a preview and a colour profile before it. */
const headSizes = [1_024, 192 * 1_024];
function imageHeader({ head, bytes = 0 }) {
	let decoded = 0;
	for (const size of headSizes) {
		if (bytes <= decoded) return undefined;
		decoded = size;
		try {
			const found = imageDimensionsFromData(head(size));
			if (!found || found.width === 0 || found.height === 0) continue;
			return { mediaType: `image/${found.type}`, dimensions: { width: found.width, height: found.height } };
		} catch {
			// The data is untrusted; a broken header only means unknown dimensions.
		}
	}
	return undefined;
}
/** Tokens of an image by each provider's published rule, with its maximum for unknown dimensions. */
function imageTokens(dimensions, detail) {
	return {
		openai: openaiTokens(dimensions, detail),
		anthropic: dimensions ? anthropicTokens(dimensions) : 1_600,
		gemini: dimensions ? geminiTokens(dimensions) : 1_120,
	};
}
/**
 * Models of the GPT-4o class: 85 tokens, and 170 for each tile of 512 px after scaling down to 2 048 px square and then to
 * a shortest side of 768 px (at most eight tiles); 85 in low detail; in `original` detail one for each patch of 32 px, at
 * most 10 000. Source: platform.openai.com/docs/guides/images-vision, "Calculating costs".
 */
function openaiTokens(dimensions, detail) {
	if (detail === "low") return 85;
	if (detail === "original") return Math.min(10_000, dimensions ? tiles(dimensions, 32) : 10_000);
	if (!dimensions) return 85 + 8 * 170;
	const fitting = scaleDown(dimensions, 2_048 / longEdge(dimensions));
	const scaled = scaleDown(fitting, 768 / Math.min(fitting.width, fitting.height));
	return 85 + tiles(scaled, 512) * 170;
}
/** Width × height / 750 after scaling down to 1 568 px and 1 600 tokens. Source: docs.anthropic.com, "Vision". */
function anthropicTokens(dimensions) {
	const { width, height } = scaleDown(dimensions, 1_568 / longEdge(dimensions));
	return Math.min(1_600, Math.ceil((width * height) / 750));
}
/**
 * 258 tokens if both sides are at most 384 px, else 258 for each tile of 768 px after scaling down to 3 072 px square; with
 * unknown dimensions the default of Gemini 3, 1 120. Source: ai.google.dev, "Understand and count tokens", "Image
 * understanding", "Media resolution".
 */
function geminiTokens(dimensions) {
	if (longEdge(dimensions) <= 384) return 258;
	return tiles(scaleDown(dimensions, 3_072 / longEdge(dimensions)), 768) * 258;
}
function longEdge({ width, height }) {
	return Math.max(width, height);
}
/** An image is never scaled up. */
function scaleDown({ width, height }, factor) {
	const scale = (side) => Math.max(1, Math.round(side * Math.min(1, factor)));
	return { width: scale(width), height: scale(height) };
}
function tiles({ width, height }, side) {
	return Math.ceil(width / side) * Math.ceil(height / side);
}
const plainTextTypes = /^text\/|^application\/(?:json|xml|yaml|x-yaml|javascript|x-sh|csv|toml)\b|\+(?:json|xml)\b/i;
/**
 * Tokens of a document for each page: 3 000 for Anthropic, the upper end in docs.anthropic.com, "PDF support"; 258 for
 * Gemini (ai.google.dev, "Document understanding"); for OpenAI, which sends image and text of a page
 * (platform.openai.com/docs/guides/pdf-files), 1 105 and an assumed 700. Plain text: a token for each 4 bytes.
 */
function documentTokens(mediaType, data) {
	if (data.bytes !== undefined && plainTextTypes.test(mediaType ?? "")) {
		const tokens = Math.ceil(data.bytes / 4);
		return { openai: tokens, anthropic: tokens, gemini: tokens };
	}
	const pages = pagesOf(data);
	return { openai: pages * 1_805, anthropic: pages * 3_000, gemini: pages * 258 };
}
/** Low, so that estimates are rather too large than too small. */
const bytesPerPage = 50_000;
/** Pages, from the page objects in the beginning of a PDF, else from its size. */
function pagesOf({ bytes, head }) {
	if (bytes === undefined) return 10;
	const beginning = head(192 * 1_024);
	const text = Buffer.from(beginning.buffer, beginning.byteOffset, beginning.byteLength).toString("latin1");
	const seen = text.startsWith("%PDF") ? (text.match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0) : 0;
	const pages = seen === 0 ? bytes / bytesPerPage : seen * Math.max(1, bytes / beginning.byteLength);
	return Math.max(1, Math.ceil(pages));
}
/** Low rates for compressed sound (64 kbit/s) and video (1 Mbit/s), so that estimates are rather too large. */
const bytesPerSecond = { audio: 8_000, video: 125_000 };
/**
 * Tokens of a recording for each second: sound 10 for OpenAI (platform.openai.com/docs/guides/realtime-costs) and 32 for
 * Gemini, video 263 (ai.google.dev, "Understand and count tokens"); else Gemini's numbers. The duration follows from the
 * size, and is a minute for an unknown size.
 */
function recordingTokens(kind, mediaType, data) {
	const isAudio = kind === "audio";
	const knownRate = isAudio ? (wavRate(data) ?? pcmRate(mediaType)) : undefined;
	const seconds = data.bytes === undefined ? 60 : data.bytes / (knownRate || bytesPerSecond[kind]);
	const gemini = Math.ceil(seconds * (isAudio ? 32 : 263));
	return { openai: isAudio ? Math.ceil(seconds * 10) : gemini, anthropic: gemini, gemini };
}
/** Bytes a second that the header of a WAV file states. */
function wavRate(data) {
	const head = data.head(4_096);
	const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
	const name = (offset) => String.fromCharCode(...head.subarray(offset, offset + 4));
	if (name(0) !== "RIFF" || name(8) !== "WAVE") return undefined;
	for (let offset = 12; offset + 20 <= head.length; offset += 8 + view.getUint32(offset + 4, true)) {
		if (name(offset) === "fmt ") return view.getUint32(offset + 16, true);
	}
	return undefined;
}
/** Bytes a second of raw 16-bit mono sound, at the rate in its media type or at OpenAI's 24 kHz. */
function pcmRate(mediaType = "") {
	if (!/^audio\/(?:pcm|l16|x-raw)/i.test(mediaType)) return undefined;
	return Number(/;\s*rate=(\d{4,6})\b/i.exec(mediaType)?.[1] ?? 24_000) * 2;
}
/** Longest JSON of a part that is searched, in characters. Larger images do not fit into an answer. */
export const longestImagePart = 2_000_000;
/** Beginnings of the base64 of images. */
const beginnings = {
	iVBORw0KGgo: "image/png",
	"/9j/": "image/jpeg",
	R0lGOD: "image/gif",
	UklGR: "image/webp",
};
const image = /"(?:data:[^",]{1,200},)?((iVBORw0KGgo|\/9j\/|R0lGOD|UklGR)[A-Za-z0-9+/]*={0,2})"/;
/** The image in the compact JSON of a part, if it has its data (in base64). */
export function imageOfPart(json) {
	const [, data, beginning] = image.exec(json) ?? [];
	const mediaType = beginnings[beginning ?? ""];
	if (data === undefined || mediaType === undefined) return undefined;
	// A recording may have the same beginning as a WebP.
	if (mediaType === "image/webp" && Buffer.from(data.slice(0, 16), "base64").toString("latin1", 8, 12) !== "WEBP") {
		return undefined;
	}
	return { mediaType, data, bytes: Buffer.byteLength(data, "base64") };
}

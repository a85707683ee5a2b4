import { isJsonObject } from "../json-values.ts";

/** The data of a media part, as far as it is looked at. */
export interface MediaData {
	/** The media type that a data URL names. */
	readonly mediaType: string | undefined;
	/** Size of the data in bytes; `undefined` where it is only referred to. */
	readonly bytes: number | undefined;
	/** Decodes the first bytes, `limit` of them at most; none where they are not there. */
	readonly head: (limit: number) => Uint8Array;
}

/** Longest beginning of a data URL: its media type and parameters, in characters. */
const longestHeader = 1_024;
/** Characters that tell base64 from a path or a URL. */
const sample = 256;

const nothing: MediaData = { mediaType: undefined, bytes: undefined, head: () => new Uint8Array() };

/** Looks at data in whichever form a part holds it: base64, a data URL, bytes; any other URL or id tells nothing. */
export function mediaData(data: unknown): MediaData {
	if (data instanceof Uint8Array) {
		return { mediaType: undefined, bytes: data.byteLength, head: (limit) => data.subarray(0, limit) };
	}
	// What JSON makes of a Node.js `Buffer`.
	if (isJsonObject(data) && data.type === "Buffer" && Array.isArray(data.data)) {
		const values = data.data as unknown[];
		const byte = (value: unknown) => (typeof value === "number" ? value : 0);
		const head = (limit: number) => Uint8Array.from(values.slice(0, limit), byte);
		return { mediaType: undefined, bytes: values.length, head };
	}
	if (typeof data !== "string") return nothing;
	if (/^data:/i.test(data)) return fromDataUrl(data);
	const isBase64 = data !== "" && /^[\w+/=\s-]*$/.test(data.slice(0, sample));
	return isBase64 ? fromBase64(data, 0, undefined) : nothing;
}

function fromDataUrl(url: string): MediaData {
	const comma = url.slice(0, longestHeader).indexOf(",");
	if (comma === -1) return nothing;
	const header = url.slice("data:".length, comma);
	const mediaType = header.replace(/;base64$/i, "") || undefined;
	if (/;base64$/i.test(header)) return fromBase64(url, comma + 1, mediaType);
	// Percent-encoded text: its length is near enough, and no header of an image stands in it.
	return { ...nothing, mediaType, bytes: url.length - comma - 1 };
}

function fromBase64(text: string, start: number, mediaType: string | undefined): MediaData {
	const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
	return {
		mediaType,
		bytes: Math.max(0, Math.floor(((text.length - start - padding) * 3) / 4)),
		head: (limit) => Buffer.from(text.slice(start, start + Math.ceil(limit / 3) * 4), "base64").subarray(0, limit),
	};
}

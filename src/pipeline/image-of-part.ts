/** An image as a part of a conversation held it. */
export interface ImageOfPart {
	readonly mediaType: string;
	/** Base64. */
	readonly data: string;
	readonly bytes: number;
}

/** Longest JSON of a part that is looked into, in characters: an answer has room for its image. */
export const longestImagePart = 2_000_000;

/** How the base64 of an image begins, whatever the format of its conversation calls the field. */
const beginnings: Readonly<Record<string, string>> = {
	iVBORw0KGgo: "image/png",
	"/9j/": "image/jpeg",
	R0lGOD: "image/gif",
	UklGR: "image/webp",
};

const image = /"(?:data:[^",]{1,200},)?((iVBORw0KGgo|\/9j\/|R0lGOD|UklGR)[A-Za-z0-9+/]*={0,2})"/;

/** The image in the compact JSON of a part; `undefined` where it holds none, or only says where one is. */
export function imageOfPart(json: string): ImageOfPart | undefined {
	const [, data, beginning] = image.exec(json) ?? [];
	const mediaType = beginnings[beginning ?? ""];
	if (data === undefined || mediaType === undefined) return undefined;
	// A recording may begin as a WebP does.
	if (mediaType === "image/webp" && Buffer.from(data.slice(0, 16), "base64").toString("latin1", 8, 12) !== "WEBP") {
		return undefined;
	}
	return { mediaType, data, bytes: Buffer.byteLength(data, "base64") };
}

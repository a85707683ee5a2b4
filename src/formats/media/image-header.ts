import { imageDimensionsFromData } from "image-dimensions";
import type { MediaData } from "./media-data.ts";
import type { Dimensions } from "./media-provider.ts";

/** What an image's own header says. */
export interface ImageHeader {
	/** Such as `image/png`. */
	readonly mediaType: string;
	readonly dimensions: Dimensions;
}

/**
 * Bytes that are decoded: nearly every header stands in the first kilobyte, but a JPEG may hold a preview and a colour
 * profile before its own.
 */
const headSizes = [1_024, 192 * 1_024] as const;

/** Reads the header of a PNG, JPEG, GIF or WebP from the first 192 kB; `undefined` for anything else. */
export function imageHeader({ head, bytes }: MediaData): ImageHeader | undefined {
	if (bytes === undefined) return undefined;
	for (const [tries, size] of headSizes.entries()) {
		if (tries > 0 && bytes <= (headSizes[tries - 1] ?? 0)) return undefined;
		const found = dimensionsOf(head(size));
		if (found) return found;
	}
	return undefined;
}

function dimensionsOf(head: Uint8Array): ImageHeader | undefined {
	try {
		const found = imageDimensionsFromData(head);
		if (!found || found.width === 0 || found.height === 0) return undefined;
		return { mediaType: `image/${found.type}`, dimensions: { width: found.width, height: found.height } };
	} catch {
		// The data is untrusted, and a header that breaks its reader only means that the dimensions are not known.
		return undefined;
	}
}

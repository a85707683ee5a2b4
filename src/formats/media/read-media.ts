import type { Path } from "../../engine/path.ts";
import type { MediaNode } from "../../engine/transcript.ts";
import { documentTokens } from "./document-tokens.ts";
import { imageHeader } from "./image-header.ts";
import { imageTokens } from "./image-tokens.ts";
import { mediaData } from "./media-data.ts";
import type { MediaProvider } from "./media-provider.ts";
import { recordingTokens } from "./recording-tokens.ts";

/** A part that holds an image, a recording or a document, as a format found it. All of it is untrusted. */
export interface MediaPart {
	readonly path: Path;
	/** Whose rules its tokens are estimated by. */
	readonly provider: MediaProvider;
	/** Base64, a data URL or bytes. Of any other URL or id, and of nothing at all, no size is known. */
	readonly data: unknown;
	/** Such as `image/png`; where it is not said, the data URL or the image's header tells. */
	readonly mediaType?: string | undefined;
	/** What it is where the media type does not tell. */
	readonly kind?: MediaNode["kind"] | undefined;
	/** OpenAI's level of detail of an image. */
	readonly detail?: string | undefined;
	/** The value that holds a text in its place; by default `{type: "text", text}`. */
	readonly write?: MediaNode["write"];
}

/**
 * Describes a media part: what it is, its size, its dimensions and an estimate of its tokens. Looks at the first
 * kilobytes of the data only, and never throws.
 */
export function readMedia(part: MediaPart): MediaNode {
	const { path, provider, detail, write = writeTextPart } = part;
	const data = mediaData(part.data);
	const said = part.mediaType || data.mediaType;
	const kindSaid = kindOf(said) ?? part.kind;
	const header = kindSaid === undefined || kindSaid === "image" ? imageHeader(data) : undefined;
	const kind = kindSaid ?? (header ? "image" : "document");
	const mediaType = said ?? header?.mediaType;
	const dimensions = header?.dimensions;
	const tokens =
		kind === "image"
			? imageTokens(provider, { dimensions, detail })
			: kind === "document"
				? documentTokens(provider, { mediaType, data })
				: recordingTokens(provider, { kind, mediaType, data });
	return { path, kind, mediaType, bytes: data.bytes, dimensions, tokens, write };
}

/** Tokens of several media together. */
export function tokensOfMedia(media: readonly MediaNode[]): number {
	return media.reduce((sum, { tokens }) => sum + tokens, 0);
}

function kindOf(mediaType: string | undefined): MediaNode["kind"] | undefined {
	const family = mediaType?.split("/", 1)[0]?.toLowerCase();
	return family === "image" || family === "audio" || family === "video" ? family : undefined;
}

function writeTextPart(text: string) {
	return { type: "text", text };
}

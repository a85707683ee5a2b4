import type { MediaData } from "./media-data.ts";
import { type MediaProvider, tokensFor } from "./media-provider.ts";

/** Bytes of a PDF that are searched for pages. */
const searchedBytes = 192 * 1_024;
/** Bytes assumed of a page where none can be seen: low, so that no estimate is too small. */
const bytesPerPage = 50_000;
/** Pages assumed of a document that is only referred to. */
const assumedPages = 10;
/** Bytes of text assumed for a token. */
const bytesPerToken = 4;

/**
 * Tokens of a document, by its pages: 3 000 each for Anthropic, the upper end of what its guide gives
 * (docs.anthropic.com, "PDF support", "Estimate your costs"); 258 for Gemini (ai.google.dev, "Document understanding");
 * for OpenAI, which sends the image and the text of each page (platform.openai.com/docs/guides/pdf-files), 1 105 for an
 * upright page in high detail and an assumed 700 of text. Plain text counts as a token for each 4 bytes.
 */
export function documentTokens(
	provider: MediaProvider,
	document: { readonly mediaType: string | undefined; readonly data: MediaData },
): number {
	const { mediaType = "", data } = document;
	if (data.bytes !== undefined && isText(mediaType)) return Math.ceil(data.bytes / bytesPerToken);
	const pages = pagesOf(data);
	return tokensFor(provider, {
		openai: () => pages * 1_805,
		anthropic: () => pages * 3_000,
		gemini: () => pages * 258,
	});
}

function isText(mediaType: string): boolean {
	return /^text\/|^application\/(?:json|xml|yaml|x-yaml|javascript|x-sh|csv|toml)\b|\+(?:json|xml)\b/i.test(mediaType);
}

/** Pages, from the page objects in the beginning of a PDF, else from its size. */
function pagesOf({ bytes, head }: MediaData): number {
	if (bytes === undefined) return assumedPages;
	const beginning = head(searchedBytes);
	const text = Buffer.from(beginning.buffer, beginning.byteOffset, beginning.byteLength).toString("latin1");
	const seen = text.startsWith("%PDF") ? (text.match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0) : 0;
	const pages = seen === 0 ? bytes / bytesPerPage : seen * Math.max(1, bytes / beginning.byteLength);
	return Math.max(1, Math.ceil(pages));
}

import { type Dimensions, type MediaProvider, tokensFor } from "./media-provider.ts";

/** What is known of an image. */
export interface KnownImage {
	/** Pixels; `undefined` where not known. */
	readonly dimensions: Dimensions | undefined;
	/** OpenAI's `detail`: `low`, `high`, `auto` or `original`. */
	readonly detail: string | undefined;
}

/** Tokens of an image, by its provider's published rule; where its dimensions are not known, what that gives at most. */
export function imageTokens(provider: MediaProvider, image: KnownImage): number {
	return tokensFor(provider, {
		openai: () => openaiTokens(image),
		anthropic: () => anthropicTokens(image.dimensions),
		gemini: () => geminiTokens(image.dimensions),
	});
}

/**
 * OpenAI, models of the GPT-4o class: 85 tokens, and 170 for each tile of 512 px once the image is scaled down to fit
 * 2 048 px square and then to a shortest side of 768 px; 85 in low detail. Eight tiles are the most that leaves. In
 * `original` detail one token for each patch of 32 px, at most 10 000.
 * Source: platform.openai.com/docs/guides/images-vision, "Calculating costs".
 */
function openaiTokens({ dimensions, detail }: KnownImage): number {
	if (detail === "low") return 85;
	if (detail === "original") return Math.min(10_000, dimensions ? tiles(dimensions, 32) : 10_000);
	if (!dimensions) return 85 + 8 * 170;
	const fitting = scaleDown(dimensions, 2_048 / longEdge(dimensions));
	const scaled = scaleDown(fitting, 768 / Math.min(fitting.width, fitting.height));
	return 85 + tiles(scaled, 512) * 170;
}

/**
 * Anthropic: width × height / 750, once the image is scaled down to a long edge of 1 568 px and about 1 600 tokens.
 * Source: docs.anthropic.com, "Vision", "Evaluate image size".
 */
function anthropicTokens(dimensions: Dimensions | undefined): number {
	if (!dimensions) return 1_600;
	const { width, height } = scaleDown(dimensions, 1_568 / longEdge(dimensions));
	return Math.min(1_600, Math.ceil((width * height) / 750));
}

/**
 * Gemini: 258 tokens where both sides are at most 384 px, else 258 for each tile of 768 px (ai.google.dev, "Understand
 * and count tokens"), of an image that is first scaled down to 3 072 px square (ai.google.dev, "Image understanding").
 * One of unknown dimensions counts as the 1 120 that Gemini 3 gives one by default (ai.google.dev, "Media resolution").
 */
function geminiTokens(dimensions: Dimensions | undefined): number {
	if (!dimensions) return 1_120;
	if (longEdge(dimensions) <= 384) return 258;
	return tiles(scaleDown(dimensions, 3_072 / longEdge(dimensions)), 768) * 258;
}

function longEdge({ width, height }: Dimensions): number {
	return Math.max(width, height);
}

/** Scales both sides; an image is never scaled up. */
function scaleDown({ width, height }: Dimensions, factor: number): Dimensions {
	const least = (side: number) => Math.max(1, Math.round(side * Math.min(1, factor)));
	return { width: least(width), height: least(height) };
}

function tiles({ width, height }: Dimensions, side: number): number {
	return Math.ceil(width / side) * Math.ceil(height / side);
}

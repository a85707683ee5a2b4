import type { MediaNode } from "../../engine/transcript.ts";

/** Whose rules a format's media are estimated by; `any` where a format is sent to whichever provider. */
export type MediaProvider = KnownProvider | "any";

type KnownProvider = "openai" | "anthropic" | "gemini";

/** Width and height in pixels. */
export type Dimensions = NonNullable<MediaNode["dimensions"]>;

/** Tokens by one provider's rule; where it is not known which one will be asked, the largest of them. */
export function tokensFor(provider: MediaProvider, estimate: Readonly<Record<KnownProvider, () => number>>): number {
	if (provider !== "any") return estimate[provider]();
	return Math.max(estimate.openai(), estimate.anthropic(), estimate.gemini());
}

import { scaleTokens } from "../../conversation/measure.ts";
import type { Policy } from "../../policy/schema.ts";
import type { StreamLimit } from "./stream-limit.ts";

/** The limit of an excerpt. */
export type ExcerptLimit = Exclude<StreamLimit, { readonly kind: "head_tail" }>;

/** How an excerpt is measured. */
export interface LimitCheck {
	readonly unit: "chars" | "tokens";
	readonly most: number;
	/** What of the limit a text takes. */
	readonly sizeOf: (text: string) => number;
	/** Tokens of a text, on the side of more where the model's own are estimated. */
	readonly countTokens: (text: string) => number;
	readonly fits: (text: string) => boolean;
	/** Characters that an excerpt has at most, or so many that more would hardly fit. */
	readonly mostChars: number;
}

/** Blank or repeated text has many characters in a token; more than this in all is not gone after. */
const charsOfToken = 8;

/** Measures excerpts by a limit; loads a tokenizer only where tokens are what is limited. */
export async function limitCheck(limit: ExcerptLimit, policy: Policy): Promise<LimitCheck> {
	const { kind, most } = limit;
	if (kind === "chars") return charsCheck(most);
	const { tokenMeter } = await import("../../operations/count.ts");
	const { meter, estimate } = await tokenMeter(policy, policy.guard.model ?? undefined);
	const countTokens = (text: string) => scaleTokens({ tokens: meter.countTokens(text) }, estimate.scale).high;
	// No token is longer than 128 bytes, so that what is far too long need not be counted.
	const least = (text: string) => scaleTokens({ tokens: Math.ceil(text.length / 128) }, estimate.scale).low;
	const fits = (text: string) => least(text) <= most && countTokens(text) <= most;
	return { unit: "tokens", most, sizeOf: countTokens, countTokens, fits, mostChars: charsOfToken * most };
}

/** Measures excerpts in characters. */
export function charsCheck(most: number): LimitCheck {
	return {
		unit: "chars",
		most,
		sizeOf: ({ length }) => length,
		countTokens: (text) => Buffer.byteLength(text),
		fits: (text) => text.length <= most,
		mostChars: most,
	};
}

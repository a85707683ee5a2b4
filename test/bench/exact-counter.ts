import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

const specialTokensAsText = { disallowedSpecial: new Set<string>(), allowedSpecial: new Set<string>() };

/** The exact counter that peers are given and by which all outcomes are judged: gpt-tokenizer, o200k_base, as it comes. */
export function exactCount(text: string): number {
	return countTokens(text, specialTokensAsText);
}

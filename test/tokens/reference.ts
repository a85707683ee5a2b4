import * as cl100k from "gpt-tokenizer/encoding/cl100k_base";
import * as o200k from "gpt-tokenizer/encoding/o200k_base";
import * as harmony from "gpt-tokenizer/encoding/o200k_harmony";
import type { CountTokens } from "../../src/engine/measure.ts";
import type { EncodingName } from "../../src/tokens/encoding.ts";

const plain = { disallowedSpecial: new Set<string>(), allowedSpecial: new Set<string>() };

export const encodingNames: EncodingName[] = ["o200k_base", "cl100k_base", "o200k_harmony"];

/** gpt-tokenizer itself, unguarded. */
export const reference: Record<EncodingName, CountTokens> = {
	o200k_base: (text) => o200k.countTokens(text, plain),
	cl100k_base: (text) => cl100k.countTokens(text, plain),
	o200k_harmony: (text) => harmony.countTokens(text, plain),
};

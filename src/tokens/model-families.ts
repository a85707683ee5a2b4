import type { TokenScale } from "../engine/token-scale.ts";
import type { EncodingName } from "./encoding.ts";

/** Models that share a tokenizer which is not counted here, and what is known of it. */
export interface ModelFamily {
	readonly encoding: EncodingName;
	/** Tokens of theirs for each of `encoding`. */
	readonly scale: TokenScale;
}

/**
 * How many tokens the tokenizers of other makers need for each of the nearest encoding that is counted here. Measured
 * with the makers' public tokenizers on 173 recorded agent conversations in 13 formats and on prose, code, JSON and
 * Chinese; the numbers stand in `docs/tokens.md`. `factor` is the mean over conversations but where another source is
 * named, `low` and `high` the least and the largest of the 1st and 99th percentiles of conversations, the 5th and 95th
 * of their tool results and the means of the other kinds.
 */
export const modelFamilies = {
	/**
	 * Claude up to 4.6. No tokenizer is public. Two sources agree: the encoding `claude` of ai-tokenizer 1.0.6 with its
	 * multiplier of 1.1, which its author fitted to the API's counts (1.18 in the mean), and the usage that the API itself
	 * reported in 22 recorded sessions of Opus and Sonnet 4.5 and 4.6 (1.12 to 1.43, mean 1.21, delimiters included).
	 */
	claude: { encoding: "o200k_base", scale: { low: 1.05, factor: 1.2, high: 1.55 } },
	/**
	 * Claude from Opus 4.7 on, whose tokenizer makes about 30 % more tokens than the one before ("Token counting",
	 * platform.claude.com; 1.0 to 1.35 times as many by "What's new in Claude Opus 4.7"). By the API's own counter others
	 * measured 1.325 over real sessions, 1.46 on English prose and 1.0 on Chinese.
	 */
	"claude-4.7": { encoding: "o200k_base", scale: { low: 1.05, factor: 1.56, high: 1.95 } },
	/** Gemini, by the tokenizer of Gemma 3, which is that of Gemini 2.0 ("Gemma 3 Technical Report", "Tokenizer"). */
	gemini: { encoding: "o200k_base", scale: { low: 0.84, factor: 1.16, high: 1.34 } },
	/** Llama 3, whose vocabulary is cl100k_base with 28 000 tokens added for languages other than English. */
	"llama-3": { encoding: "cl100k_base", scale: { low: 0.75, factor: 1, high: 1.01 } },
	/** Mistral, by the tokenizer of Mistral Nemo (Tekken). */
	mistral: { encoding: "o200k_base", scale: { low: 1.01, factor: 1.12, high: 1.3 } },
	qwen: { encoding: "o200k_base", scale: { low: 0.86, factor: 1.08, high: 1.26 } },
	/** DeepSeek V3; the API's usage in 6 recorded sessions was 1.07 to 1.18, since calls cost more than their text. */
	deepseek: { encoding: "o200k_base", scale: { low: 0.79, factor: 1.1, high: 1.22 } },
	/** Command R+. */
	command: { encoding: "o200k_base", scale: { low: 0.88, factor: 1.15, high: 1.34 } },
	/**
	 * Grok, Kimi, GLM, Nova, MiniMax and models of OpenAI that are newer than the tables here: not measured. The band is
	 * that of all public tokenizers that were.
	 */
	unmeasured: { encoding: "o200k_base", scale: { low: 0.75, factor: 1.1, high: 1.34 } },
	/** A model of which nothing is known: the band of all families. */
	unknown: { encoding: "o200k_base", scale: { low: 0.75, factor: 1.2, high: 1.95 } },
} as const satisfies Readonly<Record<string, ModelFamily>>;

export type FamilyName = keyof typeof modelFamilies;

import { PalimpsestError } from "../errors.ts";

/** Where providers put the number of input tokens, and whether the cached ones stand beside it. */
const fields = [
	// Anthropic, and Bedrock's Converse: what was read from or written to a cache is not part of the number. OpenAI's
	// Responses and Vercel's AI SDK use the same names for all of it, and have none of the names beside it.
	{ name: "input_tokens", beside: ["cache_read_input_tokens", "cache_creation_input_tokens"] },
	{ name: "inputTokens", beside: ["cacheReadInputTokens", "cacheWriteInputTokens"] },
	// OpenAI's Chat Completions and all that speak it, and Gemini, whose Python SDK has its own spelling: of all.
	{ name: "prompt_tokens", beside: [] },
	{ name: "promptTokenCount", beside: [] },
	{ name: "prompt_token_count", beside: [] },
] as const;

/**
 * The input tokens in a provider's `usage`, as a whole: Anthropic's, OpenAI's, Gemini's or Bedrock's, or just
 * `{input_tokens}`.
 *
 * @throws PalimpsestError `invalid_argument` where it holds no such number.
 */
export function inputTokensOf(usage: unknown): number {
	if (typeof usage === "object" && usage !== null) {
		const numbers = usage as Readonly<Record<string, unknown>>;
		const field = fields.find(({ name }) => Object.hasOwn(numbers, name));
		const values = field ? [numbers[field.name], ...field.beside.map((name) => numbers[name] ?? 0)] : [];
		if (values.length > 0 && values.every(isCount)) return values.reduce((sum, value) => sum + value, 0);
	}
	throw new PalimpsestError(
		"invalid_argument",
		"Expected `usage` to hold `input_tokens`, a whole number of tokens, or to be the usage object of an answer by Anthropic, OpenAI, Gemini or Bedrock.",
	);
}

function isCount(value: unknown): value is number {
	return Number.isSafeInteger(value) && (value as number) >= 0;
}

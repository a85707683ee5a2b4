import { describe, expect, it } from "vitest";
import { inputTokensOf } from "../../src/tokens/input-tokens.ts";

describe("inputTokensOf", () => {
	it.each([
		["the number alone", { input_tokens: 7 }, 7],
		[
			"Anthropic's",
			{ input_tokens: 4, cache_creation_input_tokens: 248, cache_read_input_tokens: 1_800, output_tokens: 503 },
			2_052,
		],
		["Anthropic's without a cache", { input_tokens: 4, cache_read_input_tokens: null, output_tokens: 5 }, 4],
		["OpenAI's Responses", { input_tokens: 90, input_tokens_details: { cached_tokens: 64 }, output_tokens: 5 }, 90],
		["Chat Completions'", { prompt_tokens: 90, completion_tokens: 5, total_tokens: 95 }, 90],
		["a gateway's, of all", { prompt_tokens: 90, cache_read_input_tokens: 64, completion_tokens: 5 }, 90],
		["Gemini's", { promptTokenCount: 90, cachedContentTokenCount: 64, candidatesTokenCount: 5 }, 90],
		[
			"Gemini's from Python",
			{ prompt_token_count: 90, cached_content_token_count: null, candidates_token_count: 5 },
			90,
		],
		["Bedrock's", { inputTokens: 9, cacheReadInputTokens: 50, cacheWriteInputTokens: 1, outputTokens: 5 }, 60],
	])("reads %s", (_what, usage, tokens) => {
		expect(inputTokensOf(usage)).toBe(tokens);
	});

	it.each([
		null,
		7,
		"7",
		{},
		[],
		{ output_tokens: 7 },
		{ input_tokens: "7" },
		{ input_tokens: -1 },
		{ input_tokens: 0.5 },
		{ input_tokens: 7, cache_read_input_tokens: "many" },
	])("refuses %j", (usage) => {
		expect(() => inputTokensOf(usage)).toThrow(
			expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining("`input_tokens`") }),
		);
	});
});

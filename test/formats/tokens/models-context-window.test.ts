import { afterEach, describe, expect, it, vi } from "vitest";
import { contextWindowOfModel } from "../../../src/formats/tokens/models.ts";

afterEach(() => vi.unstubAllGlobals());

describe("contextWindowOfModel", () => {
	it.each([
		["gpt-4o", 128_000],
		["gpt-4", 8_192],
		["o3", 200_000],
		["claude-sonnet-4-5", 200_000],
		["claude-sonnet-4-5-20250929", 200_000],
		["gemini-2.5-flash", 1_048_576],
		["deepseek-chat", 128_000],
		["deepseek-reasoner", 128_000],
		["openrouter/deepseek/deepseek-chat-v3.1", 128_000],
		["deepseek-v3.2", 128_000],
		["grok-4", 256_000],
	])("has %s at %i tokens", async (model, tokens) => {
		expect(await contextWindowOfModel(model)).toEqual({ tokens, notes: [] });
	});

	it.each([
		["gpt-5", 400_000, 272_000],
		["openai/gpt-5-mini", 400_000, 272_000],
		["gpt-6-astra", 1_050_000, 922_000],
	])("has %s at %i tokens, of which %i are the largest input", async (model, tokens, largestInput) => {
		expect(await contextWindowOfModel(model)).toEqual({ tokens, largestInput, notes: [] });
	});

	it.each(["gpt-99", "openai/gpt-99-mini", "claude-opus-42", "gemini-77-pro"])(
		"assumes nothing for %s",
		async (model) => {
			expect(await contextWindowOfModel(model)).toBeUndefined();
		},
	);

	it.each([
		...["claude-fable-5-2", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "opus[1m]"],
		...["us.anthropic.claude-opus-5-5-20261020-v1:0", "claude-opus-5-5@20261020", "au.anthropic.claude-haiku-5-5"],
	])("has the current %s at a million tokens", async (model) => {
		expect(await contextWindowOfModel(model)).toMatchObject({ tokens: 1_000_000, notes: [] });
	});

	it.each([
		["openai/gpt-4o", 128_000],
		["openrouter/openai/gpt-4o", 128_000],
		["gateway-of-ours/gpt-4o", 128_000],
		["anthropic/claude-sonnet-4-5", 200_000],
		["anthropic/claude-sonnet-4.5", 200_000],
		["claude-sonnet-4.5", 200_000],
		["google/gemini-2.5-flash", 1_048_576],
		["GPT-4o", 128_000],
		[" gpt-4o\n", 128_000],
		["anthropic.claude-3-5-sonnet-20240620-v1:0", 200_000],
		["us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000],
		["bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000],
		["us.amazon.nova-pro-v1:0", 300_000],
		["ft:gpt-4o-mini-2024-07-18:acme::id", 128_000],
		["openai/ft:gpt-3.5-turbo-0125:acme:name:id", 16_385],
	])("resolves %j", async (model, tokens) => {
		expect(await contextWindowOfModel(model)).toEqual({ tokens, notes: [] });
	});

	it.each(["claude-opus-4.0", "claude-fable-5.1", "x-ai/grok-4.1-fast-reasoning"])(
		"finds %s under the name with a hyphen for the dot",
		async (model) => {
			const window = await contextWindowOfModel(model.replace(".", "-"));
			expect(window).toEqual({ tokens: expect.any(Number), notes: [] });
			expect(await contextWindowOfModel(model)).toEqual(window);
		},
	);

	it.each(["", " ", "/", "openai/", "openai/nope", "nope", "gpt-nope", "x.y", "constructor", "__proto__"])(
		"knows nothing of %j",
		async (model) => {
			expect(await contextWindowOfModel(model)).toBeUndefined();
		},
	);

	it.each(["gemini-2.5-pro", "google/gemini-2.5-pro", "gemini-2.5-pro-preview-06-05", "gemini-3-pro-preview"])(
		"uses the window documented by the maker when the catalogue has none: %s",
		async (model) => {
			expect(await contextWindowOfModel(model)).toEqual({ tokens: 1_048_576, notes: [] });
		},
	);

	it.each(["claude-sonnet-4-5[1m]", "claude-opus-4-1[1m]", "anthropic/claude-sonnet-9[1M]", "sonnet[1m]"])(
		"uses the window of a million tokens from Claude Code's model suffix: %s",
		async (model) => {
			expect(await contextWindowOfModel(model)).toEqual({ tokens: 1_000_000, notes: [] });
		},
	);

	it("uses no network", async () => {
		const fetch = vi.fn();
		vi.stubGlobal("fetch", fetch);
		await contextWindowOfModel("gpt-4o");
		await contextWindowOfModel("nope");
		expect(fetch).not.toHaveBeenCalled();
	});

	it.each([
		// Gemini CLI's default model, which the catalogue lists without a window.
		["gemini-3.1-pro-preview", 1_048_576, "gemini-3-pro-preview"],
		["models/gemini-3.1-pro-preview", 1_048_576, "gemini-3-pro-preview"],
		["google/gemini-3.1-pro-preview-customtools", 1_048_576, "gemini-3-pro-preview"],
		["openrouter/google/gemini-4-pro:free", 1_048_576, "gemini-3-pro-preview"],
		["gemini-pro-latest", 1_048_576, "gemini-3-pro-preview"],
		["claude-opus-4-3", 200_000, "claude-opus-4-1"],
		["anthropic.claude-haiku-6-20270101-v1:0", 200_000, "claude-haiku-4-5"],
		["us.anthropic.claude-haiku-6-20270101-v1:0", 200_000, "claude-haiku-4-5"],
		["databricks-claude-haiku-6", 200_000, "claude-haiku-4-5"],
		["haiku", 200_000, "claude-3-5-haiku-latest"],
		["anthropic.claude-haiku-v1:12", 200_000, "claude-3-5-haiku-latest"],
		["grok-2027-11-01", 32_768, "grok-2-1212"],
		["gpt-5.9-mini", 400_000, "gpt-5.4-mini"],
		["gpt-4.1-2030-01-01-preview", 1_000_000, "gpt-4.1"],
		["gpt-oss:20b", 131_072, "gpt-oss-120b"],
		["o5", 200_000, "o3"],
		["o5-mini-2027-01-01", 200_000, "o4-mini"],
		["grok-5", 500_000, "grok-4.6"],
		["deepseek-v4", 128_000, "deepseek-v3.2"],
		["deepseek-r2", 64_000, "deepseek/deepseek-r1"],
		["qwen2.5-coder:7b", 32_768, "qwen/qwen-2.5-coder-32b-instruct"],
		["qwen3:8b", 32_000, "qwen.qwen3-32b-v1:0"],
		["llama3:8b", 8_192, "meta.llama3-70b-instruct-v1:0"],
		["meta-llama/llama-3.1-70b-instruct", 128_000, "meta.llama3-1-70b-instruct-v1:0"],
		["mistral-large-2407", 32_000, "mistral.mistral-large-2402-v1:0"],
		["kimi-k4", 1_048_576, "kimi-k3"],
		["glm-4.6", 131_072, "z-ai/glm-4.5"],
		["openrouter/z-ai/glm-5.3:free", 1_048_576, "z-ai/glm-5.3"],
		["minimax-m4", 204_800, "minimax/minimax-m2.1"],
		["command-r", 128_000, "cohere/command-r-08-2024"],
		["codestral-9b", 256_000, "codestral"],
		["devstral-9b", 262_144, "devstral-2512"],
		["ministral-9b-instruct", 131_072, "ministral-3b-2512"],
		["gpt-9-xmini", 1_050_000, "gpt-6-astra"],
		["gpt-9-minix", 1_050_000, "gpt-6-astra"],
		["qwen-code", 32_000, "qwen.qwen3-32b-v1:0"],
		["gpt-9-mini-turbo", 400_000, "gpt-5.4-mini"],
		["gemini-9-lite-flash", 1_000_000, "gemini-3.5-flash-lite"],
		["claude-instant-9", 1_000_000, "claude-opus-5-5"],
		["v2-claude-haiku-6", 200_000, "claude-haiku-4-5"],
		["claude-haiku-6[beta]", 200_000, "claude-haiku-4-5"],
		["claude-haiku[beta]", 200_000, "claude-3-5-haiku-latest"],
		["anthropic.claude-haiku-v12:0", 200_000, "claude-3-5-haiku-latest"],
		["anthropic.claude-haiku-12:0", 200_000, "claude-3-5-haiku-latest"],
		["anthropic/claude-haiku:extended", 200_000, "claude-3-5-haiku-latest"],
		["grok-03-25", 32_768, "grok-2-1212"],
		["gpt-35-turbo-9", 16_385, "gpt-3.5-turbo"],
		["gpt-5.12-mini", 400_000, "gpt-5-mini"],
		["gemini-4-flash-imagex", 1_000_000, "gemini-3.8-flash"],
		["gemma-3-9b", 128_000, "google.gemma-3-12b-it"],
		["gemma-2-9", 8_192, "google/gemma-2-27b-it"],
		["grok-9-fast", 2_000_000, "grok-4-1-fast-non-reasoning"],
		["kimi-latest", 1_048_576, "kimi-k3"],
		["glm-5.1-x", 131_072, "z-ai/glm-4.5"],
		["glm-5-turbo-9", 202_752, "z-ai/glm-5-turbo"],
		["minimax-m1.5", 1_000_000, "minimax/minimax-m1"],
		["command-r7b", 128_000, "cohere/command-r-08-2024"],
		["llama-4-scout-9", 10_000_000, "meta.llama4-scout-17b-instruct-v1:0"],
		["llama-4-maverick-9", 131_072, "meta-llama/llama-4-maverick-17b-128e-instruct"],
		["llama3.2-9b", 60_000, "meta-llama/llama-3.2-1b-instruct"],
		["mistral-9", 32_000, "mistral.mixtral-8x7b-instruct-v0:1"],
		["mistral-large-9", 256_000, "mistral.mistral-large-3-675b-instruct"],
		["claude-sonnet-9", 1_000_000, "claude-sonnet-5"],
		["claude-opus-latest", 1_000_000, "claude-opus-5-5"],
		["opus", 200_000, "claude-3-opus-latest"],
		["sonnet", 200_000, "claude-3-5-sonnet"],
		["gpt-latest", 1_050_000, "gpt-6-astra"],
		["o1-9", 128_000, "o1-preview"],
		["gemini-1.8-pro", 1_000_000, "gemini-1.5-pro"],
		["gemini-2.2-flash", 1_000_000, "gemini-2.0-flash"],
		["grok-3.5-mini", 131_072, "grok-3-mini"],
		["qwen-max-9", 1_000_000, "qwen/qwen3.7-max"],
		["qwen2.5-72b", 32_768, "qwen/qwen-2.5-7b-instruct"],
		["qwen3-coder-9b", 128_000, "qwen.qwen3-coder-480b-a35b-v1:0"],
		["gpt_9_mini", 400_000, "gpt-5-mini"],
		["x.gpt-9", 1_050_000, "gpt-6-astra"],
		["gpt-9b", 8_192, "gpt-4"],
		["deepseek-v3p1-x", 128_000, "deepseek-v3.1-terminus"],
		["qwen3-8k", 32_000, "qwen.qwen3-32b-v1:0"],
	])("gives %s the window of its nearest relative, %i tokens, and names it: %s", async (model, tokens, like) => {
		const window = await contextWindowOfModel(model);
		expect(window?.tokens).toBe(tokens);
		expect(window?.notes).toEqual([expect.stringContaining(`the window of ${like} is assumed: ${tokens} tokens`)]);
		expect(window?.notes[0]).toContain(JSON.stringify(model));
	});

	it.each([
		["names no model of the family", "gpt-nope"],
		["names a family inside of another word", "codellama-7b"],
		["is older than all known models", "llama-2-13b-chat"],
		["is not a chat model", "gemini-4-flash-image"],
		["is a distilled model, which has the window of neither", "deepseek-r9-distill-llama-70b"],
		["ends with the tier of a family", "my-opus"],
		["says a window and no name", "[1m]"],
		["says no size after a letter", "ministral-x9b"],
		["says no size before a letter", "ministral-9bx"],
		["says a size in front of its kind", "gemini-4-flash-12v"],
		["says a long size in front of its kind", "gemini-4-flash-4.55v"],
		["is older than each of its family", "kimi-k1.5"],
		["says a length and no version", "grok-4k"],
		["holds the family's name after a letter", "xgpt-9"],
		["ends with the family and a colon", "gpt:9"],
	])("assumes no window for a name that %s: %s", async (_, model) => {
		expect(await contextWindowOfModel(model)).toBeUndefined();
	});

	it.each(
		"image audio tts realtime live transcribe embed embeds embedding embeddings ocr guard safeguard vision vl voice sonic search omni distill extended 2v 4.5v".split(
			" ",
		),
	)("assumes no window for a model of another kind: gemini-4-flash-%s", async (word) => {
		expect(await contextWindowOfModel(`gemini-4-flash-${word}`)).toBeUndefined();
		expect(await contextWindowOfModel(`gemini-4-flash-x${word}`)).toBeDefined();
	});
});

import { afterEach, describe, expect, it, vi } from "vitest";
import { contextWindowOfModel } from "../../src/tokens/models.ts";

afterEach(() => vi.unstubAllGlobals());

describe("contextWindowOfModel", () => {
	it.each([
		["gpt-4o", 128_000],
		["gpt-4", 8_192],
		["gpt-5", 400_000],
		["o3", 200_000],
		["claude-sonnet-4-5", 200_000],
		["claude-sonnet-4-5-20250929", 200_000],
		["gemini-2.5-flash", 1_048_576],
		["deepseek-chat", 64_000],
		["grok-4", 256_000],
	])("has %s at %i tokens", async (model, tokens) => {
		expect(await contextWindowOfModel(model)).toEqual({ tokens, notes: [] });
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
	])("gives %s the window of its nearest relative, %i tokens, and names it: %s", async (model, tokens, like) => {
		const window = await contextWindowOfModel(model);
		expect(window?.tokens).toBe(tokens);
		expect(window?.notes).toEqual([expect.stringContaining(`that of ${like} is assumed: ${tokens} tokens`)]);
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

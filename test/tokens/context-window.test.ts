import { afterEach, describe, expect, it, vi } from "vitest";
import { contextWindowOfModel } from "../../src/tokens/context-window.ts";

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
		expect(await contextWindowOfModel(model)).toBe(tokens);
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
		expect(await contextWindowOfModel(model)).toBe(tokens);
	});

	it.each(["", " ", "/", "openai/", "openai/nope", "nope", "gpt-nope", "x.y", "constructor", "__proto__"])(
		"knows nothing of %j",
		async (model) => {
			expect(await contextWindowOfModel(model)).toBeUndefined();
		},
	);

	it.each(["gemini-2.5-pro", "google/gemini-2.5-pro", "gemini-2.5-pro-preview-06-05", "gemini-3-pro-preview"])(
		"takes the window that the maker documents where the catalogue lists none: %s",
		async (model) => {
			expect(await contextWindowOfModel(model)).toBe(1_048_576);
		},
	);

	it("does not guess where the catalogue lists none and whoever serves the model decides", async () => {
		expect(await contextWindowOfModel("glm-4.6")).toBeUndefined();
		expect(await contextWindowOfModel("meta-llama/llama-3.1-70b-instruct")).toBeUndefined();
	});

	it("asks no network", async () => {
		const fetch = vi.fn();
		vi.stubGlobal("fetch", fetch);
		await contextWindowOfModel("gpt-4o");
		await contextWindowOfModel("nope");
		expect(fetch).not.toHaveBeenCalled();
	});
});

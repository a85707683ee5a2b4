import { describe, expect, it } from "vitest";
import { familyOfModel, modelFamilies, modelNames, versionOfClaude } from "../../../src/formats/tokens/models.ts";

describe("familyOfModel", () => {
	it.each([
		["claude-3-haiku-20240307", "claude"],
		["claude-3-5-sonnet-latest", "claude"],
		["claude-sonnet-4-20250514", "claude"],
		["claude-opus-4-1", "claude"],
		["anthropic/claude-sonnet-4.5", "claude"],
		["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude"],
		["claude-opus-4-6", "claude"],
		["claude-instant-v1", "claude"],
		["claude-2.1", "claude"],
		["claude-opus-4-7", "claude-4.7"],
		["openrouter/anthropic/claude-opus-4.8", "claude-4.7"],
		["claude-sonnet-5", "claude-4.7"],
		["claude-opus-5-5-20261001", "claude-4.7"],
		["claude-mythos-preview", "claude-4.7"],
		["Claude", "claude-4.7"],
		["gemini-2.5-pro", "gemini"],
		["google/gemma-3-27b-it", "gemini"],
		["meta-llama/Llama-3.3-70B-Instruct", "llama-3"],
		["llama3.1:8b", "llama-3"],
		["llama-4-scout", "unmeasured"],
		["mistral-large-latest", "mistral"],
		["mixtral-8x7b", "mistral"],
		["devstral-2512", "mistral"],
		["qwen3-coder-plus", "qwen"],
		["deepseek-chat", "deepseek"],
		["ollama/qwen3:8b", "qwen"],
		["ollama/gpt-oss:20b", "unmeasured"],
		["llamacpp/mistral-nemo", "mistral"],
		["ollama/llama3:8b", "llama-3"],
		["meta-llama/llama-3.3-70b-instruct", "llama-3"],
		["sonnet", "claude-4.7"],
		["opus[1m]", "claude-4.7"],
		["opusplan", "claude-4.7"],
		["claude-haiku-5-5", "claude-4.7"],
		["claude-fable-5-2", "claude-4.7"],
		["deepseek-r1-distill-llama-70b", "unmeasured"],
		["deepseek-r1-distill-qwen-32b", "qwen"],
		["command-r-plus-08-2024", "command"],
		["grok-4-fast", "unmeasured"],
		["amazon.nova-pro-v1:0", "unmeasured"],
		["glm-4.6", "unmeasured"],
		["moonshotai/kimi-k2", "unmeasured"],
		["gpt-6-luna", "unmeasured"],
	])("%s is of %s", async (model, family) => {
		expect(await familyOfModel(model)).toBe(family);
	});

	it("uses the catalogue when the name is inconclusive", async () => {
		expect(await familyOfModel("chatgpt-image-latest")).toBe("unmeasured");
		expect(await familyOfModel("openai/davinci")).toBe("unmeasured");
		expect(await familyOfModel("cohere/embed-v4.0")).toBe("command");
		expect(await familyOfModel("sonar-pro")).toBe("unknown");
	});

	it.each(["", "/", "-", "nobody-1", "constructor", "__proto__", "x".repeat(10_000)])(
		"knows nothing of %j, without an error",
		async (model) => {
			expect(await familyOfModel(model)).toBe("unknown");
		},
	);
});

describe("versionOfClaude", () => {
	it.each([
		["claude-3-haiku-20240307", 3],
		["claude-3-5-sonnet-20241022", 3.5],
		["claude-sonnet-4-20250514", 4],
		["anthropic/claude-sonnet-4.5", 4.5],
		["claude-opus-4-8@20260528", 4.8],
		["claude-opus-5", 5],
		["claude-opus-12-1", 12.1],
		["claude-mythos-preview", undefined],
		["gpt-4", undefined],
	])("%s: %s", (model, version) => {
		expect(versionOfClaude(model)).toBe(version);
	});
});

describe("modelFamilies", () => {
	it.each(Object.entries(modelFamilies))("%s has its factor inside its band", (_name, { scale }) => {
		expect(scale.low).toBeLessThanOrEqual(scale.factor);
		expect(scale.factor).toBeLessThanOrEqual(scale.high);
		expect(scale.low).toBeGreaterThan(0);
	});

	it("an unknown model has the widest band", () => {
		const { unknown, ...others } = modelFamilies;
		const all = Object.values(others).map(({ scale }) => scale);
		expect(unknown.scale.low).toBe(Math.min(...all.map(({ low }) => low)));
		expect(unknown.scale.high).toBe(Math.max(...all.map(({ high }) => high)));
	});
});

describe("modelNames", () => {
	it("lists the names that begin as typed, sorted, each once", async () => {
		const names = await modelNames(" GPT-4o");
		expect(names).toContain("gpt-4o-mini");
		expect(names.filter((name) => !name.startsWith("gpt-4o"))).toEqual([]);
		expect(names).toEqual([...new Set(names)].sort());
		expect(await modelNames("no such model")).toEqual([]);
	});
});

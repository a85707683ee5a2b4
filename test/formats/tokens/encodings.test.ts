import { describe, expect, it } from "vitest";
import { encodingForModel } from "../../../src/formats/tokens/encodings.ts";

describe("encodingForModel", () => {
	it.each([
		["gpt-4o", "o200k_base"],
		["gpt-4o-mini", "o200k_base"],
		["gpt-4.1", "o200k_base"],
		["gpt-5", "o200k_base"],
		["gpt-5.1-codex", "o200k_base"],
		["o3", "o200k_base"],
		["o4-mini", "o200k_base"],
		["gpt-4", "cl100k_base"],
		["gpt-4-turbo", "cl100k_base"],
		["gpt-3.5-turbo", "cl100k_base"],
		["text-embedding-3-small", "cl100k_base"],
		["gpt-oss-120b", "o200k_harmony"],
		["gpt-oss-20b", "o200k_harmony"],
	])("has an encoding for %s", (model, encoding) => {
		expect(encodingForModel(model)).toBe(encoding);
	});

	it.each([
		["openai/gpt-4o", "o200k_base"],
		["openrouter/openai/gpt-4-turbo", "cl100k_base"],
		["GPT-4o", "o200k_base"],
		["ft:gpt-4o-mini-2024-07-18:acme::id", "o200k_base"],
		["ft:gpt-3.5-turbo:acme::id", "cl100k_base"],
		["openai.gpt-oss-120b-1:0", "o200k_harmony"],
		["us.openai.gpt-oss-20b-1:0", "o200k_harmony"],
		[" gpt-4o\n", "o200k_base"],
		["us-gov.openai.gpt-oss-20b-1:0", "o200k_harmony"],
		["models/ gpt-4o", "o200k_base"],
	])("ignores provider and fine-tune in %s", (model, encoding) => {
		expect(encodingForModel(model)).toBe(encoding);
	});

	it.each([
		["gpt-4o-2025-01-01", "o200k_base"],
		["gpt-4-2099-01-01", "cl100k_base"],
		["gpt-4-32k-0613", "cl100k_base"],
		["gpt-3.5-turbo-16k", "cl100k_base"],
		["o3-2099-01-01", "o200k_base"],
		["gpt-oss-120b-turbo", "o200k_harmony"],
		["gpt-oss:20b", "o200k_harmony"],
		["ollama/gpt-oss:latest", "o200k_harmony"],
		["gpt-35-turbo", "cl100k_base"],
		["azure/gpt-35-turbo-16k", "cl100k_base"],
	])("uses the longest listed name in %s", (model, encoding) => {
		expect(encodingForModel(model)).toBe(encoding);
	});

	it.each([
		"",
		"/",
		"-",
		"nope",
		"gpt",
		"gpt-6",
		"gpt-5.99",
		"gpt-4oo",
		"gpt-4ft:o",
		"gpt-4openai.o",
		"9.openai.gpt-4o",
		"openaigpt-4o",
		"claude-sonnet-4-5",
		"anthropic/claude-sonnet-4.5",
		"gemini-2.5-pro",
		"constructor",
		"__proto__",
	])("knows nothing of %j", (model) => {
		expect(encodingForModel(model)).toBeUndefined();
	});

	it.each(["davinci", "text-davinci-003", "gpt2"])("omits %s, whose encoding is not available here", (model) => {
		expect(encodingForModel(model)).toBeUndefined();
	});
});

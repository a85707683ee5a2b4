import { describe, expect, it } from "vitest";
import { inputTokensOf, requestOverhead } from "../../../src/formats/tokens/request.ts";

describe("inputTokensOf", () => {
	it.each([
		["only the number", { input_tokens: 7 }, 7],
		["a prompt of nothing", { input_tokens: 0 }, 0],
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
		{ input_tokens: 7, cache_creation_input_tokens: -1 },
		{ inputTokens: 7, cacheReadInputTokens: "many" },
		{ inputTokens: 7, cacheWriteInputTokens: 0.5 },
		[7],
	])("refuses %j", (usage) => {
		expect(() => inputTokensOf(usage)).toThrow(
			expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining("`input_tokens`") }),
		);
	});
});

/** Words and marks: each is a token or two in every encoding. */
const countTokens = (text: string) => text.match(/\w+|[^\w\s]/g)?.length ?? 0;

const weather = {
	name: "get_current_weather",
	description: "Get the current weather in a given location",
	parameters: {
		type: "object",
		properties: {
			location: { type: "string", description: "The city and state, e.g. San Francisco, CA" },
			unit: { type: "string", description: "The unit of temperature to return", enum: ["celsius", "fahrenheit"] },
		},
		required: ["location"],
	},
};

const tools = [{ type: "function", function: weather }];

/** The tokens of functions, by the overhead of a request whose tools' JSON is not counted. */
const functionTokens = (these: unknown, model = "gpt-4o", count = countTokens) =>
	requestOverhead({ model, tools: these, toolTokens: 0, countTokens: count });

describe("the tokens of functions for OpenAI's models", () => {
	it("add up names, types, descriptions without their full stops, and values", () => {
		const properties = {
			p: { type: "integer", description: "e." },
			q: { type: "boolean" },
			r: { type: "number", enum: ["x", "yy", 3] },
			s: { type: "string", enum: "none", description: 7 },
		};
		const tool = { type: "function", function: { name: "ab", description: "C.d.", parameters: { properties } } };
		const tokensOf = (these: unknown, model = "gpt-4o") => functionTokens(these, model, (text) => text.length);
		// "ab:C.d", "p:integer:e", "q:boolean:", "r:number:", three values and "s:string:".
		const tokens = 7 + 6 + 3 + (3 + 11) + (3 + 10) + (3 + 9 + 4 + 5 + 3 - 3) + (3 + 9) + 12;
		expect(tokensOf([tool])).toBe(tokens);
		expect(tokensOf([tool, tool])).toBe(2 * tokens);
		expect(tokensOf([tool], "gpt-4")).toBe(tokens + 3);
		const bare = { type: "function", name: "ab", parameters: { type: "object" } };
		expect(tokensOf([bare])).toBe(7 + 3 + 12);
		const untyped = { ...bare, description: 7, parameters: { properties: { p: { type: "string", description: "" } } } };
		expect(tokensOf([untyped])).toBe(7 + 3 + 3 + (3 + 9) + 12);
	});

	it("are read from the Responses form too, and functions without parameters", () => {
		const flat = [{ type: "function", ...weather }];
		expect(functionTokens(flat)).toBe(functionTokens(tools));
		const bare = [{ type: "function", function: { name: "ls" } }];
		expect(functionTokens(bare)).toBe(7 + countTokens("ls:") + 12);
	});

	it.each([
		["an object inside", { properties: { filter: { type: "object", properties: { a: { type: "string" } } } } }],
		["a list", { properties: { paths: { type: "array", items: { type: "string" } } } }],
		["alternatives", { properties: { a: { anyOf: [{ type: "string" }, { type: "number" }] } } }],
		["no list of properties", { properties: [] }],
		["nothing that names them", "none"],
		["a property that is not an object", { properties: { a: { type: "string" }, b: "string" } }],
	])("are unknown of parameters with %s", (_what, parameters) => {
		const deep = [...tools, { type: "function", function: { ...weather, parameters } }];
		expect(requestOverhead({ model: "gpt-4o", tools: deep, toolTokens: 5, countTokens })).toBe(0);
	});

	it.each([
		undefined,
		null,
		"tools",
		{},
		[null],
		[{ type: "web_search" }],
		[{ type: "web_search", name: "a" }],
		[{ type: "function" }],
		[{ type: "function", function: { name: 7 } }],
	])("are unknown of %j", (anything) => {
		expect(requestOverhead({ model: "gpt-4o", tools: anything, toolTokens: 5, countTokens })).toBe(0);
	});
});

describe("requestOverhead", () => {
	const toolTokens = countTokens(JSON.stringify(tools));
	const overhead = (model: string, these: unknown = tools) =>
		requestOverhead({ model, tools: these, toolTokens, countTokens });

	it("replaces the JSON of functions by OpenAI's form", () => {
		expect(overhead("gpt-4o")).toBe(functionTokens(tools) - toolTokens);
		expect(overhead("gpt-4o")).toBeLessThan(0);
		expect(overhead("gpt-4") - overhead("gpt-4o")).toBe(3);
		expect(overhead("gpt-4o", [{ type: "web_search" }])).toBe(0);
		expect(overhead("gpt-oss-120b")).toBe(0);
		expect(overhead("gpt-4o", [])).toBe(0);
		expect(overhead("gpt-4o", { a: 1 })).toBe(0);
	});

	it.each([
		["claude-3-opus-20240229", 530],
		["claude-3-haiku-20240307", 264],
		["claude-3-5-haiku-latest", 264],
		["claude-3-sonnet-20240229", 159],
		["claude-3-7-sonnet-latest", 346],
		["claude-sonnet-4-20250514", 313],
		["claude-opus-4-1", 313],
		["anthropic/claude-sonnet-4.5", 497],
		["claude-opus-4-6", 497],
		["claude-opus-4-7", 675],
		["claude-opus-4-8", 290],
		["claude-sonnet-5", 354],
		["claude-haiku-3", 264],
		["claude-opus-3-latest", 530],
		["claude-3.5-sonnet", 346],
		["claude-3.7-sonnet", 346],
		["Claude-Opus-4.8", 290],
		["us.anthropic.claude-opus-4-7-v1:0", 675],
		["claude-4.4", 313],
		["claude-sonnet-4.6", 497],
		["claude-haiku-4.7", 354],
		["claude", 354],
	])("adds the prompt for tools of %s", (model, tokens) => {
		expect(overhead(model)).toBe(tokens);
		expect(overhead(model, { search: {} })).toBe(tokens);
		for (const none of [[], {}, null, "tools"]) expect(overhead(model, none)).toBe(0);
	});

	it("adds nothing without documentation", () => {
		for (const model of ["gemini-2.5-pro", "nobody-1", ""]) expect(overhead(model)).toBe(0);
	});
});

import { isJsonObject } from "../../engine/conversation/json.js";
import { PalimpsestError } from "../../errors.js";
import { encodingForModel } from "./encodings.js";
import { versionOfClaude } from "./models.js";

/** The providers' names of input tokens, and of cached tokens that are not part of them. */
const fields = [
	// Of Anthropic, and of Bedrock's Converse. OpenAI's Responses and Vercel's AI SDK use these names for all input tokens.
	{ name: "input_tokens", beside: ["cache_read_input_tokens", "cache_creation_input_tokens"] },
	{ name: "inputTokens", beside: ["cacheReadInputTokens", "cacheWriteInputTokens"] },
	// Of OpenAI's Chat Completions, of Gemini and of its Python SDK.
	{ name: "prompt_tokens", beside: [] },
	{ name: "promptTokenCount", beside: [] },
	{ name: "prompt_token_count", beside: [] },
];
/** Reads the usage of Anthropic, OpenAI, Gemini or Bedrock. Throws PalimpsestError `invalid_argument` if it has no such number. */
export function inputTokensOf(usage) {
	const numbers = isJsonObject(usage) ? usage : {};
	const field = fields.find(({ name }) => Object.hasOwn(numbers, name));
	const values = field ? [numbers[field.name], ...field.beside.map((name) => numbers[name] ?? 0)] : [];
	if (field && values.every(isCount)) return values.reduce((sum, value) => sum + value, 0);
	throw new PalimpsestError(
		"invalid_argument",
		"Expected `usage` to hold `input_tokens`, a whole number of tokens, or to be the usage object of an answer by Anthropic, OpenAI, Gemini or Bedrock.",
	);
}
function isCount(value) {
	return Number.isSafeInteger(value) && value >= 0;
}
/**
 * Tokens of the system prompt that Anthropic adds to a request with tools and `tool_choice` auto. Source:
 * platform.claude.com, "Tool use with Claude", "Pricing" (for Claude 3, earlier versions of it).
 */
const toolPrompts = [
	[/haiku-3|3-5-haiku|3-haiku/, 264],
	[/opus-3|3-opus/, 530],
	[/3-sonnet/, 159],
	[/3-[57]/, 346],
	[/opus-4-8/, 290],
	[/opus-4-7/, 675],
];
/**
 * The documented tokens of a request in addition to its texts and its messages' delimiters, or 0. Negative if function schemas cost
 * less than their JSON. The 3 tokens that prime a reply of OpenAI's models belong to the reserve for the answer.
 */
export function requestOverhead(request) {
	const { model, tools, toolTokens, countTokens } = request;
	if (typeof tools !== "object" || tools === null || Object.keys(tools).length === 0) return 0;
	const encoding = encodingForModel(model);
	if (encoding === undefined) return /claude/i.test(model) ? anthropicToolPrompt(model) : 0;
	if (encoding === "o200k_harmony") return 0;
	const functionStart = encoding === "cl100k_base" ? 10 : 7;
	return (functionTokens(tools, { countTokens, functionStart }) ?? toolTokens) - toolTokens;
}
function anthropicToolPrompt(model) {
	const name = model.toLowerCase().replaceAll(".", "-");
	const listed = toolPrompts.find(([part]) => part.test(name))?.[1];
	if (listed !== undefined) return listed;
	const version = versionOfClaude(model) ?? Number.POSITIVE_INFINITY;
	// Of Claude 4 and 4.1, of 4.5 and 4.6, and of Sonnet 5, assumed for later models.
	if (version < 4.5) return 313;
	return version < 4.7 ? 497 : 354;
}
/**
 * Tokens of function schemas for OpenAI's models; `undefined` if a parameter is an object, which is not documented. Source:
 * OpenAI Cookbook, "How to count tokens with tiktoken", 7, for GPT-4o (`functionStart` 7) and GPT-4 (10).
 */
function functionTokens(tools, { countTokens, functionStart }) {
	if (!Array.isArray(tools)) return undefined;
	let tokens = 0;
	for (const tool of tools) {
		const schema = flatFunction(tool);
		if (!schema) return undefined;
		tokens += functionStart + countTokens(`${schema.name}:${withoutStop(schema.description)}`);
		const properties = Object.entries(schema.properties);
		if (properties.length > 0) tokens += 3;
		for (const [name, { type, description, enum: values }] of properties) {
			tokens += 3 + countTokens(`${name}:${textOf(type)}:${withoutStop(textOf(description))}`);
			if (!Array.isArray(values)) continue;
			tokens += values.reduce((sum, value) => sum + 3 + countTokens(textOf(value)), -3);
		}
		tokens += 12;
	}
	return tokens;
}
function flatFunction(tool) {
	if (!isJsonObject(tool) || tool.type !== "function") return undefined;
	const { name, description, parameters = {} } = isJsonObject(tool.function) ? tool.function : tool;
	const properties = isJsonObject(parameters) ? (parameters.properties ?? {}) : undefined;
	if (typeof name !== "string" || !isJsonObject(properties)) return undefined;
	const isFlat = (property) =>
		isJsonObject(property) && ["string", "number", "integer", "boolean"].includes(textOf(property.type));
	if (!Object.values(properties).every(isFlat)) return undefined;
	return { name, description: textOf(description), properties: properties };
}
function textOf(value) {
	return typeof value === "string" ? value : "";
}
function withoutStop(text) {
	return text.endsWith(".") ? text.slice(0, -1) : text;
}

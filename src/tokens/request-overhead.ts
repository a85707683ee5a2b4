import type { CountTokens } from "../engine/measure.ts";
import { versionOfClaude } from "./claude-version.ts";
import { encodingForModel } from "./encoding.ts";
import { functionTokens } from "./function-tokens.ts";

/** A request to a model, with what it carries beside its messages. */
export interface RequestParts {
	readonly model: string;
	/** The tool schemas sent along. */
	readonly tools: unknown;
	/** Tokens of those schemas as JSON, which are counted already. */
	readonly toolTokens: number;
	readonly countTokens: CountTokens;
}

/**
 * Tokens of the system prompt that Anthropic adds to a request with tools, with `tool_choice` auto, which is the default.
 * Source: platform.claude.com, "Tool use with Claude", "Pricing"; those of Claude 3 from its earlier versions.
 */
const toolPrompts: readonly (readonly [RegExp, number])[] = [
	[/haiku-3|3-5-haiku|3-haiku/, 264],
	[/opus-3|3-opus/, 530],
	[/3-sonnet/, 159],
	[/3[.-][57]/, 346],
	[/opus-4-8/, 290],
	[/opus-4-7/, 675],
];
/** Those of Claude 4 and 4.1, of 4.5 and 4.6, and of Sonnet 5, which later models are taken to be like. */
const toolPromptByVersion = { before45: 313, before47: 497, later: 354 } as const;

/**
 * What the model's provider documents that a request costs beside its texts and its messages' delimiters, in tokens;
 * 0 where it documents nothing. Negative where function schemas cost less than the JSON that was
 * counted for them. The 3 tokens that prime each reply of OpenAI's models are left to the reserve for the answer.
 */
export function requestOverhead(request: RequestParts): number {
	const { model, tools } = request;
	if (!hasTools(tools)) return 0;
	const encoding = encodingForModel(model);
	if (encoding !== undefined) return openaiTools(request, encoding);
	return /claude/i.test(model) ? anthropicToolPrompt(model) : 0;
}

function openaiTools({ tools, toolTokens, countTokens }: RequestParts, encoding: string): number {
	if (encoding === "o200k_harmony") return 0;
	const tokens = functionTokens(tools, { countTokens, functionStart: encoding === "cl100k_base" ? 10 : 7 });
	return tokens === undefined ? 0 : tokens - toolTokens;
}

function anthropicToolPrompt(model: string): number {
	const name = model.toLowerCase().replaceAll(".", "-");
	const listed = toolPrompts.find(([part]) => part.test(name))?.[1];
	if (listed !== undefined) return listed;
	const version = versionOfClaude(model) ?? Number.POSITIVE_INFINITY;
	if (version < 4.5) return toolPromptByVersion.before45;
	return version < 4.7 ? toolPromptByVersion.before47 : toolPromptByVersion.later;
}

function hasTools(tools: unknown): boolean {
	return typeof tools === "object" && tools !== null && Object.keys(tools).length > 0;
}

import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { Transcript } from "../../engine/conversation/transcript.ts";
import { asCountedText, listOf, objectOf, objectsOf, sha256Of, stringAt } from "../../formats/json-text/value.ts";

/** What a prompt begins with, before the messages: a provider's cache of the messages hangs on it. */
export interface RequestHead {
	/** In the order of the request. */
	readonly tools: readonly HeadTool[];
	/** Equal for equal tools; `undefined` if that is not known. */
	readonly toolsKey?: string | undefined;
	/** The system prompt, up to `mostSystemChars`. It stays in memory, and is never written. */
	readonly system: string;
	readonly systemChars: number;
}

export interface HeadTool {
	/** Untrusted. */
	readonly name: string;
	readonly hash: string;
	/** Characters of the definition, for a tool that the program runs; of one that the provider runs, no call need be seen. */
	readonly chars?: number | undefined;
}

/** Settings of a request that a provider's cache hangs on, by their names: short values as they are, others hashed. */
export type RequestSettings = Readonly<Record<string, string>>;

const mostSystemChars = 64_000;
const mostTools = 500;

/**
 * Claude Code begins `system` with a block of its own that differs in each request (`x-anthropic-billing-header: …;
 * cch=…`). Anthropic takes it out before it looks into its cache, so it is not part of the prefix.
 */
export const billingHeader = "x-anthropic-billing-header:";

/**
 * Reads the head of a request in any of the APIs. Breakpoints are not part of it, since moving one changes no prompt. The
 * tools of the head before are taken over if they are the same.
 */
export function headOf(
	body: unknown,
	{ messages, surroundings }: Pick<Transcript, "messages" | "surroundings">,
	before?: RequestHead,
): RequestHead {
	const request = innerRequest(body);
	const { system, instructions, systemInstruction, system_instruction: snakeCase, tools, functions } = request;
	const end = messages.findIndex(({ role }) => role !== "system");
	const first = messages.slice(0, end === -1 ? messages.length : end).flatMap(({ counted }) => counted);
	const own = [system, instructions, systemInstruction ?? snakeCase].filter((value) => value != null);
	const text = [...own.map(systemText), ...first].join("\n");
	// Every format has the tools behind the system prompt.
	const toolsText = surroundings.at(-1);
	const isOneList = tools != null && functions == null;
	const toolsKey = isOneList && toolsText !== undefined ? sha256Of(toolsText) : undefined;
	const areSame = toolsKey !== undefined && toolsKey === before?.toolsKey;
	return {
		tools: areSame ? before.tools : [...listOf(tools), ...listOf(functions)].flatMap(toolsIn).slice(0, mostTools),
		toolsKey,
		system: text.length > mostSystemChars ? startOf(text) : text,
		systemChars: text.length,
	};
}

/** A copy, since a slice would keep the whole text in memory. */
function startOf(text: string): string {
	return Buffer.from(text.slice(0, mostSystemChars), "utf16le").toString("utf16le");
}

/**
 * The settings that break a provider's cache when they change: for Anthropic those of
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching ("What invalidates the cache"), for OpenAI the effort, the
 * format of the answer and the key of the cache (https://developers.openai.com/api/docs/guides/prompt-caching).
 */
export function settingsOf(body: unknown, { messages, format }: Transcript): RequestSettings {
	const request = innerRequest(body);
	const found: [string, string][] = [];
	// There an image that comes or goes anywhere counts.
	if (format === "anthropic-messages" && messages.some(({ mediaTokens }) => mediaTokens > 0))
		found.push(["images", "some"]);
	for (const path of settingPaths) {
		const value = path.reduce<unknown>((inside, key) => objectOf(inside)[key], request);
		if (value !== undefined && value !== null) found.push([path.join("."), shortValue(value)]);
	}
	return Object.fromEntries(found);
}

const settingPaths: readonly (readonly string[])[] = [
	["tool_choice"],
	["thinking", "type"],
	["thinking", "budget_tokens"],
	["output_config", "effort"],
	["output_config", "format"],
	["output_format"],
	["speed"],
	["mcp_servers"],
	["reasoning_effort"],
	["reasoning", "effort"],
	["verbosity"],
	["text", "verbosity"],
	["text", "format"],
	["response_format"],
	["parallel_tool_calls"],
	["prompt_cache_key"],
	["cachedContent"],
	["cached_content"],
	["toolConfig"],
	["tool_config"],
	...["generationConfig", "generation_config"].flatMap((config) =>
		["thinkingConfig", "thinking_config", "responseSchema", "response_schema"].map((key) => [config, key]),
	),
];

/** Numbers and single words such as `high`. Anything else may be a text. */
function shortValue(value: unknown): string {
	const plain = isJsonObject(value) && Object.keys(value).length === 1 ? Object.values(value)[0] : value;
	const isWord = typeof plain === "string" && /^[a-z][a-z_-]{0,19}$/i.test(plain);
	const isPlain = isWord || typeof plain === "number" || typeof plain === "boolean";
	return isPlain ? String(plain) : `#${sha256Of(value).slice(0, 8)}`;
}

/** With a Google sign-in, Gemini's request is in `request`. */
function innerRequest(body: unknown): JsonObject {
	const { request } = objectOf(body);
	return isJsonObject(request) && Array.isArray(request.contents) ? request : objectOf(body);
}

function systemText(value: unknown): string {
	const parts = isJsonObject(value) ? value.parts : value;
	if (!Array.isArray(parts)) return asCountedText(value);
	const texts = objectsOf(parts).map((part) => stringAt(part, "text") ?? asCountedText(withoutBreakpoint(part)));
	return texts.filter((text) => !text.startsWith(billingHeader)).join("\n");
}

/** Anthropic leaves a tool with `defer_loading` out of the prompt until a message refers to it. */
function toolsIn(tool: unknown): HeadTool[] {
	const given = objectOf(tool);
	if (given.defer_loading === true) return [];
	const declared = given.functionDeclarations ?? given.function_declarations;
	if (Array.isArray(declared)) return declared.flatMap(toolsIn);
	if (given.type === "namespace" && Array.isArray(given.tools)) return given.tools.flatMap(toolsIn).map(inside(given));
	const { name, type } = { ...given, ...objectOf(given.function) };
	// A tool of Gemini's own is named by its only key.
	const named = [name, type, Object.keys(given)[0]].find((one) => typeof one === "string");
	const definition = withoutBreakpoint(given);
	const isOwn = /^(?:function|custom)?$/.test(stringAt(given, "type") ?? "") && typeof name === "string";
	const chars = isOwn ? { chars: JSON.stringify(definition).length } : {};
	return [{ name: String(named), hash: sha256Of(definition).slice(0, 16), ...chars }];
}

/** Codex groups the tools of an MCP server under its name, such as `mcp__files`. */
function inside({ name }: JsonObject): (tool: HeadTool) => HeadTool {
	return (tool) => ({ ...tool, name: `${String(name).replace(/_+$/, "")}__${tool.name}` });
}

function withoutBreakpoint({ cache_control: _, ...rest }: JsonObject): JsonObject {
	return rest;
}

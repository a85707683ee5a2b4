import { isJsonObject } from "../conversation/json.js";

/** Escape sequences of terminals (ECMA-48). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const escapeSequence = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]{0,500}(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
/** Control characters except tab and line feed, marks of direction, invisible tags. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const controlCharacter = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;
/** Makes a text well-formed, since APIs refuse lone surrogates, with plain line feeds and no control characters. */
export function cleanText(text) {
	return text.toWellFormed().replace(/\r\n?/g, "\n").replace(escapeSequence, "").replace(controlCharacter, "");
}
/** A word that does not occur in the text, so that nothing in the text can end the part that it delimits. */
export function delimiterFor(text) {
	// FNV-1a over UTF-16 code units, 32 bits.
	let hash = 0x811c9dc5;
	for (let index = 0; index < text.length; index += 1) {
		hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
	}
	return wordNotIn(text, hash);
}
/** The first word, in a fixed order that begins at a number, that does not occur in the text. */
function wordNotIn(text, start) {
	for (let number = start; ; number = (number + 0x9e3779b1) >>> 0) {
		const word = number.toString(36).padStart(7, "0");
		if (!text.includes(word)) return word;
	}
}
/** Special tokens of chat templates. A server that tokenises them inside a message would start a new message. */
const specialToken =
	/<(?=[|｜][^<>\s|｜]{1,64}[|｜]>)|<(?=(?:start|end)_of_turn>|\/?s>|bos>|eos>|<\/?SYS>>)|\[(?=\/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT|TOOL_CONTENT)\])/g;
/** Puts a space after the bracket of each special token: still readable, but plain text for a tokenizer. */
export function neutraliseSpecialTokens(text) {
	return text.replace(specialToken, (bracket) => `${bracket} `);
}
/** Calls and results in the text of a model. Some server reads each of them. */
const markups = [
	// Hermes, Qwen, Anthropic and similar.
	/<\/?(?:[a-z]{1,20}:)?(?:tool_?calls?|tool_use|tool_(?:response|result|output)s?|function_?(?:calls?|results?)|invoke)(?![\w-])/i,
	/<function=/i,
	// Llama, Kimi, DeepSeek, MiniMax: special tokens that name tools.
	/<[|｜]python_tag[|｜]>/i,
	/<[|｜][^<>\n|｜]{0,40}tool[^<>\n|｜]{0,40}[|｜]>/i,
	// Mistral.
	/\[\/?TOOL_(?:CALLS?|RESULTS?)\]/i,
	/^[ \t]*(?:```|~~~)(?:tool_(?:call|code|use)|function_call)s?\b/im,
	// ReAct.
	/^[ \t]*Action:[^\n]*\n+[ \t]*Action Input:/im,
];
/** Whether a text has markup of a tool call, or consists of tool calls in JSON. */
export function hasToolCallMarkup(text) {
	return markups.some((markup) => markup.test(text)) || isToolCallJson(text);
}
function isToolCallJson(text) {
	const bare = text
		.trim()
		.replace(/^(?:```|~~~)\w*\s*\n/, "")
		.replace(/\n\s*(?:```|~~~)$/, "")
		.trim();
	if (!/^[{[]/.test(bare)) return false;
	const value = parseJson(bare);
	if (Array.isArray(value)) return value.length > 0 && value.every(isToolCall);
	if (value !== undefined) return isToolCall(value);
	// One call a line, which together are not JSON.
	const lines = bare.split("\n").filter((line) => line.trim() !== "");
	return lines.length > 1 && lines.every((line) => isToolCall(parseJson(line)));
}
function parseJson(text) {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
const listKeys = ["tool_calls", "toolCalls", "tool_uses", "function_call", "functionCall"];
const argumentKeys = ["arguments", "parameters", "input", "args", "action_input", "tool_input", "params"];
const nameKeys = ["name", "function", "tool", "tool_name", "action", "recipient_name"];
const callTypes = new Set(["tool_use", "tool_call", "tool-call", "toolCall", "function_call", "function"]);
function isToolCall(value) {
	if (!isJsonObject(value)) return false;
	const has = (key) => Object.hasOwn(value, key);
	if (listKeys.some(has) || (has("type") && callTypes.has(String(value.type)))) return true;
	if (has("function") && isToolCall(value.function)) return true;
	return argumentKeys.some(has) && nameKeys.some((key) => has(key) && typeof value[key] === "string");
}

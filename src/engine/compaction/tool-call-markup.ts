/** Ways in which models write calls, or the results of calls, into their text; each is read as such by some server. */
const markups: readonly RegExp[] = [
	// Hermes, Qwen, Anthropic and their likes.
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

/** Whether a text holds markup of a tool call, or is nothing but a tool call in JSON. */
export function hasToolCallMarkup(text: string): boolean {
	return markups.some((markup) => markup.test(text)) || isToolCallJson(text);
}

function isToolCallJson(text: string): boolean {
	const bare = text
		.trim()
		.replace(/^(?:```|~~~)\w*\s*\n/, "")
		.replace(/\n\s*(?:```|~~~)$/, "")
		.trim();
	if (!/^[{[]/.test(bare)) return false;
	try {
		const value: unknown = JSON.parse(bare);
		return Array.isArray(value) ? value.length > 0 && value.every(isToolCall) : isToolCall(value);
	} catch {
		// Calls one after the other, one a line, are no JSON together.
		const lines = bare.split("\n").filter((line) => line.trim() !== "");
		return lines.length > 1 && lines.every((line) => isToolCallLine(line.trim()));
	}
}

function isToolCallLine(line: string): boolean {
	if (!line.startsWith("{")) return false;
	try {
		return isToolCall(JSON.parse(line));
	} catch {
		return false;
	}
}

const argumentKeys = ["arguments", "parameters", "input", "args", "action_input", "tool_input", "params"];
const nameKeys = ["name", "function", "tool", "tool_name", "action", "recipient_name"];
const callTypes = new Set(["tool_use", "tool_call", "tool-call", "toolCall", "function_call", "function"]);

function isToolCall(value: unknown): boolean {
	if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
	const object = value as Readonly<Record<string, unknown>>;
	const has = (key: string) => Object.hasOwn(object, key);
	if (["tool_calls", "toolCalls", "tool_uses", "function_call", "functionCall"].some(has)) return true;
	if (has("type") && callTypes.has(String(object.type))) return true;
	if (has("function") && isToolCall(object.function)) return true;
	return argumentKeys.some(has) && nameKeys.some((key) => has(key) && typeof object[key] === "string");
}

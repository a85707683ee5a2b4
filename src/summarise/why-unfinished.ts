/**
 * Reasons to stop that no summary ends with, as endpoints and clients call them, without regard to case and `_`: OpenAI's
 * and those of OpenRouter, DeepSeek, SGLang, Anthropic's API and MCP sampling.
 */
const unfinished: Readonly<Record<string, string>> = {
	contentfilter: "a text that its content filter stopped",
	refusal: "a refusal",
	toolcalls: "a tool call",
	tooluse: "a tool call",
	functioncall: "a tool call",
	error: "a text that broke off",
	abort: "a text that broke off",
	insufficientsystemresource: "a text that broke off",
};

/** What a model answered with, in words, where the reason why it stopped says that it is no answer to the prompt. */
export function whyUnfinished(reason: unknown): string | undefined {
	const name = typeof reason === "string" ? reason.toLowerCase().replaceAll("_", "") : "";
	return Object.hasOwn(unfinished, name) ? unfinished[name] : undefined;
}

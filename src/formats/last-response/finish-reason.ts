/** Why a model stopped, whatever a provider calls it. */
export type FinishReason = "length" | "stop" | "tool_calls" | "other";

/**
 * What providers and gateways call it, without case and separators, since `MAX_TOKENS`, `max_tokens` and `maxTokens` all
 * occur. A full context window cuts an answer as its own limit does.
 */
const names: Readonly<Record<string, FinishReason>> = {
	length: "length",
	maxtokens: "length",
	maxoutputtokens: "length",
	// Mistral: the context window of the model.
	modellength: "length",
	// Anthropic, Bedrock.
	modelcontextwindowexceeded: "length",
	stop: "stop",
	endturn: "stop",
	stopsequence: "stop",
	// Cohere.
	complete: "stop",
	// OpenAI Responses.
	completed: "stop",
	toolcalls: "tool_calls",
	toolcall: "tool_calls",
	tooluse: "tool_calls",
	functioncall: "tool_calls",
};

/** Reads a finish reason; `other` where there is none or none of those known. */
export function readFinishReason(reason: unknown): FinishReason {
	const name = plainName(reason);
	return (Object.hasOwn(names, name) && names[name]) || "other";
}

/** Gemini's and Bedrock's words for an answer whose last call could not be parsed. */
const malformed = new Set(["malformedfunctioncall", "malformedtooluse"]);

/** Whether the model stopped since its last call could not be parsed. */
export function isMalformedCall(reason: unknown): boolean {
	return malformed.has(plainName(reason));
}

function plainName(reason: unknown): string {
	return typeof reason === "string" ? reason.replace(/[_-]/g, "").toLowerCase() : "";
}

import { SummariserError, type SummariserErrorCode } from "../errors.ts";
import type { ErrorFields } from "./error-fields.ts";

/**
 * Values of `code` or `type` that say that the prompt is too long: OpenAI's, Azure's and Groq's (also for one text over
 * their limit), llama.cpp's and what is built on it.
 */
const tooLong = new Set(["context_length_exceeded", "string_above_max_length", "exceed_context_size_error"]);
/** Values of `param` that vLLM gives a prompt that is too long; elsewhere no parameter has these names. */
const tooLongParameters = new Set(["input_tokens", "input_text"]);
/** Mistral's number for invalid arguments; a request that is one text has only its length to be refused for. */
const mistralTooLong = "3051";

/**
 * The type of a failed request by its HTTP status and what the answer's `code`, `type` and `param` say (seed 4, task 6).
 * Messages are not read: an endpoint that tells only there that the prompt was too long (older vLLM, DeepSeek) gives
 * `unknown`, and one that cuts prompts silently (Ollama) gives nothing at all.
 */
export function classifyStatus(status: number, fields: ErrorFields): SummariserErrorCode {
	if (isTooLong(status, fields)) return "context_too_long";
	switch (status) {
		case 401:
		case 403:
			return "auth_error";
		case 404:
			return "model_not_found";
		case 408:
			return "timeout";
		case 429:
			return "rate_limit";
	}
	if (status >= 500) return "server_error";
	return fields.code === "model_not_found" ? "model_not_found" : "unknown";
}

function isTooLong(status: number, { code, type, param }: ErrorFields): boolean {
	if (status === 413) return true;
	if (status >= 500) return false;
	if (tooLong.has(code ?? "") || tooLong.has(type ?? "")) return true;
	return status === 400 && (code === mistralTooLong || tooLongParameters.has(param ?? ""));
}

const advice: Readonly<Record<SummariserErrorCode, string>> = {
	rate_limit: "Too many requests, or the quota is used up. Try again later",
	context_too_long: "The prompt is too long for the model. Summarise a shorter range",
	model_not_found: "It knows no such model, or nothing is at this address. Check the model's name and the base URL",
	timeout: "It did not answer in time. Try again, or allow more time",
	server_error: "It failed. Try again later",
	auth_error: "It does not accept the key. Check that one is set and may use this model",
	unknown: "The request was refused",
};

/** The error of an answer whose status is no success. Nothing of what the endpoint writes in prose is in it. */
export function statusError(endpoint: string, status: number, fields: ErrorFields): SummariserError {
	const code = classifyStatus(status, fields);
	const isRedirect = status >= 300 && status < 400;
	const advised = isRedirect ? "It redirects elsewhere. Give the base URL that it leads to" : advice[code];
	// Words alone are shown: whatever else stands there may be the key or the conversation.
	const said = [fields.code, fields.type].filter((value) => /^[a-z]{1,30}(?:_[a-z]{1,30}){1,6}$/.test(value ?? ""));
	const shown = [`HTTP ${status}`, ...new Set(said)].join(", ");
	return new SummariserError(code, `${endpoint}: ${advised} (${shown}).`, status);
}

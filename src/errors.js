/** Removes control characters, which could move the cursor, and characters that change the direction of writing. */
export function withoutControls(text) {
	return text.replace(/(?![\n\t])\p{Cc}|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "?");
}
/** Removes user, password and query of an address that a user wrote where another word was expected. */
export function withoutCredentials(text) {
	return text
		.replace(/(?<=:\/\/)[^\s"'`]{1,1000}@/g, "…@")
		.replace(/(?<=\brediss?:\/\/[^\s"'`?#]{0,200}[?#])[^\s"'`]+/gi, "…");
}
/** The message names the expected and the actual value and the remedy. It never quotes conversation text. */
export class PalimpsestError extends Error {
	name = "PalimpsestError";
	code;
	constructor(code, message, options) {
		super(withoutCredentials(withoutControls(message)), options);
		this.code = code;
	}
}
/** As the tools spell them. */
const namedArgument =
	/`(chars|context|context_window|encoding|focus|grep|head|last_response|lines|max_chars|max_tokens|model|ref|reserve_tokens|strategy|summary|summary_token|tail|tool_call_id)`/g;
/**
 * Arguments as one face spells them: `context_window` is --context-window, or the library's `contextWindow`. Messages
 * on the content of a conversation stay: words in backquotes are its members.
 */
export function spelledFor(face, { code, message }) {
	if (code !== "invalid_argument" && code !== "context_window_unknown" && code !== "no_budget") return message;
	return message.replace(namedArgument, (_, name) => {
		if (face === "library") return `\`${name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase())}\``;
		return name === "ref" ? "REF" : `--${name.replaceAll("_", "-")}`;
	});
}
const retryable = new Set(["rate_limit", "timeout", "server_error"]);
/** It has no cause: the message of a client or an endpoint may hold the key or the conversation. */
export class SummariserError extends PalimpsestError {
	status_code;
	is_retryable;
	constructor(code, message, statusCode) {
		super(code, message);
		this.status_code = statusCode;
		this.is_retryable = retryable.has(code);
	}
}

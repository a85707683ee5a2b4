/** Codes that programs can act on. */
export type ErrorCode =
	| "invalid_json" // The text is not JSON.
	| "not_a_conversation" // JSON, but in none of the formats.
	| "read_only" // A recording, which can be reported and replayed, not edited.
	| "invalid_policy" // An unknown key, a wrong type, a value out of range, a template with an unknown variable.
	| "invalid_argument" // Any other argument that cannot be used.
	| "unreadable_file" // Missing, no regular file, or not readable.
	| "path_not_allowed" // Outside the allowed folders.
	| "file_exists" // The output file.
	| "unwritable_file" // The output file.
	| "context_window_unknown" // None is given and none known for the model.
	| "no_budget" // The reserve for the answer leaves nothing of the context window.
	| "broken_promise" // The verifier refused our own result; the conversation is unchanged.
	| "thinking_bound" // The policy refuses edits before bound reasoning blocks.
	| "stale_edit" // The edit does not fit its text.
	| "payload_too_large" // Over the limit of the transport or of files.
	| "archive_unavailable" // It cannot be written or read now; nothing was taken out of the conversation.
	| "original_not_found" // The reference was altered or shortened, or has expired, or is of another namespace.
	| "ambiguous_reference" // It matches more than one original.
	| "summary_refused" // Empty, too large, no smaller than its messages, or with the markup of a tool call.
	| "strategy_failed" // An external strategy failed, or did not return a conversation.
	| SummariserErrorCode // Over HTTP, `timeout` and `rate_limit` are also those of the server.
	| "internal"; // A defect of ours.

/** The reasons for which a model gave no summary (docs/compaction.md#typed-errors). */
export type SummariserErrorCode =
	| "rate_limit" // Asked too often, or a quota is used up (HTTP 429).
	| "context_too_long" // The prompt does not fit the model's context window; a shorter one may.
	| "model_not_found" // No such model, or nothing at that address (HTTP 404).
	| "timeout" // No complete answer in time.
	| "server_error" // The endpoint failed (HTTP 5xx), is absent, or broke off.
	| "auth_error" // The key is missing, wrong, or not allowed to do this (HTTP 401, 403).
	| "unknown"; // Anything else, such as an answer that cannot be used.

/** Removes control characters, which could move the cursor, and characters that change the direction of writing. */
export function withoutControls(text: string): string {
	return text.replace(/(?![\n\t])\p{Cc}|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "?");
}

/** Removes user, password and query of an address that a user wrote where another word was expected. */
export function withoutCredentials(text: string): string {
	return text
		.replace(/(?<=:\/\/)[^\s"'`]{1,1000}@/g, "…@")
		.replace(/(?<=\brediss?:\/\/[^\s"'`?#]{0,200}[?#])[^\s"'`]+/gi, "…");
}

/** The message names the expected and the actual value and the remedy. It never quotes conversation text. */
export class PalimpsestError extends Error {
	override readonly name = "PalimpsestError";
	readonly code: ErrorCode;

	constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
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
export function spelledFor(face: "command" | "library", { code, message }: PalimpsestError): string {
	if (code !== "invalid_argument" && code !== "context_window_unknown" && code !== "no_budget") return message;
	return message.replace(namedArgument, (_, name: string) => {
		if (face === "library") return `\`${name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())}\``;
		return name === "ref" ? "REF" : `--${name.replaceAll("_", "-")}`;
	});
}

/** The conversation has a shape that resembles a format and is none, such as "a session of Command Code". */
export class UnsupportedShapeError extends PalimpsestError {
	readonly shape: string;

	constructor(shape: string) {
		const advice = "Pass the conversation in one of the formats of docs/formats.md.";
		super("not_a_conversation", `This looks like ${shape}, which is not supported. ${advice}`);
		this.shape = shape;
	}
}

const retryable: ReadonlySet<SummariserErrorCode> = new Set(["rate_limit", "timeout", "server_error"]);

/** It has no cause: the message of a client or an endpoint may hold the key or the conversation. */
export class SummariserError extends PalimpsestError {
	declare readonly code: SummariserErrorCode;
	readonly status_code: number | undefined;
	readonly is_retryable: boolean;

	constructor(code: SummariserErrorCode, message: string, statusCode?: number) {
		super(code, message);
		this.status_code = statusCode;
		this.is_retryable = retryable.has(code);
	}
}

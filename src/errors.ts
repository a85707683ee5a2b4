/**
 * Codes that programs can act on. Each names what has to change for the call to succeed.
 *
 * - `invalid_json`: the text is not JSON.
 * - `not_a_conversation`: JSON, but it fits none of the formats.
 * - `invalid_policy`: an unknown key, a wrong type, a value out of range, a template with an unknown variable.
 * - `invalid_argument`: any other argument that cannot be used.
 * - `unreadable_file`: a file that is missing, no regular file, or not readable.
 * - `path_not_allowed`: a path that leads outside the allowed folders.
 * - `file_exists`: an output file that is there already.
 * - `unwritable_file`: an output file that cannot be written.
 * - `context_window_unknown`: no context window given and none known for the model.
 * - `no_budget`: the reserve for the answer leaves nothing of the context window for the conversation.
 * - `broken_promise`: the verifier refused our own result; the conversation was left as it was.
 * - `thinking_bound`: the policy refuses edits that stand before bound reasoning blocks.
 * - `stale_edit`: an edit does not fit the text that it is applied to.
 * - `payload_too_large`: over the transport's limit.
 * - `archive_unavailable`: the archive cannot be written or read now; nothing was taken out of the conversation.
 * - `original_not_found`: no original is kept under that reference: altered, shortened, expired, or of another namespace.
 * - `ambiguous_reference`: a reference that stands for more than one original.
 * - `summary_refused`: a summary that is empty, too large, no smaller than the messages that it would replace, or has the
 *   markup of a tool call; the conversation was left as it was.
 * - `strategy_failed`: an external compaction strategy failed, or did not return a conversation.
 * - `rate_limit` … `unknown`: a model could not be asked; see {@link SummariserErrorCode}. Over HTTP `timeout` and
 *   `rate_limit` are also a call past its time, and too many calls at once.
 * - `internal`: a defect of ours.
 */
export type ErrorCode =
	| "invalid_json"
	| "not_a_conversation"
	| "invalid_policy"
	| "invalid_argument"
	| "unreadable_file"
	| "path_not_allowed"
	| "file_exists"
	| "unwritable_file"
	| "context_window_unknown"
	| "no_budget"
	| "broken_promise"
	| "thinking_bound"
	| "stale_edit"
	| "payload_too_large"
	| "archive_unavailable"
	| "original_not_found"
	| "ambiguous_reference"
	| "summary_refused"
	| "strategy_failed"
	| SummariserErrorCode
	| "internal";

/**
 * The reasons for which a model gave no summary (docs/specs/robustness.md#typed-errors).
 *
 * - `rate_limit`: it was asked too often, or a quota is used up (HTTP 429).
 * - `context_too_long`: the prompt does not fit the model's context window; a shorter one may.
 * - `model_not_found`: no such model, or nothing at that address (HTTP 404).
 * - `timeout`: no whole answer in time.
 * - `server_error`: the endpoint failed (HTTP 5xx), is not there, or broke off.
 * - `auth_error`: the key is missing, wrong, or not allowed to do this (HTTP 401, 403).
 * - `unknown`: anything else, an answer that cannot be used among it.
 */
export type SummariserErrorCode =
	| "rate_limit"
	| "context_too_long"
	| "model_not_found"
	| "timeout"
	| "server_error"
	| "auth_error"
	| "unknown";

/**
 * A text that is safe in a terminal: without control characters, which could move the cursor, and without those that
 * change the direction of writing. Line breaks and tabs stay.
 */
export function withoutControls(text: string): string {
	return text.replace(/(?![\n\t])\p{Cc}|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, "?");
}

/** Its message says what was expected, what came and what to do. It never quotes conversation text. */
export class PalimpsestError extends Error {
	override readonly name = "PalimpsestError";
	readonly code: ErrorCode;

	constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
		super(withoutControls(message), options);
		this.code = code;
	}
}

type Face = "command" | "library";

/** As the tools spell them. */
const namedArgument =
	/`(chars|context|context_window|encoding|focus|grep|head|last_response|lines|max_chars|max_tokens|model|ref|reserve_tokens|strategy|summary|summary_token|tail|tool_call_id)`/g;

/**
 * An error's message with arguments spelled for one face: `context_window` is the command's --context-window and the
 * library's `contextWindow`. In messages on the content of a conversation, words in backquotes are its members and
 * stay.
 */
export function spelledFor(face: Face, { code, message }: PalimpsestError): string {
	if (code !== "invalid_argument" && code !== "context_window_unknown" && code !== "no_budget") return message;
	return message.replace(namedArgument, (_, name: string) => {
		if (face === "library") return `\`${name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())}\``;
		return name === "ref" ? "REF" : `--${name.replaceAll("_", "-")}`;
	});
}

const retryable: ReadonlySet<SummariserErrorCode> = new Set(["rate_limit", "timeout", "server_error"]);

/**
 * A model could not be asked for a summary. It has no cause: the message of a client or an endpoint may hold the key or
 * the conversation.
 */
export class SummariserError extends PalimpsestError {
	declare readonly code: SummariserErrorCode;
	/** `undefined` if there was no answer. */
	readonly status_code: number | undefined;
	readonly is_retryable: boolean;

	constructor(code: SummariserErrorCode, message: string, statusCode?: number) {
		super(code, message);
		this.status_code = statusCode;
		this.is_retryable = retryable.has(code);
	}
}

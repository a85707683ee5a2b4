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
 * - `broken_promise`: the verifier refused our own result; the conversation was left as it was.
 * - `thinking_bound`: the policy refuses edits that stand before bound reasoning blocks.
 * - `stale_edit`: an edit does not fit the text that it is applied to.
 * - `payload_too_large`: over the transport's limit.
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
	| "broken_promise"
	| "thinking_bound"
	| "stale_edit"
	| "payload_too_large"
	| "internal";

/** An error for the person who reads it: what was expected, what came, what to do. It never quotes conversation text. */
export class PalimpsestError extends Error {
	override readonly name = "PalimpsestError";
	readonly code: ErrorCode;

	constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
		super(message, options);
		this.code = code;
	}
}

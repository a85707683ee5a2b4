import type { JsonObject } from "../json-values.ts";
import type { FinishReason } from "./finish-reason.ts";

/** What a provider answered to the last call of a conversation, as far as it came. */
export interface LastResponse {
	/** Why the model stopped: `length` at the limit of tokens, `stop` by itself, `tool_calls` to have tools called, `other`. */
	readonly finishReason: FinishReason;
	/** The visible text so far; reasoning is no part of it. */
	readonly text: string;
	/** The calls that the caller is to answer, in order; those that the provider ran itself are none of them. */
	readonly calls: readonly AnsweredCall[];
}

/** A call of a tool in an answer. */
export interface AnsweredCall {
	/** `undefined` where it has none or one that is no text. */
	readonly id: string | undefined;
	/** The tool's name, untrusted; `undefined` where it has none. */
	readonly name: string | undefined;
	/** Whether its arguments are whole: a JSON object, or the text of one. A call without a name is never usable. */
	readonly isUsable: boolean;
}

/** One shape of answer. */
export interface ResponseReader {
	/** The shape and whose it is, for error messages. */
	readonly shape: string;
	/** What was answered, or `undefined` where it has another shape. Never throws. */
	readonly read: (response: JsonObject) => LastResponse | undefined;
}

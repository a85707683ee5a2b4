import type { LocaleName } from "../policy/names.ts";

/** The conversation that a strategy makes smaller (docs/compaction.md#strategy-interface). */
export interface CompactionContext {
	/** The messages, or the records of a session, in their wire format, oldest first. A copy that may be changed. */
	readonly history: readonly unknown[];
	/** Name of the wire format, such as `openai-chat` or `anthropic-messages`. */
	readonly format: string;
	/** Tokens of the whole conversation, as the model of the call counts them, else o200k tokens. */
	readonly token_count: number;
	/** The model's context window in tokens. */
	readonly max_context_size: number;
	/** Tokens kept free for the answer. Compaction is due at `token_count + reserved >= max`. */
	readonly reserved_context_size: number;
	/** `undefined` if there is no model to ask. */
	readonly llm: StrategyLlm | undefined;
	readonly signal: AbortSignal | undefined;
}

export interface StrategyLlm {
	readonly name: string;
	/**
	 * Answers with an untrusted text, with retries and a time limit. A cut-off answer is requested once more, shorter.
	 * @throws PalimpsestError with the codes of a failed model call: `rate_limit` … `unknown`.
	 */
	readonly complete: (prompt: string, options?: { readonly maxTokens?: number }) => Promise<string>;
}

/**
 * A way to make a conversation smaller: from a list of messages to a list of messages
 * (docs/compaction.md#strategy-interface).
 *
 * ```ts
 * export class DropThinkingAloud implements CompactionStrategy {
 * 	compact({ history }: CompactionContext) {
 * 		const kept = history.filter((message) => !isThinkingAloud(message));
 * 		return kept.length === history.length ? null : kept;
 * 	}
 * }
 * ```
 *
 * The result is verified, and refused if it breaks the conversation; the original then stays. A strategy may leave
 * messages out, replace them and shorten results of tools, as long as
 *
 * - each result keeps its call and each call its results, with their ids and names;
 * - messages that stay keep their order, and system messages stay as they are;
 * - new messages are the user's, the assistant's or a tool's, in the format's plain JSON, without new calls and not
 *   between a call and its results;
 * - the whole does not become larger.
 */
export interface CompactionStrategy {
	/** Returns the messages that replace `history`, or `null` for no change. */
	readonly compact: (context: CompactionContext) => Promise<readonly unknown[] | null> | readonly unknown[] | null;
}

/** The argument of an external strategy's constructor. */
export interface StrategyDependencies {
	readonly llm: StrategyLlm | undefined;
	/** Counts as the model of the call does, else o200k tokens. */
	readonly countTokens: (text: string) => number;
	/** The policy's language, for texts in the conversation. */
	readonly locale: LocaleName;
	/** Writes to the log of the server or the command: names and sizes, never conversation text. */
	readonly log: (level: "debug" | "info" | "warning" | "error", message: string) => void;
}

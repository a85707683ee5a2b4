import type { LocaleName } from "../policy/names.ts";

/** The conversation that a strategy makes smaller (docs/specs/compaction-strategies.md#strategy-interface). */
export interface CompactionContext {
	/**
	 * The messages, or the records of a session, in their own wire format, oldest first. It is a copy of the strategy's
	 * own: changing it changes nothing.
	 */
	readonly history: readonly unknown[];
	/** Name of the wire format, such as `openai-chat` or `anthropic-messages`. */
	readonly format: string;
	/** Tokens of the whole conversation, as the model of the call counts them, else o200k tokens. */
	readonly token_count: number;
	/** The model's context window in tokens. */
	readonly max_context_size: number;
	/** Tokens of it that are kept free for the answer. Compaction is due at `token_count + reserved >= max`. */
	readonly reserved_context_size: number;
	/** Asks a model; `undefined` where there is none to ask. */
	readonly llm: StrategyLlm | undefined;
	/** Aborted when the outcome is no longer wanted. */
	readonly signal: AbortSignal | undefined;
}

/** A model that a strategy may ask. Retries, time limits and progress are taken care of. */
export interface StrategyLlm {
	/** As reports name it. */
	readonly name: string;
	/**
	 * Answers a prompt with a text, which is untrusted; `maxTokens` is the most that the answer may take. An answer that
	 * was cut off there is asked for again, more concisely.
	 *
	 * @throws PalimpsestError with the codes of a model that could not be asked: `rate_limit` … `unknown`.
	 */
	readonly complete: (prompt: string, options?: { readonly maxTokens?: number }) => Promise<string>;
}

/**
 * A way to make a conversation smaller: from a list of messages to a list of messages
 * (docs/specs/compaction-strategies.md#strategy-interface).
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
 * The outcome is verified before anybody sees it, and refused where it breaks the conversation; then the original stands.
 * It may leave messages out, put others in their place and shorten what tools answered, as long as
 *
 * - each result keeps its call and each call its results, under the ids and names that they had;
 * - messages that stay keep their order, and system messages stay as they are;
 * - what is new is a message of the user's, the assistant's or a tool's, as the format writes it: plain JSON, no new
 *   calls, nothing between a call and its results;
 * - the whole does not become larger.
 */
export interface CompactionStrategy {
	/** Gives the messages that are to take the place of `history`, or `null` for no change. */
	readonly compact: (context: CompactionContext) => Promise<readonly unknown[] | null> | readonly unknown[] | null;
}

/** A line for the log of the server or the command. It should tell names and sizes, never conversation text. */
export type StrategyLog = (level: "debug" | "info" | "warning" | "error", message: string) => void;

/** What the constructor of an external strategy is given. */
export interface StrategyDependencies {
	/** Asks a model; `undefined` where there is none to ask. The context of each call holds one too. */
	readonly llm: StrategyLlm | undefined;
	/** Tokens of a text, as the model of the call counts them, else o200k tokens. */
	readonly countTokens: (text: string) => number;
	/** The policy's language, for texts that are put into the conversation. */
	readonly locale: LocaleName;
	readonly log: StrategyLog;
}

import type { CompactionStrategy } from "../../engine/compaction/strategy.ts";
import type { BuiltInStrategy } from "../../policy/names.ts";
import type { Policy } from "../../policy/schema.ts";
import type { SummaryProgress } from "../../summariser/summariser.ts";
import type { SpellingsOf } from "../archive-originals.ts";
import type { Log } from "../log-event.ts";
import type { KeepsOriginals } from "../originals-of.ts";
import type { SummarySource } from "./summary-source.ts";

/** How a conversation is compacted: by a strategy that comes with the product, or by one of the user's own. */
export type StrategyOfCall =
	| { readonly kind: "built_in"; readonly name: BuiltInStrategy }
	| { readonly kind: "external"; readonly name: string; readonly strategy: CompactionStrategy };

/** A conversation to compact. */
export interface CompactRequest extends KeepsOriginals {
	/** A list of messages, a request body, or any object that holds `messages`. Never changed. */
	readonly conversation: unknown;
	readonly policy: Policy;
	readonly strategy: StrategyOfCall;
	/** Where a summary comes from, if one is needed. */
	readonly answer: SummarySource;
	/** Whether to compact though it is not due. */
	readonly force?: boolean | undefined;
	/** Model whose window and tokenizer count. */
	readonly model?: string | undefined;
	/** Tool schemas that are sent along, where the conversation does not hold them itself. Counted, never changed. */
	readonly tools?: unknown;
	/** The usage that the provider reported with the last answer of the conversation, to calibrate the counts by. */
	readonly usage?: unknown;
	/** Context window in tokens. */
	readonly contextWindow?: number | undefined;
	/** Tokens left free for the answer. */
	readonly reserveTokens?: number | undefined;
	/** How values are spelled in the text that the conversation was read from, so that it can be restored to the byte. */
	readonly spellingsOf?: SpellingsOf | undefined;
	/** Ends it at any moment; the conversation stays as it was. */
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
	readonly log?: Log;
}

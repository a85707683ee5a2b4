import type { ContextParts } from "../../engine/replay/context-by-part.ts";

/** A share from 0 to 1 of the strings that assistant messages used; `null` where none was used. */
export interface RecallShares {
	readonly identifiers: number | null;
	readonly lines: number | null;
}

/** What a policy would have cost and lost, over one conversation or several. Tokens are those of the counter. */
export interface PolicyFigures {
	/** As it was asked for: `window:8`, `balanced`, `./my.toml`. */
	readonly policy: string;
	readonly conversations: number;
	readonly llm_calls: number;
	/** Sum over the LLM calls. */
	readonly input_tokens: number;
	/** Those of them that were read from the provider's cache. */
	readonly cached_tokens: number;
	/** In prices of one input token; in US dollars where a model's prices were asked for. */
	readonly billed: number;
	readonly ratio_to_raw: number;
	/** The largest of one conversation. */
	readonly worst_ratio_to_raw: number;
	/** Against the cheapest schedule of the same window; `null` where it was not computed. */
	readonly ratio_to_optimum: number | null;
	/** Input tokens against those of `raw`. */
	readonly average_context_ratio: number;
	/** Tokens of the largest call. */
	readonly peak_context_tokens: number;
	/** Calls whose input was over the model's context window. */
	readonly calls_over_window: number;
	/** Calls whose model's context window is known: those over it are among them. */
	readonly calls_of_known_window: number;
	readonly masked_tool_results: number;
	/** In view when used: in a tool result that was not masked. */
	readonly recall: RecallShares;
	/** Not in view, but in the digest that a placeholder carries. */
	readonly recall_in_digests: RecallShares;
	/** The most that any choice of results could have kept in view in as many input tokens. */
	readonly recall_bound: RecallShares;
}

/** The figures of seed 2's offline benchmark. Characters are UTF-16 code units; tokens are of the whole conversation. */
export interface MaskingFigures {
	readonly masked_tool_results: number;
	readonly tool_chars_before: number;
	readonly tool_chars_after: number;
	readonly tokens_before: number;
	readonly tokens_after: number;
}

/** What `palimpsest replay` found in one file. */
export interface ReplayedFile extends MaskingFigures {
	readonly file: string;
	readonly policies: readonly PolicyFigures[];
}

/** What `palimpsest replay --json` prints. */
export interface ReplayReport extends MaskingFigures {
	readonly policies: readonly PolicyFigures[];
	readonly files: readonly ReplayedFile[];
}

/** What the LLM calls of one conversation were sent under one policy, in order: what a plot over time is drawn from. */
export interface ReplaySeries {
	readonly file: string;
	readonly policy: string;
	readonly context: readonly ContextParts[];
	/** Billed up to and with each call, in the unit of `PolicyFigures.billed`. */
	readonly billed: readonly number[];
}

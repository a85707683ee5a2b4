import type { CountTokens } from "../../conversation/measure.ts";
import type { CharRange } from "./draft.ts";
import type { HeadTailLimits, RefOf } from "./head-tail.ts";
import type { NoticeWording } from "./notice-wordings.ts";

/** How a text is shortened; `auto` finds the way by the text's shape and the focus. */
export type TruncationStrategy = "auto" | "head_tail" | "json" | "log" | "diff" | "table" | "html" | "binary" | "focus";

/** What the shortened text may take at most, its notices included. */
export type TruncationBudget =
	/** UTF-16 code units. */
	| { readonly unit: "chars"; readonly max: number }
	| { readonly unit: "tokens"; readonly max: number; readonly countTokens: CountTokens };

/** A text to shorten. */
export interface TruncateOutputParameters {
	readonly text: string;
	readonly budget: TruncationBudget;
	readonly strategy: TruncationStrategy;
	/** What whoever asked for the output is after: the arguments of the call, the words before it. */
	readonly focus?: string | undefined;
	/** Whether what put the text out is known to have failed: then lines that tell of failures get most of the room. */
	readonly hasFailed?: boolean | undefined;
	/** The words of notices and marks. */
	readonly wording: NoticeWording;
	/** Where the whole is archived; the notice names it. */
	readonly ref?: string | undefined;
	/** Share of the room for the start, of what `head_tail` keeps; 0.5 where not given. */
	readonly headShare?: number | undefined;
	/**
	 * With `head_tail`, in place of the budget: these numbers and this marker exactly, as `truncateHeadTail` does. Its
	 * marker can go beyond the limit.
	 */
	readonly exact?: { readonly limits: HeadTailLimits; readonly refOf?: RefOf } | undefined;
	/** Leaves escape sequences of terminals where they are. */
	readonly keepAnsi?: boolean | undefined;
	/** A library's function that takes escape sequences out of a text. Without one they stay. */
	readonly stripAnsi?: ((text: string) => string) | undefined;
	/** A library's function that makes readable text of HTML. Without one HTML is cut as text. */
	readonly htmlToText?: ((html: string) => string) | undefined;
}

/** Lines of the original, from 1, both ends included. */
export interface LineSpan {
	readonly from: number;
	readonly to: number;
}

/** A shortened text, and what of the original it holds. */
export interface OutputTruncation {
	readonly text: string;
	/** Whether the text is another than the one given. */
	readonly truncated: boolean;
	/** The strategy that was used; `auto` never. */
	readonly strategy: Exclude<TruncationStrategy, "auto">;
	/**
	 * Half-open ranges of characters of the original that the text holds, in order. What it holds of them is the same
	 * but for escape sequences, for white space between values of JSON, and for lone surrogates, which become U+FFFD.
	 * None where the text was converted (`html`).
	 */
	readonly kept: readonly CharRange[];
	/** The rest of the original, but for single line ends between lines that are kept. */
	readonly omitted: readonly CharRange[];
	/** Lines of which something is left out. */
	readonly omittedLines: readonly LineSpan[];
	/** `kept` counts lines of which nothing is left out. */
	readonly lines: { readonly total: number; readonly kept: number };
	/** `kept` is the length of the ranges kept, `after` of the text with its notices. */
	readonly chars: { readonly total: number; readonly kept: number; readonly after: number };
	/** Tokens before and after; only with a budget in tokens. */
	readonly tokens?: { readonly total: number; readonly after: number };
	/** The notice at the top and the marks in the gaps, in order. */
	readonly notices: readonly string[];
	/** Only where the budget leaves no room for the shortest notice: the least one that does. */
	readonly leastBudget?: number;
}

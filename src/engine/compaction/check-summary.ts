import type { CountTokens } from "../measure.ts";
import { cleanText } from "./clean-text.ts";
import { neutraliseSpecialTokens } from "./special-tokens.ts";
import { hasToolCallMarkup } from "./tool-call-markup.ts";

/**
 * Why a summary is not taken.
 *
 * - `too_large`: more characters than any summary needs.
 * - `tool_call`: it holds markup of a tool call, which a server or an agent could carry out.
 * - `empty`: nothing that can be seen.
 * - `not_smaller`: as many tokens as what it would replace, or more.
 */
export type SummaryRefusal = "too_large" | "tool_call" | "empty" | "not_smaller";

/** A summary as it may be inserted, or why it may not. */
export type CheckedSummary =
	| {
			readonly kind: "accepted";
			readonly text: string;
			readonly tokens: number;
			/** Whether anything but white space at its ends was repaired or taken out. */
			readonly repaired: boolean;
	  }
	| { readonly kind: "refused"; readonly reason: SummaryRefusal; readonly detail: string };

/** What a summary is checked against. */
export interface CheckSummaryParameters {
	readonly text: string;
	/** Tokens of what the summary would replace. */
	readonly replacedTokens: number;
	/** Tokens that are inserted beside the summary: its frame, its message's overhead. */
	readonly overheadTokens: number;
	readonly countTokens: CountTokens;
	/** Most characters (UTF-16 code units) of a summary. */
	readonly maxChars?: number;
}

/** Some 50 000 tokens: far more than any hand-over, far less than what makes counting slow. */
const defaultMaxChars = 200_000;

/**
 * Checks what a model, a client or a caller answered: it is untrusted. Repaired are lone surrogates, control characters
 * and a leading block of thinking; special tokens of chat templates lose their effect but stay readable, since a summary
 * may speak of them. Refused is what would do harm or no good.
 */
export function checkSummary(parameters: CheckSummaryParameters): CheckedSummary {
	const { text, replacedTokens, overheadTokens, countTokens, maxChars = defaultMaxChars } = parameters;
	const refuse = (reason: SummaryRefusal, detail: string): CheckedSummary => ({ kind: "refused", reason, detail });
	// First of all, since what follows takes time by size.
	if (text.length > maxChars) {
		return refuse("too_large", `Expected a summary of at most ${maxChars} characters, got ${text.length}.`);
	}
	const cleaned = withoutThinking(cleanText(text)).trim();
	if (hasToolCallMarkup(cleaned)) {
		return refuse("tool_call", "Expected a summary in plain words, got one with the markup of a tool call.");
	}
	if (/^[\s\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}]*$/u.test(cleaned)) {
		return refuse("empty", "Expected a summary, got nothing that can be read.");
	}
	const summary = neutraliseSpecialTokens(cleaned);
	const tokens = countTokens(summary);
	if (tokens + overheadTokens >= replacedTokens) {
		const room = replacedTokens - overheadTokens;
		const detail =
			room > 1
				? `Expected a summary of fewer than ${room} tokens, which is what it would save, got ${tokens}.`
				: `What it is of takes ${replacedTokens} tokens, and no summary with the lines around it takes fewer. Leave it as it is.`;
		return refuse("not_smaller", detail);
	}
	return { kind: "accepted", text: summary, tokens, repaired: summary !== text.trim() };
}

/** Some servers leave the thinking of their models in the text, as its first block or blocks. */
function withoutThinking(text: string): string {
	let rest = text;
	for (;;) {
		const opening = /^\s*<(think|thinking|reasoning)>/i.exec(rest);
		if (!opening) return rest;
		const closing = new RegExp(`</${opening[1]}>`, "i").exec(rest);
		// One that never ends is all thinking, with no answer behind it.
		if (!closing) return "";
		rest = rest.slice(closing.index + closing[0].length);
	}
}

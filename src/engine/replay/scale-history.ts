import type { Size } from "../edit.ts";
import { type ReplayHistory, type ReplayResult, tokensSaved } from "./history.ts";

/** What a model makes of the tokens of a history. */
export interface HistoryScale {
	/** Tokens of the model for each that was counted of a text. */
	readonly factor: number;
	/** Tokens of each message's delimiters, which are not scaled. */
	readonly messageOverhead: number;
	/** What the provider adds to each request, in tokens of the model. */
	readonly requestOverhead: number;
}

/**
 * A history in the tokens of a model, by the best guess, unrounded: the numbers that calls are billed by. As everywhere,
 * texts alone are scaled; delimiters, images, recordings and documents have tokens of their own.
 */
export function scaleHistory(history: ReplayHistory, scale: HistoryScale): ReplayHistory {
	const { factor, messageOverhead, requestOverhead } = scale;
	const { transcript, messageTokens, surroundingTokens, results } = history;
	const surrounded = { ...history, surroundingTokens: surroundingTokens * factor + requestOverhead };
	if (factor === 1) return surrounded;
	const scaled = (tokens: number, fixed: number) => (tokens - fixed) * factor + fixed;
	const scaledSize = (size: Size): Size => ({ ...size, tokens: scaled(size.tokens, size.fixed ?? 0) });
	// In the order of `pairResults`, as the results of a history are.
	const mediaTokens = transcript.messages.flatMap((message) =>
		message.results.map((result) => result.media.reduce((sum, { tokens }) => sum + tokens, 0)),
	);
	return {
		...surrounded,
		messageTokens: messageTokens.map((tokens, index) =>
			scaled(tokens, messageOverhead + (transcript.messages[index]?.mediaTokens ?? 0)),
		),
		results: results.map((result, place): ReplayResult => {
			const { tokens, outcome } = result;
			const fixed = mediaTokens[place] ?? 0;
			if (typeof outcome === "string") return { ...result, tokens: scaled(tokens, fixed) };
			const edits = outcome.map((edit) => ({
				...edit,
				before: scaledSize(edit.before),
				after: scaledSize(edit.after),
			}));
			return { ...result, tokens: scaled(tokens, fixed), outcome: edits, saves: tokensSaved(edits) };
		}),
	};
}

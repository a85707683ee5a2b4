import type { SummaryAnswer } from "./summariser.ts";

/** Tokens a second that a hosted model commonly writes, until this one was seen. */
const commonSpeed = 50;

/** Guesses how long an answer takes from how long the last one took. */
export interface SecondsGuess {
	/** Seconds for an answer of at most so many tokens. */
	readonly of: (maxTokens: number) => number;
	/** Learns from an answer. */
	readonly learn: (answer: SummaryAnswer, seconds: number) => void;
}

export function startGuess(): SecondsGuess {
	let speed = commonSpeed;
	return {
		of: (maxTokens) => Math.ceil(maxTokens / speed),
		learn({ usage, text }, seconds) {
			const tokens = usage?.completionTokens ?? text.length / 4;
			if (tokens > 0 && seconds > 0) speed = tokens / seconds;
		},
	};
}

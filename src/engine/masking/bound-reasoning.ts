import type { CountTokens } from "../conversation/measure.ts";
import type { Message } from "../conversation/transcript.ts";

/** The reasoning that a model binds to everything before it, by message. Tokens are those of the meter. */
export interface BoundReasoning {
	/** Tokens that leave the context once it is invalid. */
	readonly tokens: Float64Array;
	/** How many of them are estimated from a signature, in tokens of the model. */
	readonly hidden: Float64Array;
	/** The part that the counted texts of the message lack; less than 0 where encrypted reasoning is counted as text. */
	readonly uncounted: Float64Array;
}

/** Blocks that have to stay are left out: nothing takes them out of the context. `undefined` if there is none. */
export function readBoundReasoning(messages: readonly Message[], countTokens: CountTokens): BoundReasoning | undefined {
	const [tokens, hidden, uncounted] = [0, 1, 2].map(() => new Float64Array(messages.length)) as [
		Float64Array,
		Float64Array,
		Float64Array,
	];
	messages.forEach(({ thinking, sent }, index) => {
		if (sent === false) return;
		for (const { text, bound, fixed, repeated, hiddenTokens } of thinking) {
			if (!bound || fixed || repeated) continue;
			const counted = countTokens(text);
			tokens[index] = (tokens[index] as number) + (hiddenTokens ?? counted);
			if (hiddenTokens === undefined) continue;
			hidden[index] = (hidden[index] as number) + hiddenTokens;
			uncounted[index] = (uncounted[index] as number) + hiddenTokens - counted;
		}
	});
	return tokens.some((own) => own > 0) ? { tokens, hidden, uncounted } : undefined;
}

/** Scales to the tokens of a model. */
export function scaleReasoning({ tokens, hidden, uncounted }: BoundReasoning, factor: number): BoundReasoning {
	const scaled = tokens.map((own, index) => (own - (hidden[index] as number)) * factor + (hidden[index] as number));
	return { tokens: scaled, hidden, uncounted };
}

/** Valid reasoning after a message, in tokens. */
export interface ReasoningAfter {
	readonly all: number;
	/** The part of the present turn: after the last message of a person. */
	readonly ofTurn: number;
}

const nothing: ReasoningAfter = { all: 0, ofTurn: 0 };

export const noReasoning = (): ReasoningAfter => nothing;

/**
 * The valid reasoning of a history that is walked through. A masked result makes all reasoning invalid that was produced
 * after the result came and before it was masked; later reasoning was produced after the placeholder. Invalid reasoning is
 * left out of the context and stays out.
 *
 * It is an assumption that reasoning of finished turns, before the last message of a person, is no longer needed, and
 * that a model produces a fixed share of the rest once more in its next answer.
 */
export function startReasoning(reasoning: BoundReasoning | undefined, messages: readonly Message[]) {
	if (!reasoning) return undefined;
	const valid = reasoning.tokens.slice();
	/** Messages with valid reasoning, oldest first. */
	const places: number[] = [];
	let turnStart = -1;
	let leftOut = 0;
	/** Reasoning made invalid since the last call. The present turn may need a part of it. */
	let fresh: { readonly message: number; readonly own: number }[] = [];
	return {
		append(message: number): void {
			if ((valid[message] as number) > 0) places.push(message);
			const { role, results } = messages[message] as Message;
			if (role === "user" && results.length === 0) turnStart = message;
		},
		/** Makes the reasoning after a message invalid. Returns its messages and tokens. */
		invalidate(after: number, leave: (message: number, own: number) => void): void {
			for (let message = places.at(-1); message !== undefined && message > after; message = places.at(-1)) {
				const own = valid[message] as number;
				places.pop();
				leave(message, own);
				leftOut += reasoning.tokens[message] as number;
				fresh.push({ message, own });
			}
		},
		/** Takes the tokens of invalid reasoning that the present turn is without since the last call. */
		takeNeeded(): number {
			const needed = fresh.reduce((sum, { message, own }) => (message > turnStart ? sum + own : sum), 0);
			if (fresh.length > 0) fresh = [];
			return needed;
		},
		/** Adds reasoning to a message that is not appended yet. */
		produce(message: number, own: number): void {
			if (message < valid.length) valid[message] = (valid[message] as number) + own;
		},
		leftOut: () => leftOut,
		after(): (message: number) => ReasoningAfter {
			let next = places.length;
			let all = 0;
			let ofTurn = 0;
			return (message) => {
				for (; next > 0 && (places[next - 1] as number) > message; next -= 1) {
					const place = places[next - 1] as number;
					all += valid[place] as number;
					if (place > turnStart) ofTurn += valid[place] as number;
				}
				return { all, ofTurn };
			};
		},
	};
}

/** Blocks that have to stay are left out: nothing takes them out of the context. `undefined` if there is none. */
export function readBoundReasoning(messages, countTokens) {
	const [tokens, hidden, uncounted] = [0, 1, 2].map(() => new Float64Array(messages.length));
	messages.forEach(({ thinking, sent }, index) => {
		if (sent === false) return;
		for (const { text, bound, fixed, repeated, hiddenTokens } of thinking) {
			if (!bound || fixed || repeated) continue;
			const counted = countTokens(text);
			tokens[index] = tokens[index] + (hiddenTokens ?? counted);
			if (hiddenTokens === undefined) continue;
			hidden[index] = hidden[index] + hiddenTokens;
			uncounted[index] = uncounted[index] + hiddenTokens - counted;
		}
	});
	return tokens.some((own) => own > 0) ? { tokens, hidden, uncounted } : undefined;
}
/** Scales to the tokens of a model. */
export function scaleReasoning({ tokens, hidden, uncounted }, factor) {
	const scaled = tokens.map((own, index) => (own - hidden[index]) * factor + hidden[index]);
	return { tokens: scaled, hidden, uncounted };
}
const nothing = { all: 0, ofTurn: 0 };
export const noReasoning = () => nothing;
/**
 * The valid reasoning of a history that is walked through. A masked result makes all reasoning invalid that was produced
 * after the result came and before it was masked; later reasoning was produced after the placeholder. Invalid reasoning is
 * left out of the context and stays out.
 *
 * It is an assumption that reasoning of finished turns, before the last message of a person, is no longer needed, and
 * that a model produces a fixed share of the rest once more in its next answer.
 */
export function startReasoning(reasoning, messages) {
	if (!reasoning) return undefined;
	const valid = reasoning.tokens.slice();
	/** Messages with valid reasoning, oldest first. */
	const places = [];
	let turnStart = -1;
	let leftOut = 0;
	/** Reasoning made invalid since the last call. The present turn may need a part of it. */
	let fresh = [];
	return {
		append(message) {
			if (valid[message] > 0) places.push(message);
			const { role, results } = messages[message];
			if (role === "user" && results.length === 0) turnStart = message;
		},
		/** Makes the reasoning after a message invalid. Returns its messages and tokens. */
		invalidate(after, leave) {
			for (let message = places.at(-1); message !== undefined && message > after; message = places.at(-1)) {
				const own = valid[message];
				places.pop();
				leave(message, own);
				leftOut += reasoning.tokens[message];
				fresh.push({ message, own });
			}
		},
		/** Takes the tokens of invalid reasoning that the present turn is without since the last call. */
		takeNeeded() {
			const needed = fresh.reduce((sum, { message, own }) => (message > turnStart ? sum + own : sum), 0);
			if (fresh.length > 0) fresh = [];
			return needed;
		},
		/** Adds reasoning to a message that is not appended yet. */
		produce(message, own) {
			if (message < valid.length) valid[message] = valid[message] + own;
		},
		leftOut: () => leftOut,
		after() {
			let next = places.length;
			let all = 0;
			let ofTurn = 0;
			return (message) => {
				for (; next > 0 && places[next - 1] > message; next -= 1) {
					const place = places[next - 1];
					all += valid[place];
					if (place > turnStart) ofTurn += valid[place];
				}
				return { all, ofTurn };
			};
		},
	};
}

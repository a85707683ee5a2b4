import { startSum } from "./plan.js";
import { resultCharacters } from "./transcript.js";
/** `requestOverhead`: the tokens that the provider adds to each request. */
export function measure({ messages, surroundings }, meter, requestOverhead = 0) {
	const sizes = messages.map((message) => sizeOfMessage(message, meter));
	const all = startSum();
	for (const size of sizes) all.add(size);
	let surroundingTokens = requestOverhead;
	for (const text of surroundings) {
		const size = sizeOf(text, meter.countTokens);
		surroundingTokens += size.tokens;
		all.add(size);
	}
	all.add({ chars: 0, tokens: requestOverhead, fixed: requestOverhead });
	return { messages: sizes, surroundingTokens, total: all.total() };
}
export function sizeOf(text, countTokens) {
	return { chars: text.length, tokens: countTokens(text) };
}
export const sizeOfResult = rememberSize((result, countTokens) => {
	const texts = result.texts.reduce((sum, { text }) => sum + countTokens(text), 0);
	const tokens = (result.whole?.json?.rest ?? []).reduce((sum, text) => sum + countTokens(text), texts);
	return { chars: resultCharacters(result), tokens };
});
export function sizeOfMedia({ texts = [], tokens: fixed }, countTokens) {
	const chars = texts.reduce((sum, { text }) => sum + text.length, 0);
	return { chars, tokens: texts.reduce((sum, { text }) => sum + countTokens(text), fixed), fixed };
}
/** Size of a message with its results; 0 if it is no longer sent. */
export const sizeOfMessage = rememberSize((message, { countTokens, messageOverhead }) => {
	if (message.sent === false) return { chars: 0, tokens: 0 };
	let chars = 0;
	const fixed = messageOverhead + message.mediaTokens;
	let tokens = fixed;
	for (const text of message.counted) {
		chars += text.length;
		tokens += countTokens(text);
	}
	for (const result of message.results) {
		const size = sizeOfResult(result, countTokens);
		chars += size.chars;
		tokens += size.tokens;
	}
	return { chars, tokens, fixed };
});
/** Remembers the sizes of parts of a transcript, which never changes: to hash its texts again makes `mask` a third slower at 10 MB. */
function rememberSize(measure) {
	const byMeter = new WeakMap();
	return (part, meter) => {
		const sizes = byMeter.get(meter) ?? new WeakMap();
		byMeter.set(meter, sizes);
		const size = sizes.get(part) ?? measure(part, meter);
		sizes.set(part, size);
		return size;
	};
}
/** For counting in the model's own encoding. */
export const exactScale = { low: 1, factor: 1, high: 1 };
/** Whole numbers: `low` ≤ `tokens` ≤ `high`. `fixed` tokens are not scaled. Scale only sums: rounding adds up. */
export function scaleTokens({ tokens, fixed = 0 }, scale) {
	return {
		low: Math.floor((tokens - fixed) * scale.low) + fixed,
		tokens: likelyTokens({ tokens, fixed }, scale),
		high: highTokens({ tokens, fixed }, scale),
	};
}
export function likelyTokens({ tokens, fixed = 0 }, { factor }) {
	return Math.round((tokens - fixed) * factor) + fixed;
}
export function highTokens({ tokens, fixed = 0 }, { high }) {
	return Math.ceil((tokens - fixed) * high) + fixed;
}

import { type Size, startSum } from "./plan.ts";
import { type MediaNode, type Message, resultCharacters, type ToolResult, type Transcript } from "./transcript.ts";

export type CountTokens = (text: string) => number;

export interface TokenMeter {
	readonly countTokens: CountTokens;
	/** Tokens added for each message's role and delimiters. */
	readonly messageOverhead: number;
}

export type Measurement = Readonly<ReturnType<typeof measure>>;

/** `requestOverhead`: the tokens that the provider adds to each request. */
export function measure({ messages, surroundings }: Transcript, meter: TokenMeter, requestOverhead = 0) {
	const sizes: readonly Size[] = messages.map((message) => sizeOfMessage(message, meter));
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

export function sizeOf(text: string, countTokens: CountTokens): Size {
	return { chars: text.length, tokens: countTokens(text) };
}

export const sizeOfResult = rememberSize((result: ToolResult, countTokens: CountTokens) => {
	const texts = result.texts.reduce((sum, { text }) => sum + countTokens(text), 0);
	const tokens = (result.whole?.json?.rest ?? []).reduce((sum, text) => sum + countTokens(text), texts);
	return { chars: resultCharacters(result), tokens };
});

export function sizeOfMedia({ texts = [], tokens: fixed }: MediaNode, countTokens: CountTokens): Size {
	const chars = texts.reduce((sum, { text }) => sum + text.length, 0);
	return { chars, tokens: texts.reduce((sum, { text }) => sum + countTokens(text), fixed), fixed };
}

/** Size of a message with its results; 0 if it is no longer sent. */
export const sizeOfMessage = rememberSize((message: Message, { countTokens, messageOverhead }: TokenMeter): Size => {
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
function rememberSize<Part extends object, Meter extends object>(
	measure: (part: Part, meter: Meter) => Size,
): (part: Part, meter: Meter) => Size {
	const byMeter = new WeakMap<Meter, WeakMap<Part, Size>>();
	return (part, meter) => {
		const sizes = byMeter.get(meter) ?? new WeakMap<Part, Size>();
		byMeter.set(meter, sizes);
		const size = sizes.get(part) ?? measure(part, meter);
		sizes.set(part, size);
		return size;
	};
}

/** Tokens of a model for each token of the counted encoding: at least, most likely, at most. */
export interface TokenScale {
	readonly low: number;
	readonly factor: number;
	readonly high: number;
}

/** For counting in the model's own encoding. */
export const exactScale: TokenScale = { low: 1, factor: 1, high: 1 };

/** Whole numbers: `low` ≤ `tokens` ≤ `high`. `fixed` tokens are not scaled. Scale only sums: rounding adds up. */
export function scaleTokens({ tokens, fixed = 0 }: Pick<Size, "tokens" | "fixed">, scale: TokenScale) {
	return {
		low: Math.floor((tokens - fixed) * scale.low) + fixed,
		tokens: likelyTokens({ tokens, fixed }, scale),
		high: highTokens({ tokens, fixed }, scale),
	};
}

export function likelyTokens({ tokens, fixed = 0 }: Pick<Size, "tokens" | "fixed">, { factor }: TokenScale): number {
	return Math.round((tokens - fixed) * factor) + fixed;
}

export function highTokens({ tokens, fixed = 0 }: Pick<Size, "tokens" | "fixed">, { high }: TokenScale): number {
	return Math.ceil((tokens - fixed) * high) + fixed;
}

import { type Size, startSum } from "./plan.ts";
import { type MediaNode, type Message, resultCharacters, type ToolResult, type Transcript } from "./transcript.ts";

/** Counts the tokens of a text; given to the engine, which has no tokenizer. */
export type CountTokens = (text: string) => number;

export interface TokenMeter {
	readonly countTokens: CountTokens;
	/** Tokens added for each message's role and delimiters. */
	readonly messageOverhead: number;
}

/** The sizes of a conversation before any edit. */
export interface Measurement {
	/** Size of each message, tool results included. */
	readonly messages: readonly Size[];
	/** Tokens of what each request carries beside the messages. */
	readonly surroundingTokens: number;
	/** Sum over messages and surroundings. */
	readonly total: Size;
}

/**
 * Measures a conversation: characters (UTF-16 code units) and tokens of each message and in all. `requestOverhead` is
 * what the provider adds to each request, in tokens.
 */
export function measure({ messages, surroundings }: Transcript, meter: TokenMeter, requestOverhead = 0): Measurement {
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

export function sizeOf(text: string, countTokens: CountTokens): Size {
	return { chars: text.length, tokens: countTokens(text) };
}

export const sizeOfResult = rememberSize((result: ToolResult, countTokens: CountTokens) => {
	let tokens = 0;
	for (const { text } of result.texts) tokens += countTokens(text);
	return { chars: resultCharacters(result), tokens };
});

/** Size of an image, a recording or a document with its texts. Only texts have characters. */
export function sizeOfMedia({ texts = [], tokens }: MediaNode, countTokens: CountTokens): Size {
	return {
		chars: texts.reduce((sum, node) => sum + node.text.length, 0),
		tokens: texts.reduce((sum, node) => sum + countTokens(node.text), tokens),
		fixed: tokens,
	};
}

/** Size of a message with its results; nothing where it is no longer sent. */
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

/** Remembers the sizes of parts of a transcript, which never changes: several steps of a call measure them. */
function rememberSize<Part extends object, Meter extends object>(
	measure: (part: Part, meter: Meter) => Size,
): (part: Part, meter: Meter) => Size {
	const byMeter = new WeakMap<Meter, WeakMap<Part, Size>>();
	return (part, meter) => {
		let sizes = byMeter.get(meter);
		if (!sizes) {
			sizes = new WeakMap();
			byMeter.set(meter, sizes);
		}
		let size = sizes.get(part);
		if (!size) {
			size = measure(part, meter);
			sizes.set(part, size);
		}
		return size;
	};
}

/** Tokens of a model for each token of the encoding that is counted in; all are 1 where that is the model's own. */
export interface TokenScale {
	readonly low: number;
	/** By the best guess: `low` ≤ `factor` ≤ `high`. */
	readonly factor: number;
	readonly high: number;
}

/** The scale of a model whose own tokens are counted. */
export const exactScale: TokenScale = { low: 1, factor: 1, high: 1 };

/** Tokens as a model counts them, whole numbers: `low` ≤ `tokens` ≤ `high`. */
export interface ScaledTokens {
	readonly low: number;
	readonly tokens: number;
	readonly high: number;
}

/** The tokens of a size on a scale. `fixed` tokens are not scaled. Scale sums, never their parts: rounding adds up. */
export function scaleTokens({ tokens, fixed = 0 }: Pick<Size, "tokens" | "fixed">, scale: TokenScale): ScaledTokens {
	return {
		low: Math.floor((tokens - fixed) * scale.low) + fixed,
		tokens: likelyTokens({ tokens, fixed }, scale),
		high: highTokens({ tokens, fixed }, scale),
	};
}

/** Tokens by the best guess, as in `scaleTokens`. */
export function likelyTokens({ tokens, fixed = 0 }: Pick<Size, "tokens" | "fixed">, { factor }: TokenScale): number {
	return factor === 1 ? tokens : Math.round((tokens - fixed) * factor) + fixed;
}

/** The most tokens, as in `scaleTokens`. */
export function highTokens({ tokens, fixed = 0 }: Pick<Size, "tokens" | "fixed">, { high }: TokenScale): number {
	return Math.ceil((tokens - fixed) * high) + fixed;
}

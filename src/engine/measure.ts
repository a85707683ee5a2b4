import type { Size } from "./edit.ts";
import { rememberSize } from "./remember-size.ts";
import { type MediaNode, type Message, resultCharacters, type ToolResult, type Transcript } from "./transcript.ts";

/** Counts the tokens of a text; given to the engine, which knows no tokenizer. */
export type CountTokens = (text: string) => number;

/** How the engine turns messages into tokens. */
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

/** Size of a text. */
export function sizeOf(text: string, countTokens: CountTokens): Size {
	return { chars: text.length, tokens: countTokens(text) };
}

/** Size of a result's texts. */
export const sizeOfResult = rememberSize((result: ToolResult, countTokens: CountTokens) => {
	const tokens = result.texts.reduce((sum, node) => sum + countTokens(node.text), 0);
	return { chars: resultCharacters(result), tokens };
});

/** Size of an image, a recording or a document with its texts. Only texts have characters. */
export function sizeOfMedia({ texts = [], tokens }: MediaNode, countTokens: CountTokens): Size {
	return {
		chars: texts.reduce((sum, node) => sum + node.text.length, 0),
		tokens: texts.reduce((sum, node) => sum + countTokens(node.text), tokens),
	};
}

const sizeOfMessage = rememberSize((message: Message, { countTokens, messageOverhead }: TokenMeter): Size => {
	if (message.sent === false) return { chars: 0, tokens: 0 };
	let chars = 0;
	let tokens = messageOverhead + message.mediaTokens;
	for (const text of message.counted) {
		chars += text.length;
		tokens += countTokens(text);
	}
	for (const result of message.results) {
		const size = sizeOfResult(result, countTokens);
		chars += size.chars;
		tokens += size.tokens;
	}
	return { chars, tokens };
});

/** Measures a conversation: characters (UTF-16 code units) and tokens of each message and in all. */
export function measure(transcript: Transcript, meter: TokenMeter): Measurement {
	const messages = transcript.messages.map((message) => sizeOfMessage(message, meter));
	const surroundings = transcript.surroundings.map((text) => sizeOf(text, meter.countTokens));
	const sum = (sizes: readonly Size[], key: keyof Size) => sizes.reduce((all, size) => all + size[key], 0);
	const surroundingTokens = sum(surroundings, "tokens");
	return {
		messages,
		surroundingTokens,
		total: {
			chars: sum(messages, "chars") + sum(surroundings, "chars"),
			tokens: sum(messages, "tokens") + surroundingTokens,
		},
	};
}

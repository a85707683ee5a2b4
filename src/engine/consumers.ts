import type { Size } from "./edit.ts";
import { pairResults } from "./pairing.ts";
import { cleanValue } from "./placeholder.ts";
import { exactScale, scaleTokens, type TokenScale } from "./token-scale.ts";
import type { Role, Transcript } from "./transcript.ts";

/** A message that takes a large part of the window. */
export interface Consumer {
	/** Index of the message in the input. */
	readonly message: number;
	readonly role: Role;
	/** Tools whose results it holds, cleaned, in order. */
	readonly tools: readonly string[];
	/** Tokens of the model, of the message as it came. */
	readonly tokens: number;
	/** Characters of the message as it came. */
	readonly chars: number;
}

const mostListed = 5;

/**
 * The messages that take the most tokens in a conversation as it came, largest first. `sizes` are those before any edit;
 * `scale` says what the model makes of a token.
 */
export function largestConsumers(
	transcript: Transcript,
	{ sizes, scale = exactScale, limit = mostListed }: ConsumerOptions,
): Consumer[] {
	const largest: LargeMessage[] = [];
	for (let message = 0; message < sizes.length; message += 1) {
		const size = sizes[message] as Size;
		if (largest.length < limit || size.tokens > (largest.at(-1)?.size.tokens ?? 0)) {
			insert(largest, { message, size });
			largest.length = Math.min(largest.length, limit);
		}
	}
	return largest.map(({ message, size }) => ({
		message,
		role: transcript.messages[message]?.role ?? "other",
		tools: toolsOf(transcript, message),
		tokens: scaleTokens(size, scale).tokens,
		chars: size.chars,
	}));
}

interface ConsumerOptions {
	/** Of each message. */
	readonly sizes: readonly Size[];
	readonly scale?: TokenScale;
	readonly limit?: number;
}

interface LargeMessage {
	readonly message: number;
	readonly size: Size;
}

function insert(largest: LargeMessage[], one: LargeMessage): void {
	const before = largest.findIndex(({ size }) => one.size.tokens > size.tokens);
	largest.splice(before === -1 ? largest.length : before, 0, one);
}

function toolsOf(transcript: Transcript, message: number): string[] {
	const names = pairResults(transcript).flatMap((one) =>
		one.message === message && one.call?.name !== undefined ? [cleanValue(one.call.name)] : [],
	);
	return [...new Set(names)];
}

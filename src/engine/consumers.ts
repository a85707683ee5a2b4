import type { Size } from "./edit.ts";
import { pairResults } from "./pairing.ts";
import { cleanValue } from "./placeholder.ts";
import type { Role, Transcript } from "./transcript.ts";

/** A message that takes a large part of the window. */
export interface Consumer {
	/** Index of the message in the input. */
	readonly message: number;
	readonly role: Role;
	/** Tools whose results it holds, cleaned, in order. */
	readonly tools: readonly string[];
	readonly tokens: number;
	readonly chars: number;
}

/** The messages that take the most tokens, largest first. */
export function largestConsumers(transcript: Transcript, sizes: readonly Size[], limit = 5): Consumer[] {
	const tools = new Map<number, Set<string>>();
	for (const { message, call } of pairResults(transcript)) {
		if (call?.name === undefined) continue;
		const names = tools.get(message) ?? new Set();
		tools.set(message, names.add(cleanValue(call.name)));
	}
	return sizes
		.map((size, message) => ({ message, size }))
		.sort((a, b) => b.size.tokens - a.size.tokens || a.message - b.message)
		.slice(0, limit)
		.map(({ message, size }) => ({
			message,
			role: transcript.messages[message]?.role ?? "other",
			tools: [...(tools.get(message) ?? [])],
			tokens: size.tokens,
			chars: size.chars,
		}));
}

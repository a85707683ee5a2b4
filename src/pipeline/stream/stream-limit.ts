import type { Policy } from "../../policy/schema.ts";

/** Up to where an output is left whole, and how it is shortened past that. */
export type StreamLimit =
	/** Head and tail as `[truncate]` of the policy says, past so many characters (seed 5, L1). */
	| { readonly kind: "head_tail"; readonly maxChars: number }
	/** The largest excerpt of so many characters, its notices among them. */
	| { readonly kind: "chars"; readonly most: number }
	/** The largest excerpt of so many tokens, its notices among them. */
	| { readonly kind: "tokens"; readonly most: number };

/** Bytes of an output up to which it is held whole, where that decides nothing else. */
const alwaysHeld = 8 * 1024 * 1024;
/** Characters of a placeholder or of head, marker and tail, beyond their own numbers. */
const ofMarkers = 65_536;

/**
 * Bytes of an output past which it is certain that it has to be shortened, whatever it is: until then it is held, after
 * that only its excerpt is.
 */
export function bytesToHold(limit: StreamLimit, { truncate }: Policy): number {
	switch (limit.kind) {
		// A character is at most three bytes; what was cut already is no longer than head, marker and tail.
		case "head_tail":
			return Math.max(
				alwaysHeld,
				3 * (Math.max(limit.maxChars, truncate.head_chars + truncate.tail_chars) + ofMarkers),
			);
		case "chars":
			return Math.max(alwaysHeld, 3 * limit.most);
		// No token is longer than 128 bytes.
		case "tokens":
			return Math.max(alwaysHeld, 128 * limit.most);
	}
}

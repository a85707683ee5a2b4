import crypto from "node:crypto";
import type { CountTokens } from "../engine/measure.ts";

export interface CountMemo {
	count: CountTokens;
	/** Counts remembered now. */
	size(): number;
}

export interface CountMemoLimits {
	/** Remembered counts; past that the oldest goes. */
	entries: number;
	/** Texts of at most this many UTF-16 code units are counted anew: that costs no more than the look-up. */
	shortText: number;
}

/**
 * Remembers counts under the text's length and SHA-256, so that it holds no caller's text alive and asks no map about
 * long strings, which V8 hashes by their length only.
 */
export function createCountMemo(count: CountTokens, limits: CountMemoLimits): CountMemo {
	const counts = new Map<string, number>();

	function remember(text: string): number {
		if (text.length <= limits.shortText) return count(text);
		const key = `${text.length}:${digest(text)}`;
		const known = counts.get(key);
		if (known !== undefined) return known;
		const counted = count(text);
		if (counts.size >= limits.entries) {
			for (const oldest of counts.keys()) {
				counts.delete(oldest);
				break;
			}
		}
		counts.set(key, counted);
		return counted;
	}

	return { count: remember, size: () => counts.size };
}

// Node has the quicker way in one call since 20.12.
const digest =
	typeof crypto.hash === "function"
		? (text: string) => crypto.hash("sha256", text, "base64")
		: (text: string) => crypto.createHash("sha256").update(text, "utf8").digest("base64");

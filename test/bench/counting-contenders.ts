import { clearMergeCache } from "gpt-tokenizer/encoding/o200k_base";
import { exactCount } from "./exact-counter.ts";
import { importPeer } from "./import-peer.ts";
import { loadProductCounter } from "./product-counter.ts";
import { createRandom } from "./random.ts";

type Count = (text: string) => number;

/** A counter of tokens that is measured. */
export interface CountingContender {
	readonly name: string;
	readonly count: Count;
	/** Brings it to the state of having seen no text; absent where it keeps nothing between texts. */
	readonly forget?: () => unknown;
}

interface Tiktoken {
	get_encoding(name: string): { encode_ordinary(text: string): Uint32Array };
}

interface JsTiktoken {
	readonly Tiktoken: new (
		ranks: unknown,
	) => {
		encode(text: string, allowed: readonly string[], disallowed: readonly string[]): number[];
	};
}

interface AiTokenizer {
	readonly default: new (encoding: unknown) => { count(text: string): number };
}

/** Words that no other text holds, more than any of the counters remembers. */
export function otherWords(): string[] {
	const random = createRandom(5);
	const word = (letters: number) =>
		String.fromCharCode(...Array.from({ length: letters }, () => 97 + Math.floor(random() * 26)));
	return Array.from({ length: 320_000 }, (_, index) => word(index % 8 === 0 ? 16 : 6));
}

/** Six letters, different ones for each number. */
function lettersOf(number: number): string {
	return Array.from({ length: 6 }, (_, place) =>
		String.fromCharCode(97 + (Math.floor(number / 26 ** place) % 26)),
	).join("");
}

/** The counters, ours first; those of peers as they come, with their own caches. */
export async function countingContenders(): Promise<CountingContender[]> {
	const { createBare } = await loadProductCounter();
	const wasm = (await importPeer<Tiktoken>("tiktoken")).get_encoding("o200k_base");
	const { Tiktoken: JsTiktoken } = await importPeer<JsTiktoken>("js-tiktoken/lite");
	const { default: ranks } = await importPeer<{ default: unknown }>("js-tiktoken/ranks/o200k_base");
	const plain = new JsTiktoken(ranks);
	const { default: AiTokenizer } = await importPeer<AiTokenizer>("ai-tokenizer");
	const aiEncoding = await importPeer<object>("ai-tokenizer/encoding/o200k_base");
	const ours = createBare();
	// So many long pieces that the cache of those, which turns away as many as it holds, forgets what it held.
	const longPieces = Array.from({ length: 300_000 }, (_, index) => ` ${"x".repeat(8)}${lettersOf(index)}`).join("");
	const flood = otherWords().join(" ") + longPieces;
	let ai = new AiTokenizer(aiEncoding);
	return [
		{
			name: "palimpsest",
			count: ours,
			// A process has one counter, and V8 compiles one better than many: its caches are flooded, not made anew.
			forget: () => ours(flood),
		},
		{ name: "gpt-tokenizer", count: exactCount, forget: clearMergeCache },
		{ name: "tiktoken (wasm)", count: (text) => wasm.encode_ordinary(text).length },
		{ name: "js-tiktoken", count: (text) => plain.encode(text, [], []).length },
		{
			name: "ai-tokenizer",
			count: (text) => ai.count(text),
			forget: () => {
				ai = new AiTokenizer(aiEncoding);
			},
		},
	];
}

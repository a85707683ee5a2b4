import type { CountTokens } from "../engine/measure.ts";
import { createCountMemo } from "./count-memo.ts";
import { createCounter } from "./create-counter.ts";
import type { EncodingName } from "./encoding.ts";
import { readEncoding } from "./read-encoding.ts";
import type { TableName } from "./read-token-table.ts";

const counters = new Map<TableName, Promise<CountTokens>>();

// From a thousand characters on, a digest takes less than a third of the time that counting does. An entry is some 150
// bytes, so that all of them together stay under 8 MB.
const memoLimits = { entries: 50_000, shortText: 1024 };

/**
 * The counter of an encoding, one in a process. The first call for an encoding reads its table (some 30 ms and 15 MB for
 * o200k_base); calls after that cost nothing.
 *
 * The counter is exact: it answers what tiktoken 1.0.22 makes of the text as ordinary text. Special tokens such as
 * `<|endoftext|>` are spelled out, and lone surrogates count as U+FFFD. Its time grows with the length of the text alone.
 */
export function loadCounter(encoding: EncodingName): Promise<CountTokens> {
	// They differ in their special tokens alone, and those are never special here.
	const name = encoding === "o200k_harmony" ? "o200k_base" : encoding;
	const loaded = counters.get(name);
	if (loaded !== undefined) return loaded;
	const loading = load(name);
	counters.set(name, loading);
	return loading;
}

async function load(name: TableName): Promise<CountTokens> {
	const counter = createCounter(readEncoding(name));
	return createCountMemo(counter.count, memoLimits).count;
}

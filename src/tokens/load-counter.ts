import type { CountTokens } from "../engine/measure.ts";
import { createCounter } from "./create-counter.ts";
import type { EncodingName } from "./encoding.ts";

const counters = new Map<string, Promise<CountTokens>>();

/**
 * The counter of an encoding, one in a process. The first call for an encoding loads its table (some 150 ms and 60 MB
 * for o200k_base); calls after that cost nothing.
 *
 * The counter is exact: it answers what the encoding makes of the text as ordinary text. Special tokens such as
 * `<|endoftext|>` are spelled out, and lone surrogates count as U+FFFD. Two exceptions: text around U+FEFF is counted
 * as gpt-tokenizer does, which may be off by a token each; an unbroken run of over a million characters may come out a
 * few tokens off.
 */
export function loadCounter(encoding: EncodingName): Promise<CountTokens> {
	// They differ in their special tokens alone, and those are never special here.
	const table = encoding === "o200k_harmony" ? "o200k_base" : encoding;
	const loaded = counters.get(table);
	if (loaded !== undefined) return loaded;
	const loading = table === "o200k_base" ? loadO200k() : loadCl100k();
	counters.set(table, loading);
	return loading;
}

async function loadO200k(): Promise<CountTokens> {
	const [tokenizer, { default: tokens }, { O200K_TOKEN_SPLIT_REGEX: splitPattern }] = await Promise.all([
		import("gpt-tokenizer/encoding/o200k_base"),
		import("gpt-tokenizer/bpeRanks/o200k_base"),
		import("gpt-tokenizer/encodingParams/constants"),
	]);
	return createCounter({ tokenizer, tokens, splitPattern });
}

async function loadCl100k(): Promise<CountTokens> {
	const [tokenizer, { default: tokens }, { CL100K_TOKEN_SPLIT_REGEX: splitPattern }] = await Promise.all([
		import("gpt-tokenizer/encoding/cl100k_base"),
		import("gpt-tokenizer/bpeRanks/cl100k_base"),
		import("gpt-tokenizer/encodingParams/constants"),
	]);
	return createCounter({ tokenizer, tokens, splitPattern });
}

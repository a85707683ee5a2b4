import * as cl100k from "gpt-tokenizer/encoding/cl100k_base";
import * as o200k from "gpt-tokenizer/encoding/o200k_base";
import * as harmony from "gpt-tokenizer/encoding/o200k_harmony";
import { get_encoding, type Tiktoken, type TiktokenEncoding } from "tiktoken";
import type { CountTokens } from "../../../src/engine/conversation/measure.ts";
import type { EncodingName } from "../../../src/formats/tokens/encodings.ts";
import type { TableName } from "../../../src/formats/tokens/table.ts";

const plain = { disallowedSpecial: new Set<string>(), allowedSpecial: new Set<string>() };

export const encodingNames: EncodingName[] = ["o200k_base", "cl100k_base", "o200k_harmony"];
export const tableNames: TableName[] = ["o200k_base", "cl100k_base"];

/** gpt-tokenizer itself, unguarded. */
export const reference: Record<EncodingName, CountTokens> = {
	o200k_base: (text) => o200k.countTokens(text, plain),
	cl100k_base: (text) => cl100k.countTokens(text, plain),
	o200k_harmony: (text) => harmony.countTokens(text, plain),
};

/** Tiktoken's Rust code itself, as WebAssembly, unguarded. */
export const tiktoken: Record<TableName, CountTokens> = {
	o200k_base: countWithTiktoken("o200k_base"),
	cl100k_base: countWithTiktoken("cl100k_base"),
};

function countWithTiktoken(name: TiktokenEncoding): CountTokens {
	let encoding: Tiktoken | undefined;
	return (text) => {
		encoding ??= get_encoding(name);
		return encoding.encode_ordinary(text.toWellFormed()).length;
	};
}

/**
 * Whether gpt-tokenizer can be asked about a text: known-differences.test.ts says why it counts these otherwise. What
 * Unicode 17.0 added is left out too, whether or not the running Node knows it.
 */
export function isSameEverywhere(text: string): boolean {
	return !/[\ufeff\u0085]/.test(text) && !addedByUnicode17.test(text);
}

const addedByUnicode17 = new RegExp(
	`[\\u088f\\u0c5c\\u0cdc\\u1acf-\\u1aff\\ua7ce-\\ua7d4\\ua7f1${[
		[0x10940, 0x1095f],
		[0x10ec0, 0x10eff],
		[0x11b60, 0x11b6f],
		[0x11db0, 0x11def],
		[0x16ea0, 0x16edf],
		[0x16ff0, 0x16fff],
		[0x187f8, 0x187ff],
		[0x18d00, 0x18dff],
		[0x1e6c0, 0x1e6ff],
		[0x2b73a, 0x2b73f],
		[0x2cea2, 0x2ceaf],
		[0x323b0, 0x3347f],
	]
		.map(([from = 0, to = 0]) => `\\u{${from.toString(16)}}-\\u{${to.toString(16)}}`)
		.join("")}]`,
	"u",
);

import { describe, expect, it } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import type { TableName } from "../../../src/formats/tokens/table.ts";
import { reference, tiktoken } from "./reference.ts";

interface Difference {
	readonly cause: string;
	readonly encoding: TableName;
	readonly text: string;
	readonly tiktoken: number;
	readonly gptTokenizer: number;
}

const byteOrderMark = "gpt-tokenizer takes U+FEFF for white space and drops it from the bytes of its tokens";
const nextLine = "gpt-tokenizer takes U+0085 for a symbol; it is White_Space";

/** Every cause found by which gpt-tokenizer 4.0.0 counts otherwise than tiktoken 1.0.22, which is right. */
const differences: readonly Difference[] = [
	{ cause: byteOrderMark, encoding: "o200k_base", text: "\ufeff", tiktoken: 1, gptTokenizer: 2 },
	{ cause: byteOrderMark, encoding: "o200k_base", text: "a\ufeffb", tiktoken: 3, gptTokenizer: 4 },
	{ cause: byteOrderMark, encoding: "o200k_base", text: "\ufeff using", tiktoken: 2, gptTokenizer: 3 },
	{ cause: byteOrderMark, encoding: "cl100k_base", text: "\ufeff\ufeff", tiktoken: 2, gptTokenizer: 4 },
	{ cause: byteOrderMark, encoding: "cl100k_base", text: "\ufeff\n", tiktoken: 1, gptTokenizer: 3 },
	{ cause: nextLine, encoding: "o200k_base", text: " \u0085!", tiktoken: 4, gptTokenizer: 3 },
	{ cause: nextLine, encoding: "cl100k_base", text: " \u0085!", tiktoken: 4, gptTokenizer: 3 },
];

const unicode17 =
	"Unicode 17.0 added the character; tiktoken's tables are of 16.0, gpt-tokenizer's are the running Node's";

const laterCharacters: readonly Difference[] = [
	{ cause: unicode17, encoding: "o200k_base", text: "\u088f'll", tiktoken: 5, gptTokenizer: 4 },
	{ cause: unicode17, encoding: "cl100k_base", text: "\u{18d09}'ll", tiktoken: 6, gptTokenizer: 5 },
	{ cause: unicode17, encoding: "o200k_base", text: "1\u{11de0}00000", tiktoken: 7, gptTokenizer: 8 },
];

describe("known differences between gpt-tokenizer and tiktoken", () => {
	it.each(differences)("$encoding $text: $cause", async (difference) => {
		const count = await loadCounter(difference.encoding);
		expect(tiktoken[difference.encoding](difference.text)).toBe(difference.tiktoken);
		expect(count(difference.text)).toBe(difference.tiktoken);
		expect(reference[difference.encoding](difference.text)).toBe(difference.gptTokenizer);
	});

	it.each(laterCharacters)("$encoding $text: $cause", async (difference) => {
		const count = await loadCounter(difference.encoding);
		expect(tiktoken[difference.encoding](difference.text)).toBe(difference.tiktoken);
		expect(count(difference.text)).toBe(difference.tiktoken);
		const known = Number.parseInt(process.versions.unicode ?? "0", 10) >= 17;
		expect(reference[difference.encoding](difference.text)).toBe(known ? difference.gptTokenizer : difference.tiktoken);
	});

	/** Their patterns differ here too, and no count does: no token joins what the one splits and the other does not. */
	it.each(["\n  ", "a\r\n\t", "a \n \n  ", "x'ſ", "x'ſt", "'ſome", "a'ſ'll"])("none for %j", async (text) => {
		for (const encoding of ["o200k_base", "cl100k_base"] as const) {
			const count = await loadCounter(encoding);
			expect(count(text)).toBe(tiktoken[encoding](text));
			expect(count(text)).toBe(reference[encoding](text));
		}
	});
});

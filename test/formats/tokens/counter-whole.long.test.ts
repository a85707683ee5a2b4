import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { createCounter, readEncoding } from "../../../src/formats/tokens/count-pieces.ts";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { isWhole } from "../../support/breadth.ts";
import { createDraw, randomText } from "./random-text.ts";
import { encodingNames, reference, tableNames } from "./reference.ts";

const tiny = { short: 16, slots: 16, words: 64 };

describe.each(tableNames)("the %s counter's memory", (name) => {
	const encoding = readEncoding(name);

	it("changes no count: cold, warm, full and in any order", () => {
		const draw = createDraw(5);
		const texts = Array.from({ length: isWhole ? 1_500 : 500 }, () => randomText(draw));
		const counts = texts.map((text) => createCounter(encoding, tiny).count(text));
		const shared = createCounter(encoding);
		const crowded = createCounter(encoding, tiny);
		for (let pass = 0; pass < 2; pass++) {
			expect(texts.map(shared.count)).toEqual(counts);
			expect(texts.map(crowded.count)).toEqual(counts);
		}
		expect(texts.toReversed().map(shared.count)).toEqual(counts.toReversed());
		expect(texts.toReversed().map(crowded.count)).toEqual(counts.toReversed());
	});
});

describe("the heap", () => {
	it("does not grow with the counted texts", async () => {
		setFlagsFromString("--expose-gc");
		const collect: () => void = runInNewContext("gc");
		const count = await loadCounter("o200k_base");
		const makeText = (index: number) => `w${index}é `.repeat(150_000);

		function used(): number {
			collect();
			const { heapUsed, external } = process.memoryUsage();
			return heapUsed + external;
		}

		count(makeText(0));
		const before = used();
		let counted = 0;
		const texts = isWhole ? 60 : 20;
		for (let index = 1; index <= texts; index++) counted += count(makeText(index));
		expect(counted).toBeGreaterThan(texts * 100_000);
		expect(used() - before).toBeLessThan(10e6);
	});
});

describe.each(encodingNames)("the %s counter", (encoding) => {
	it("counts the empty text as zero", async () => {
		const count = await loadCounter(encoding);
		expect(count("")).toBe(0);
	});

	it.each([
		"<|endoftext|>",
		"<|im_start|>",
		"<|im_end|>",
		"<|im_sep|>",
		"<|fim_prefix|>",
		"<|fim_middle|>",
		"<|fim_suffix|>",
		"<|endofprompt|>",
		"<|startoftext|>",
		"<|start|>",
		"<|end|>",
		"<|message|>",
		"<|channel|>",
		"<|call|>",
		"<|return|>",
		"<|reserved_200013|>",
	])("counts %s as ordinary text", async (special) => {
		const count = await loadCounter(encoding);
		expect(count(special)).toBeGreaterThan(1);
		expect(count(special)).toBe(reference[encoding](special));
		const within = `say ${special}${special} and ${"=".repeat(200)}${special}`;
		expect(count(within)).toBe(reference[encoding](within));
	});

	it.each([
		["a high surrogate", "a\ud800b", "a\ufffdb"],
		["a low surrogate", "a\udc00b", "a\ufffdb"],
		["a reversed pair", "\udc00\ud800", "\ufffd\ufffd"],
		["one at the end", "text \ud83d", "text \ufffd"],
		["a run of them", "\ud800".repeat(300), "\ufffd".repeat(300)],
	])("counts %s as U+FFFD", async (_name, text, wellFormed) => {
		const count = await loadCounter(encoding);
		expect(count(text)).toBe(reference[encoding](wellFormed));
	});
});

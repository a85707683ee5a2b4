import { describe, expect, it } from "vitest";
import { loadCounter } from "../../src/tokens/load-counter.ts";
import { encodingNames, reference } from "./reference.ts";

describe("loadCounter", () => {
	it("shares one counter per encoding", async () => {
		expect(await loadCounter("o200k_base")).toBe(await loadCounter("o200k_base"));
		expect(await loadCounter("o200k_base")).not.toBe(await loadCounter("cl100k_base"));
	});

	it("counts as known from elsewhere", async () => {
		const o200k = await loadCounter("o200k_base");
		const cl100k = await loadCounter("cl100k_base");
		expect(o200k("hello world")).toBe(2);
		expect(cl100k("hello world")).toBe(2);
		expect(o200k("This is a test")).toBe(4);
		expect(cl100k("This is a test")).toBe(4);
		expect(o200k("a".repeat(8))).toBe(1);
	});
});

describe.each(encodingNames)("the %s counter", (encoding) => {
	it("counts the empty text as nothing", async () => {
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
		["a pair the wrong way round", "\udc00\ud800", "\ufffd\ufffd"],
		["one at the end", "text \ud83d", "text \ufffd"],
		["a run of them", "\ud800".repeat(300), "\ufffd".repeat(300)],
	])("counts %s as U+FFFD", async (_name, text, wellFormed) => {
		const count = await loadCounter(encoding);
		expect(count(text)).toBe(reference[encoding](wellFormed));
	});
});

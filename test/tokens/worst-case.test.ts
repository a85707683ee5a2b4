import { describe, expect, it } from "vitest";
import { loadCounter } from "../../src/tokens/load-counter.ts";
import { encodingNames } from "./reference.ts";

const length = 200_000;

function drawn(alphabet: string): string {
	const characters = [...alphabet];
	let seed = 1;
	let text = "";
	while (text.length < length) {
		seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
		text += characters[Math.floor((seed / 2 ** 32) * characters.length)];
	}
	return text;
}

const lowercase = "abcdefghijklmnopqrstuvwxyz";
const uppercase = lowercase.toUpperCase();

// These take gpt-tokenizer alone from half a minute to several; the limit of the test is all that is asserted of time.
const texts: [string, string][] = [
	["capitals", "A".repeat(length)],
	["small letters", "a".repeat(length)],
	["spaces", " ".repeat(length)],
	["line feeds", "\n".repeat(length)],
	["tabs", "\t".repeat(length)],
	["carriage returns and line feeds", "\r\n".repeat(length / 2)],
	["slashes and line feeds", "/\n".repeat(length / 2)],
	["CJK", "漢".repeat(length)],
	["Hangul", "한".repeat(length)],
	["emoji", "😀".repeat(length / 2)],
	["NUL", "\0".repeat(length)],
	["combining marks", "\u0301".repeat(length)],
	["lone surrogates", "\ud800".repeat(length)],
	["equals signs", "=".repeat(length)],
	["random letters", drawn(lowercase)],
	["random letters of both cases", drawn(lowercase + uppercase)],
	["random digits", drawn("0123456789")],
	["base64", drawn(`${lowercase}${uppercase}0123456789+/`)],
	["random punctuation", drawn("!#$%&()*,-./:;<=>?@[]^_{|}~")],
	["random white space", drawn(" \t\n")],
	["special tokens", "<|endoftext|>".repeat(length / 13)],
];

describe.each(encodingNames)("the %s counter at 200 000 characters", (encoding) => {
	it.each(texts)("finishes on %s", async (_name, text) => {
		const count = await loadCounter(encoding);
		const tokens = count(`${text}.`);
		// No token is longer than 128 bytes, and none shorter than one.
		expect(tokens).toBeGreaterThanOrEqual(Buffer.byteLength(text.toWellFormed()) / 128);
		expect(tokens).toBeLessThanOrEqual(Buffer.byteLength(text.toWellFormed()) + 1);
	});
});

describe("the o200k_base counter on long runs", () => {
	it("merges a run into its longest tokens", async () => {
		const count = await loadCounter("o200k_base");
		expect(count("a".repeat(length))).toBe(length / 8);
		expect(count("=".repeat(64 * 100))).toBe(count("=".repeat(64)) * 100);
	});

	it("gets through a run on which the split pattern alone runs out of stack", async () => {
		const count = await loadCounter("o200k_base");
		expect(count("\u0301".repeat(10_000_000))).toBe(10_000_000);
	});
});

import { expect, it } from "vitest";
import { inWindowsShell } from "../../src/commands/proxy.ts";

it.each([
	["plain", '"plain"'],
	["two words", '"two words"'],
	['say "hello"', '"say \\"hello\\""'],
	["C:\\Program Files\\", '"C:\\Program Files\\\\"'],
	['a\\"b', '"a\\\\\\"b"'],
	["", '""'],
])("a program on Windows reads %j as one word", (word, written) => {
	expect(inWindowsShell(word)).toBe(written);
});

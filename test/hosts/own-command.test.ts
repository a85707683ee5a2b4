import { describe, expect, it } from "vitest";
import { shellArgument, shellWord, windowsWord } from "../../src/hosts/own-command.ts";

describe("words of a shell", () => {
	it("are quoted only if a shell would read them differently", () => {
		expect([shellWord("/a/b-c.json"), shellWord("/it's $HOME")]).toEqual(["/a/b-c.json", "'/it'\\''s $HOME'"]);
	});

	it("are quoted for POSIX shells, PowerShell and cmd alike", () => {
		expect([shellArgument("/a/b-c.json"), shellArgument('/my "own" $HOME')]).toEqual([
			"/a/b-c.json",
			'"/my \\"own\\" \\$HOME"',
		]);
	});
});

it.each([
	["plain", '"plain"'],
	["two words", '"two words"'],
	['say "hello"', '"say \\"hello\\""'],
	["C:\\Program Files\\", '"C:\\Program Files\\\\"'],
	['a\\"b', '"a\\\\\\"b"'],
	["", '""'],
])("a program on Windows reads %j as one word", (word, written) => {
	expect(windowsWord(word)).toBe(written);
});

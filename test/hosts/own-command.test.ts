import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import {
	ownCommandAnywhere,
	ownCommandLine,
	shellArgument,
	shellWord,
	windowsWord,
} from "../../src/hosts/own-command.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

it.skipIf(process.platform === "win32")(
	"names this program by its paths for a shell that sets its own PATH",
	async () => {
		const folder = await scratchFolder();
		await writeFile(path.join(folder, "palimpsest"), "");
		vi.stubEnv("PATH", folder);
		expect(ownCommandLine()).toBe("palimpsest");
		const [node, script] = ownCommandAnywhere().split(" ");
		expect([node, path.isAbsolute(script ?? "")]).toEqual([process.execPath, true]);
		vi.unstubAllEnvs();
	},
);

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

import { execFileSync } from "node:child_process";
import { mkdir, open, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { isWholeOf, mostSavedBytes, openSavedOutput, shellNoteOf } from "../../src/hosts/shorten-result.ts";
import { logOf } from "../support/hook-events.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const whole = logOf(3_000, { 1500: "état : 部分失败" });

let folder: string;

let file: string;

beforeAll(async () => {
	folder = await scratchFolder();
	file = join(folder, "tool_1");
	await writeFile(file, whole);
});

const notice = "\n\n...9 lines truncated...\n\nThe tool call succeeded. Full output saved to: ";

describe("a saved output", () => {
	it.each([
		["its beginning", () => whole.slice(0, 40_000) + notice + file],
		["its end", () => `...output truncated...\n\nFull output saved to: ${file}\n\n${whole.slice(-40_000)}`],
		["both of its ends", () => whole.slice(0, 9_000) + notice + file + whole.slice(-9_000)],
		["its beginning without a notice", () => whole.slice(0, 40_000)],
	])("is the full output of %s", async (_, text) => {
		const handle = await open(file);
		expect(await isWholeOf(handle, { text: text(), file })).toBe(true);
		await handle.close();
	});

	it.each([
		["another text", () => logOf(2_000).toUpperCase()],
		["a text of which it holds only the middle", () => whole.slice(100, 40_000) + notice + file],
		["a long text of a tool that ends as the file does", () => "x".repeat(9_000) + whole.slice(-4_000)],
		["a short notice that names it", () => notice + file],
	])("is not the full output of %s", async (_, text) => {
		const handle = await open(file);
		expect(await isWholeOf(handle, { text: text(), file })).toBe(false);
		await handle.close();
	});

	it.skipIf(process.platform === "win32")("is opened only when it is a regular file of limited size", async () => {
		const named = (name: string) => join(folder, name);
		await mkdir(named("folder"));
		await symlink(file, named("link"));
		execFileSync("mkfifo", [named("pipe")]);
		await writeFile(named("large"), "");
		await truncate(named("large"), mostSavedBytes + 1);
		for (const name of ["folder", "link", "pipe", "large", "absent"]) {
			expect(await openSavedOutput(named(name)), name).toBeUndefined();
		}
		const handle = await openSavedOutput(file);
		expect(handle).toBeDefined();
		await handle?.close();
	});
});

it("the note of a shell is separated from the output before it", () => {
	const note = "\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>";
	expect(shellNoteOf(`a\nb${note}`)).toBe(note);
	expect(shellNoteOf(`<shell_metadata>\nx\n</shell_metadata>\nthe output goes on`)).toBe("");
	expect(shellNoteOf(`a\n\n<shell_metadata>\n${"x".repeat(3_000)}\n</shell_metadata>`)).toBe("");
});

import { execFileSync } from "node:child_process";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { resolvePolicy } from "../../src/engine/policy/layers.ts";
import { shortenPassed } from "../../src/hosts/shorten-result.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
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

/** What is shown in place of a text that the host cut, and the original that is archived. */
async function shortened(text: string, savedIn = file) {
	const policy = resolvePolicy([]);
	const archive = await openArchive({ where: "memory" });
	if (!archive) throw new Error("There is no archive.");
	const shell = { policy, wholePolicy: async () => policy, archive, command: "palimpsest" };
	const shown = (await shortenPassed({ ...shell, text, most: 4_000, savedIn })) ?? text;
	const [, ref = ""] = / recall (\w+)/.exec(shown) ?? [];
	return { shown, original: (await archive.get(ref)).text };
}

describe("a saved output", () => {
	it.each([
		["its beginning", () => whole.slice(0, 40_000) + notice + file],
		["its end", () => `...output truncated...\n\nFull output saved to: ${file}\n\n${whole.slice(-40_000)}`],
		["both of its ends", () => whole.slice(0, 9_000) + notice + file + whole.slice(-9_000)],
		["its beginning without a notice", () => whole.slice(0, 40_000)],
	])("is archived in place of %s", async (_, text) => {
		expect((await shortened(text())).original).toBe(whole);
	});

	it.each([
		["another text", () => logOf(2_000).toUpperCase()],
		["a text of which it holds only the middle", () => whole.slice(100, 40_000) + notice + file],
		["a long text of a tool that ends as the file does", () => "x".repeat(9_000) + whole.slice(-4_000)],
	])("is not archived in place of %s", async (_, text) => {
		expect((await shortened(text())).original).toBe(text());
	});

	it("stays unchanged where the host shows a notice alone", async () => {
		const policy = resolvePolicy([]);
		const shell = { policy, wholePolicy: async () => policy, archive: undefined, command: "palimpsest" };
		expect(await shortenPassed({ ...shell, text: notice + file, most: 4_000, savedIn: file })).toBeUndefined();
	});

	it.skipIf(process.platform === "win32")("is read only from a regular file of limited size", async () => {
		const named = (name: string) => join(folder, name);
		const text = whole.slice(0, 40_000);
		await mkdir(named("folder"));
		await symlink(file, named("link"));
		execFileSync("mkfifo", [named("pipe")]);
		await writeFile(named("large"), text);
		await truncate(named("large"), 128 * 1024 * 1024 + 1);
		for (const name of ["folder", "link", "pipe", "large", "absent"]) {
			expect((await shortened(text, named(name))).original, name).toBe(text);
		}
	});
});

it("the note of a shell on how a command ended stays below the cut output", async () => {
	const note = "\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>";
	const ended = await shortened(whole.slice(0, 40_000) + note);
	expect([ended.shown.endsWith(note), ended.original]).toEqual([true, whole]);
	const long = `\n\n<shell_metadata>\n${"x".repeat(3_000)}\n</shell_metadata>`;
	expect((await shortened(whole.slice(0, 40_000) + long)).original).toContain("xxx");
});

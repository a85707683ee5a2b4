import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { findConversations } from "../../src/commands/conversation-files.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	await mkdir(join(folder, "sessions/old"), { recursive: true });
	for (const file of ["sessions/b.jsonl", "sessions/a.json", "sessions/old/c.JSON", "sessions/notes.txt"]) {
		await writeFile(join(folder, file), "[]");
	}
});

const found = async (...names: string[]) =>
	(await findConversations(names.map((name) => join(folder, name)))).map(({ file, isNamed }) => [
		file.slice(folder.length + 1),
		isNamed,
	]);

describe("finding conversations to replay", () => {
	it("includes named files, and those in a folder and below, sorted by name", async () => {
		expect(await found("sessions/notes.txt", "sessions", "absent.json")).toEqual([
			["sessions/notes.txt", true],
			["sessions/a.json", false],
			["sessions/b.jsonl", false],
			["sessions/old/c.JSON", false],
			["absent.json", true],
		]);
	});

	it("includes packed sessions, but those that are there in plain form too", async () => {
		for (const name of ["b.jsonl.zst", "d.jsonl.zst", "d.masked.jsonl.zst", "e.tar.zst"]) {
			await writeFile(join(folder, "sessions", name), "");
		}
		expect(await found("sessions")).toEqual([
			["sessions/a.json", false],
			["sessions/b.jsonl", false],
			["sessions/d.jsonl.zst", false],
			["sessions/old/c.JSON", false],
		]);
	});

	it("skips results that our tools wrote next to a session, unless they are named", async () => {
		for (const name of ["b.masked.jsonl", "b.guarded-2.jsonl", "a.compacted.json", "unmasked.json"]) {
			await writeFile(join(folder, "sessions", name), "[]");
		}
		expect(await found("sessions", "sessions/b.masked.jsonl")).toEqual([
			["sessions/a.json", false],
			["sessions/b.jsonl", false],
			["sessions/old/c.JSON", false],
			["sessions/unmasked.json", false],
			["sessions/b.masked.jsonl", true],
		]);
	});

	it.skipIf(process.platform === "win32")("finds each conversation once, even with circular links", async () => {
		for (const name of ["again", "and-again"]) await symlink(".", join(folder, "sessions", name));
		await symlink("..", join(folder, "sessions/old/up"));
		expect(await found("sessions")).toEqual([
			["sessions/a.json", false],
			["sessions/b.jsonl", false],
			["sessions/old/c.JSON", false],
		]);
	});

	it.skipIf(process.platform === "win32")("follows links, and prefers a file's own name over a link", async () => {
		await mkdir(join(folder, "elsewhere"));
		await writeFile(join(folder, "elsewhere/d.json"), "[]");
		await symlink(join(folder, "elsewhere"), join(folder, "sessions/linked"));
		await symlink("old", join(folder, "sessions/a-link-to-old"));
		await symlink("nowhere", join(folder, "sessions/dangling.json"));
		expect(await found("sessions")).toEqual([
			["sessions/a.json", false],
			["sessions/b.jsonl", false],
			["sessions/dangling.json", false],
			["sessions/linked/d.json", false],
			["sessions/old/c.JSON", false],
		]);
	});
});

import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { keepNewEntries, linkEntries } from "../../src/hosts/linked-folder.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let real: string;
let folder: string;
beforeEach(async () => {
	[real, folder] = [await scratchFolder(), await scratchFolder()];
	await mkdir(join(real, "sessions"));
	await writeFile(join(real, "config.toml"), "theirs");
	await writeFile(join(real, "index.json"), "old");
	await writeFile(join(folder, "config.toml"), "ours");
	await linkEntries(real, folder);
});

it("shows the entries of the real folder beside our files", async () => {
	expect((await readdir(folder)).sort()).toEqual(["config.toml", "index.json", "sessions"]);
	expect(await readFile(join(folder, "config.toml"), "utf8")).toBe("ours");
	await writeFile(join(folder, "sessions", "one"), "kept at once");
	expect(await readFile(join(real, "sessions", "one"), "utf8")).toBe("kept at once");
});

it("keeps new files and files that replaced a link, and leaves our own files out", async () => {
	// As programs write a file: beside it, and then in its place.
	await writeFile(join(folder, "index.json.tmp"), "new");
	await rename(join(folder, "index.json.tmp"), join(folder, "index.json"));
	await mkdir(join(folder, "logs"));
	await writeFile(join(folder, "logs", "today"), "a line");
	await keepNewEntries(real, folder, ["config.toml"]);
	expect(await readFile(join(real, "index.json"), "utf8")).toBe("new");
	expect(await readFile(join(real, "logs", "today"), "utf8")).toBe("a line");
	expect(await readFile(join(real, "config.toml"), "utf8")).toBe("theirs");
	expect((await readdir(real)).sort()).toEqual(["config.toml", "index.json", "logs", "sessions"]);
	expect((await lstat(join(folder, "sessions"))).isSymbolicLink()).toBe(true);
});

it("adds its files to a folder that another run has made at the same time", async () => {
	await inBoth({ ours: "logs/ours", theirs: "logs/theirs" });
	expect(await keepNewEntries(real, folder, ["config.toml"])).toBeUndefined();
	expect((await readdir(join(real, "logs"))).sort()).toEqual(["ours", "theirs"]);
});

it("keeps a folder beside it if another run has made the same file at the same time", async () => {
	await inBoth({ ours: "logs/both", theirs: "logs/both" });
	const rest = (await keepNewEntries(real, folder, ["config.toml"])) as string;
	expect(await readFile(join(real, "logs", "both"), "utf8")).toBe("theirs");
	expect(await readFile(join(rest, "logs", "both"), "utf8")).toBe("ours");
	await rm(rest, { recursive: true });
});

it("keeps an entry that cannot be moved beside the folder, and moves the others", async () => {
	await writeFile(join(folder, "a"), "a file here");
	await writeFile(join(folder, "b"), "b");
	await mkdir(join(real, "a", "in the way"), { recursive: true });
	const rest = (await keepNewEntries(real, folder, ["config.toml"])) as string;
	await rm(folder, { recursive: true });
	expect(await readdir(rest)).toEqual(["a"]);
	expect(await readFile(join(rest, "a"), "utf8")).toBe("a file here");
	await rm(rest, { recursive: true });
	expect((await readdir(real)).sort()).toEqual(["a", "b", "config.toml", "index.json", "sessions"]);
});

async function inBoth(files: { readonly ours: string; readonly theirs: string }): Promise<void> {
	for (const [owner, where] of [
		["ours", folder],
		["theirs", real],
	] as const) {
		await mkdir(join(where, "logs"));
		await writeFile(join(where, files[owner]), owner);
	}
}

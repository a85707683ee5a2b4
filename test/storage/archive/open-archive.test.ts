import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, posix, win32 } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openArchive, probeArchive } from "../../../src/storage/archive/open.ts";
import { refusePlaceholders } from "../../../src/storage/archive/store.ts";
import { stateFolder } from "../../../src/storage/files/state-folder.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

describe("opening an archive", () => {
	it("opens none when nothing is to be kept", async () => {
		expect(await openArchive({ where: "none" })).toBeUndefined();
	});

	it("opens a folder by its path", async () => {
		const folder = await scratchFolder();
		expect((await openArchive({ where: folder }))?.location).toBe(folder);
		expect((await openArchive({ where: "./archive" }))?.location).toMatch(/[\\/]archive$/);
	});

	it("refuses invalid names, locations, retentions and patterns", async () => {
		const namespaces = ["", ".", "..", "a/b", "a\\b", "A", "a b", "-a", "a-", "con", "é", "a".repeat(65), "a\n"];
		const wrong = [
			...namespaces.map((namespace) => ({ where: "memory", namespace })),
			...["", "memroy", "relative", "http://host"].map((where) => ({ where })),
			{ where: "memory", retention: { maxAgeMs: 0, maxBytes: 1 } },
			{ where: "memory", retention: { maxAgeMs: 1, maxBytes: Number.NaN } },
			{ where: "memory", redact: ["("] },
		];
		for (const options of wrong) {
			await expect(openArchive(options), JSON.stringify(options)).rejects.toMatchObject({ code: "invalid_argument" });
		}
		for (const namespace of ["a", "my-project_2", "0"]) {
			expect((await openArchive({ where: "memory", namespace }))?.namespace).toBe(namespace);
		}
	});
});

describe("the user's state folder", () => {
	const environment = { XDG_STATE_HOME: "/state", LOCALAPPDATA: "C:\\Local" };
	afterEach(() => vi.unstubAllGlobals());

	it("follows the system's convention", () => {
		const of = (platform: NodeJS.Platform, env: Record<string, string> = {}) => {
			vi.stubGlobal("process", Object.create(process, { platform: { value: platform }, env: { value: env } }));
			return stateFolder();
		};
		const home = homedir();
		expect(of("linux")).toBe(posix.join(home, ".local/state/palimpsest"));
		expect(of("linux", environment)).toBe("/state/palimpsest");
		expect(of("linux", { XDG_STATE_HOME: "relative" })).toBe(posix.join(home, ".local/state/palimpsest"));
		expect(of("darwin", environment)).toBe(posix.join(home, "Library/Application Support/palimpsest"));
		expect(of("win32", environment)).toBe("C:\\Local\\palimpsest");
		expect(of("win32")).toBe(win32.join(home, "AppData\\Local\\palimpsest"));
	});
});

describe("an archive that refuses placeholders", () => {
	it("keeps nothing of a batch that contains one", async () => {
		const inner = await openArchive({ where: "memory" });
		if (inner === undefined) throw new Error("no archive");
		const archive = refusePlaceholders(inner, (text) => text.startsWith("[masked"));
		const batch = [
			{ text: "original", kind: "result" as const },
			{ text: "[masked x]", kind: "result" as const },
		];
		await expect(archive.put(batch)).rejects.toMatchObject({ code: "internal" });
		expect((await inner.stats()).originals).toBe(0);
		expect(await archive.put(batch.slice(0, 1))).toEqual([archive.refOf("original")]);
	});
});

describe("the archive probe", () => {
	const probe = async (where: string) => {
		const archive = await openArchive({ where });
		if (archive === undefined) throw new Error("no archive");
		return probeArchive(archive, { where }).finally(archive.close);
	};

	it("succeeds for an archive in memory, in a folder, and in a missing folder, and creates nothing", async () => {
		const folder = await scratchFolder();
		await probe("memory");
		await probe(folder);
		await probe(join(folder, "not/made/yet"));
		expect(await readdir(folder)).toEqual([]);
	});

	it("fails when the archive's folder is a file, lies in one, or is not writable, and when Redis is missing", async () => {
		const folder = await scratchFolder();
		await writeFile(join(folder, "file"), "");
		await mkdir(join(folder, "closed"));
		await chmod(join(folder, "closed"), 0o500);
		const unusable = [join(folder, "file"), join(folder, "file/archive"), "redis://127.0.0.1:1"];
		// Nothing is closed to root.
		if (process.getuid?.() !== 0) unusable.push(join(folder, "closed/archive"));
		for (const where of unusable) {
			await expect(probe(where), where).rejects.toMatchObject({ code: "archive_unavailable" });
		}
	});
});

import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createArchiveSource } from "../../../src/config/archive.ts";
import { createReadiness, probeArchive } from "../../../src/mcp/http/readiness.ts";
import { resolvePolicy } from "../../../src/policy/layers.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

describe("whether a server is ready", () => {
	it("is so where nothing is kept, until it shuts down", async () => {
		const readiness = createReadiness({});
		expect(await readiness.current()).toEqual({ ready: true });
		readiness.beginShutdown();
		expect(await readiness.current()).toEqual({ ready: false, reason: "shutting_down" });
	});

	it("is not so while the archive cannot be used, and is again once it can", async () => {
		let isThere = false;
		const probe = async () => {
			if (!isThere) throw new Error("not there");
		};
		const readiness = createReadiness({ probe, freshMilliseconds: 0 });
		expect(await readiness.current()).toEqual({ ready: false, reason: "archive_unavailable" });
		isThere = true;
		expect(await readiness.current()).toEqual({ ready: true });
	});

	it("does not wait for an archive that hangs, and asks it once however many ask", async () => {
		let asked = 0;
		let answer = (): void => {};
		const probe = () => {
			asked += 1;
			return new Promise<void>((resolve) => {
				answer = resolve;
			});
		};
		const readiness = createReadiness({ probe, patienceMilliseconds: 20, freshMilliseconds: 60_000 });
		const all = await Promise.all(Array.from({ length: 50 }, () => readiness.current()));
		expect(all).toEqual(Array.from({ length: 50 }, () => ({ ready: false, reason: "archive_timeout" })));
		expect(await readiness.current()).toEqual({ ready: false, reason: "archive_timeout" });
		expect(asked).toBe(1);
		answer();
		await new Promise((resolve) => setImmediate(resolve));
		for (let time = 0; time < 50; time += 1) expect(await readiness.current()).toEqual({ ready: true });
		expect(asked).toBe(1);
	});

	it("tells of a shutdown that begins while it looks", async () => {
		let answer = (): void => {};
		const readiness = createReadiness({ probe: () => new Promise<void>((resolve) => (answer = resolve)) });
		const found = readiness.current();
		readiness.beginShutdown();
		answer();
		expect(await found).toEqual({ ready: false, reason: "shutting_down" });
	});
});

describe("the probe of an archive", () => {
	const probeOf = (where: string) => {
		const location = { where, namespace: "default" };
		const source = createArchiveSource({ location, policy: () => resolvePolicy([]) });
		if (!source) throw new Error("no archive");
		return probeArchive({ source, location });
	};

	it("finds an archive in memory, in a folder, and in one that is not made yet; and makes nothing", async () => {
		const folder = await scratchFolder();
		await probeOf("memory")();
		await probeOf(folder)();
		await probeOf(join(folder, "not/made/yet"))();
		expect(await readdir(folder)).toEqual([]);
	});

	it("fails where the archive's folder is a file, lies in one, or cannot be written", async () => {
		const folder = await scratchFolder();
		await writeFile(join(folder, "file"), "");
		await expect(probeOf(join(folder, "file"))()).rejects.toThrow();
		await expect(probeOf(join(folder, "file/archive"))()).rejects.toThrow();
		await mkdir(join(folder, "closed"));
		await chmod(join(folder, "closed"), 0o500);
		// Nothing is closed to root.
		if (process.getuid?.() !== 0) await expect(probeOf(join(folder, "closed/archive"))()).rejects.toThrow();
	});

	it("fails where Redis is not there", async () => {
		await expect(probeOf("redis://127.0.0.1:1")()).rejects.toMatchObject({ code: "archive_unavailable" });
	});
});

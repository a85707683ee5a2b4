import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createArchiveSource } from "../../../src/archive/open.ts";
import { createReadiness, probeArchive } from "../../../src/mcp/http/monitoring.ts";
import { resolvePolicy } from "../../../src/policy/layers.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

describe("server readiness", () => {
	it("holds without an archive until shutdown", async () => {
		const readiness = createReadiness({});
		expect(await readiness.current()).toEqual({ ready: true });
		readiness.beginShutdown();
		expect(await readiness.current()).toEqual({ ready: false, reason: "shutting_down" });
	});

	it("is lost while the archive is unusable, and returns with it", async () => {
		let isThere = false;
		const probe = async () => {
			if (!isThere) throw new Error("not there");
		};
		const readiness = createReadiness({ probe, freshMilliseconds: 0 });
		expect(await readiness.current()).toEqual({ ready: false, reason: "archive_unavailable" });
		isThere = true;
		expect(await readiness.current()).toEqual({ ready: true });
	});

	it("does not wait for an archive that hangs, and probes it once for all requests", async () => {
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

	it("reports a shutdown that begins during the probe", async () => {
		let answer = (): void => {};
		const readiness = createReadiness({ probe: () => new Promise<void>((resolve) => (answer = resolve)) });
		const found = readiness.current();
		readiness.beginShutdown();
		answer();
		expect(await found).toEqual({ ready: false, reason: "shutting_down" });
	});
});

describe("the archive probe", () => {
	const probeOf = (where: string) => {
		const location = { where, namespace: "default" };
		const source = createArchiveSource({ location, policy: () => resolvePolicy([]) });
		if (!source) throw new Error("no archive");
		return probeArchive({ source, location });
	};

	it("succeeds for an archive in memory, in a folder, and in a missing folder, and creates nothing", async () => {
		const folder = await scratchFolder();
		await probeOf("memory")();
		await probeOf(folder)();
		await probeOf(join(folder, "not/made/yet"))();
		expect(await readdir(folder)).toEqual([]);
	});

	it("fails when the archive's folder is a file, lies in one, or is not writable", async () => {
		const folder = await scratchFolder();
		await writeFile(join(folder, "file"), "");
		await expect(probeOf(join(folder, "file"))()).rejects.toThrow();
		await expect(probeOf(join(folder, "file/archive"))()).rejects.toThrow();
		await mkdir(join(folder, "closed"));
		await chmod(join(folder, "closed"), 0o500);
		// Nothing is closed to root.
		if (process.getuid?.() !== 0) await expect(probeOf(join(folder, "closed/archive"))()).rejects.toThrow();
	});

	it("fails when Redis is missing", async () => {
		await expect(probeOf("redis://127.0.0.1:1")()).rejects.toMatchObject({ code: "archive_unavailable" });
	});
});

import { createHash } from "node:crypto";
import {
	appendFile,
	mkdir,
	readdir,
	readFile,
	rename,
	rm,
	stat,
	symlink,
	truncate,
	utimes,
	writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { mountSmallDisk, setReadOnly } from "./small-disk.ts";
import { wordyText } from "./texts.ts";

async function open(where: string, options: Partial<Parameters<typeof openArchive>[0]> = {}) {
	const archive = await openArchive({ where, ...options });
	if (archive === undefined) throw new Error("no archive");
	return archive;
}

const result = (text: string) => [{ text, kind: "result" as const, toolCallId: "id", toolName: "tool" }];

async function filesUnder(folder: string): Promise<string[]> {
	const entries = await readdir(folder, { recursive: true, withFileTypes: true });
	return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function textFileOf(folder: string): Promise<string> {
	return (await filesUnder(folder)).find((file) => /[\\/][0-9a-f]{64}$/.test(file)) ?? "";
}

async function flipBit(file: string): Promise<void> {
	const { atime, mtime } = await stat(file);
	const bytes = await readFile(file);
	bytes[3] = (bytes[3] as number) ^ 1;
	await writeFile(file, bytes);
	await utimes(file, atime, mtime);
}

describe("an archive in files", () => {
	it("stores plain texts that only this user may read, named by their SHA-256", async () => {
		const folder = await scratchFolder();
		const archive = await open(join(folder, "deep", "archive"));
		await archive.put(result("plain\ntext"));
		const file = await textFileOf(folder);
		const hash = createHash("sha256").update("plain\ntext").digest("hex");
		expect(file).toBe(join(folder, "deep", "archive", "default", hash.slice(0, 2), hash));
		expect(await readFile(file, "utf8")).toBe("plain\ntext");
		expect((await stat(file)).mode & 0o777).toBe(0o600);
		for (const part of ["deep", "deep/archive", "deep/archive/default"]) {
			expect((await stat(join(folder, part))).mode & 0o777).toBe(0o700);
		}
	});

	it("treats a damaged text as missing, and repairs it", async () => {
		const damages = [
			(file: string) => truncate(file, 3),
			(file: string) => appendFile(file, "x"),
			(file: string) => writeFile(file, "plain TEXT"),
			(file: string) => rm(file),
			(file: string) => rm(file).then(() => mkdir(file)),
			(file: string) => rename(file, `${file}.away`).then(() => symlink(`${file}.away`, file)),
		];
		for (const [index, damage] of damages.entries()) {
			const folder = await scratchFolder();
			const archive = await open(folder);
			const [ref = ""] = await archive.put(result("plain text"));
			const file = await textFileOf(folder);
			await damage(file);
			await expect(archive.get(ref)).rejects.toMatchObject({ code: "original_not_found" });
			if (index === 4) {
				await expect(archive.put(result("plain text"))).rejects.toMatchObject({ code: "archive_unavailable" });
				continue;
			}
			await archive.put(result("plain text"));
			expect((await archive.get(ref)).text).toBe("plain text");
			await writeFile(file, "plain tExt");
			// Another process reads what it has not seen before it believes in it.
			await (await open(folder)).put(result("plain text"));
			expect((await archive.get(ref)).text).toBe("plain text");
		}
	});

	it.each([
		["other bytes of the same length", (file: string) => writeFile(file, "plain TEXT")],
		["one bit, with its times put back", flipBit],
		["no bytes", (file: string) => truncate(file, 0)],
		["a lost end", (file: string) => truncate(file, 9)],
	])("writes a text again that was damaged to %s, before it is read", async (_, damage) => {
		const folder = await scratchFolder();
		const [archive, other] = [await open(folder), await open(folder)];
		const [ref = ""] = await archive.put(result("plain text"));
		const file = await textFileOf(folder);
		for (const writer of [archive, archive, other, archive]) {
			await damage(file);
			expect(await writer.put(result("plain text"))).toEqual([ref]);
			expect(await readFile(file, "utf8")).toBe("plain text");
			// Once more, so that a check of the writer's own may be trusted from now on.
			await writer.put(result("plain text"));
		}
		expect(await archive.get(ref)).toMatchObject({ text: "plain text", toolCallId: "id" });
	});

	it("ignores a record with a changed bit, and writes the record again", async () => {
		const folder = await scratchFolder();
		const archive = await open(folder);
		const original = [{ text: "text", kind: "result", toolCallId: "id-1", toolName: "ls" }] as const;
		const [ref = ""] = await archive.put(original);
		const file = (await filesUnder(folder)).find((name) => name.endsWith(".json")) as string;
		const whole = await readFile(file);
		const known = { toolCallId: "id-1", toolName: "ls", kind: "result", redactions: 0, chars: 4 };
		const { archivedAt } = await archive.get(ref);
		for (let at = 0; at < whole.length; at += 1) {
			const damaged = Buffer.from(whole);
			damaged[at] = (damaged[at] as number) ^ 1;
			await writeFile(file, damaged);
			const found = await archive.get(ref);
			const { toolCallId, toolName, kind } = found;
			if (toolCallId !== undefined) expect(found, `byte ${at}`).toMatchObject({ ...known, archivedAt });
			else expect([toolName, kind], `byte ${at}`).toEqual([undefined, "text"]);
			if (at % 16 > 0) continue;
			await archive.put(original);
			expect(await archive.get(ref), `byte ${at}`).toMatchObject(known);
			expect(await archive.find("id-1")).toHaveLength(1);
		}
	});

	it("reads a text whose record is damaged", async () => {
		const folder = await scratchFolder();
		const archive = await open(folder);
		const [ref = ""] = await archive.put(result("text"));
		const besides = (await filesUnder(folder)).filter((file) => /\.json$/.test(file));
		expect(besides.length).toBe(1);
		await writeFile(besides[0] as string, '{"kind":"res');
		expect(await archive.get(ref)).toMatchObject({ text: "text", kind: "text", chars: 4 });
		expect(await archive.find("id")).toEqual([]);
		await rm(besides[0] as string);
		await mkdir(besides[0] as string);
		expect(await archive.get(ref)).toMatchObject({ text: "text", kind: "text", chars: 4 });
	});

	it("refuses two texts under one ref, and reads neither", async () => {
		const folder = await scratchFolder();
		const archive = await open(folder);
		const [ref = ""] = await archive.put(result("text"));
		const file = await textFileOf(folder);
		const other = `${file.slice(0, -40)}${"0".repeat(40)}`;
		await writeFile(other, "another text");
		await expect(archive.get(ref)).rejects.toMatchObject({ code: "ambiguous_reference" });
		await rm(file);
		await expect((await open(folder)).put(result("text"))).rejects.toMatchObject({ code: "ambiguous_reference" });
		expect(await readFile(other, "utf8")).toBe("another text");
		await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
	});

	it("refuses when a file is in the way of its folder", async () => {
		const folder = await scratchFolder();
		await writeFile(join(folder, "file"), "");
		for (const where of [join(folder, "file"), join(folder, "file", "below")]) {
			await expect((await open(where)).put(result("x"))).rejects.toMatchObject({
				code: "archive_unavailable",
				message: expect.stringContaining(where),
			});
		}
	});

	it("continues when its folder is deleted during the run", async () => {
		const folder = await scratchFolder();
		const archive = await open(join(folder, "archive"));
		for (let round = 0; round < 20; round += 1) {
			const [ref = ""] = await archive.put(result("the same text"));
			expect((await archive.get(ref)).text).toBe("the same text");
			expect((await archive.find("id")).length).toBe(1);
			await rm(join(folder, "archive"), { recursive: true });
			await expect(archive.get(ref)).rejects.toMatchObject({ code: "original_not_found" });
		}
	});

	it("sweeps the leftovers of crashes after an hour", async () => {
		const folder = await scratchFolder();
		const archive = await open(folder);
		const [ref = ""] = await archive.put(result("kept"));
		const bucket = join(await textFileOf(folder), "..");
		const uuid = "3f2504e0-4f89-11d3-9a0c-0305e82c3301";
		const [old, young, aside] = [`.${uuid}.tmp`, `.4${uuid.slice(1)}.tmp`, `${"1".repeat(64)}.${uuid}.swept`];
		for (const name of [old, young, aside]) await writeFile(join(bucket, name), "unfinished");
		const [longAgo, anotherAbout] = [new Date(Date.now() - 2 * 3_600_000), `${"2".repeat(64)}.none.json`];
		await writeFile(join(bucket, anotherAbout), "{}");
		for (const name of [old, anotherAbout]) await utimes(join(bucket, name), longAgo, longAgo);
		await archive.sweep();
		const left = await readdir(bucket);
		expect(left).toContain(young);
		expect(left).toContain(aside);
		expect(left).not.toContain(old);
		expect(left).not.toContain(anotherAbout);
		expect((await archive.get(ref)).text).toBe("kept");
	});

	it("leaves alone a text that another sweep renames after this one began", async () => {
		const folder = await scratchFolder();
		const archive = await open(folder, { now: () => Date.now() - 1_000 });
		await archive.put(result("kept"));
		const aside = join(await textFileOf(folder), "..", `${"1".repeat(64)}.3f2504e0-4f89-11d3-9a0c-0305e82c3301.swept`);
		await writeFile(aside, "being removed");
		await archive.sweep();
		expect((await stat(aside)).isFile()).toBe(true);
	});

	it("sweeps by itself once an hour, in whichever process is first", async () => {
		const folder = await scratchFolder();
		const day = 24 * 3_600_000;
		let time = Date.now() - 40 * day;
		let uptime = 0;
		const clocks = { now: () => time, uptime: () => uptime };
		const first = await open(folder, clocks);
		await first.put(result("old"));
		await first.close();
		time = Date.now() - day;
		const second = await open(folder, clocks);
		// All there is would go by the clock alone, so it waits for a day.
		expect((await second.stats()).originals).toBe(1);
		await second.close();
		[time, uptime] = [Date.now(), day];
		await (await open(folder, clocks)).close();
		const third = await open(folder, clocks);
		expect((await third.stats()).originals).toBe(0);
		const sweptAt = (await stat(join(folder, "default", "swept"))).mtimeMs;
		time += 30 * 60_000;
		await third.put(result("new"));
		await third.close();
		expect((await stat(join(folder, "default", "swept"))).mtimeMs).toBe(sweptAt);
	});
});

describe("an archive on a small disk", () => {
	it("refuses on a full disk, loses nothing, and continues when there is room", async ({ skip }) => {
		const disk = await mountSmallDisk(1024);
		if (disk === undefined) return skip();
		const archive = await open(join(disk, "archive"));
		const kept: [string, string][] = [];
		let refusals = 0;
		for (let index = 0; refusals < 5 && index < 100; index += 1) {
			const text = wordyText(60_000, index);
			await archive.put(result(text)).then(
				([ref = ""]) => kept.push([ref, text]),
				(error) => {
					expect(error).toMatchObject({ code: "archive_unavailable", message: expect.stringContaining("ENOSPC") });
					refusals += 1;
				},
			);
		}
		expect(refusals).toBe(5);
		expect(kept.length).toBeGreaterThan(5);
		for (const [ref, text] of kept) expect((await archive.get(ref)).text === text).toBe(true);
		expect((await filesUnder(disk)).filter((file) => file.endsWith(".tmp"))).toEqual([]);
		await archive.clear();
		await archive.put(result("room again"));
	});

	it("refuses on a read-only disk, but still reads", async ({ skip }) => {
		const disk = await mountSmallDisk(1024);
		if (disk === undefined) return skip();
		const archive = await open(join(disk, "archive"));
		const [ref = ""] = await archive.put(result("before"));
		setReadOnly(disk, true);
		await expect(archive.put(result("during"))).rejects.toMatchObject({
			code: "archive_unavailable",
			message: expect.stringContaining("EROFS"),
		});
		expect((await (await open(join(disk, "archive"))).get(ref)).text).toBe("before");
		setReadOnly(disk, false);
		await archive.put(result("after"));
	});
});

import { appendFile, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFilesJournal } from "../../../src/proxy/sending/journal-files.ts";
import { createMemory, memoryFolderOf } from "../../../src/proxy/sending/memory.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { mountSmallDisk, setReadOnly } from "../../storage/archive/small-disk.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { conversation, describeJournal, keysOf, masking } from "./journal-suite.ts";

const now = () => Date.UTC(2026, 0, 1);
const [hour, day] = [3_600_000, 24 * 3_600_000];

const openMemory = ({
	folder,
	now: clock = now,
	uptime,
}: {
	folder: string;
	now?: () => number;
	uptime?: () => number;
}) => createMemory({ journal: createFilesJournal({ folder, now: clock, uptime }), now: clock });

describeJournal("a folder", async () => {
	const folder = await scratchFolder();
	const file = join(folder, `${conversation}.jsonl`);
	return {
		open: async (clock) => createFilesJournal({ folder, now: clock }),
		write: (line) => appendFile(file, `${line}\n`),
		lines: () => readFile(file, "utf8"),
	};
});

describe("the files of a memory", () => {
	it("reads around a line that a crash has cut off, and takes one that is completed later", async () => {
		const folder = await scratchFolder();
		const memory = openMemory({ folder });
		await memory.note(conversation, masking("a", "[a]"));
		const file = join(folder, `${conversation}.jsonl`);
		const line = (key: string) =>
			JSON.stringify({ number: 1, states: [[key, { kind: "masked", values: { whole: key } }]] });
		await appendFile(file, line("b").slice(0, 30));
		expect(await keysOf(memory)).toEqual(["a"]);
		await appendFile(file, `${line("b").slice(30)}\n${line("c").slice(0, 20)}\n${line("d")}\n`);
		expect(await keysOf(memory)).toEqual(["a", "b", "d"]);
	});

	it("begins a line, so that one that was cut off spoils no other", async () => {
		const folder = await scratchFolder();
		await appendFile(join(folder, `${conversation}.jsonl`), '{"number":1,"states":[["a"');
		const memory = openMemory({ folder });
		await memory.note(conversation, masking("b", "[b]"));
		for (const one of [memory, openMemory({ folder })]) expect(await keysOf(one)).toEqual(["b"]);
	});

	it("can be read by its user alone", async () => {
		const folder = join(await scratchFolder(), "conversations");
		await openMemory({ folder }).note(conversation, masking("a", "[a]"));
		const file = join(folder, `${conversation}.jsonl`);
		expect([(await stat(folder)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
	});
});

describe("the sweep of a memory", () => {
	/** Twenty conversations, of which the first `old` had their last request 40 days ago. */
	async function sweepable(old: number) {
		const folder = await scratchFolder();
		const clock = { now: now(), uptime: 5 * day };
		const open = () => openMemory({ folder, now: () => clock.now, uptime: () => clock.uptime });
		const memory = open();
		for (let index = 0; index < 20; index += 1) {
			const name = `${index}`.padStart(16, "0");
			await memory.note(name, masking("a", "[a]"));
			clock.now = index < old ? now() - 40 * day : now();
			memory.called(name);
		}
		clock.now = now();
		/** By a process that starts anew. */
		const sweep = async (passed: { readonly clock: number; readonly uptime: number }) => {
			clock.now += passed.clock;
			clock.uptime += passed.uptime;
			await open().sweep(30 * day);
			return (await readdir(folder)).filter((name) => name.endsWith(".jsonl")).length;
		};
		return { folder, sweep, open };
	}

	it("deletes what no request has touched for long", async () => {
		const { sweep, open } = await sweepable(2);
		expect(await sweep({ clock: 0, uptime: 0 })).toBe(18);
		expect((await open().fetch("0".repeat(16))).states.size).toBe(0);
		expect((await open().fetch("19".padStart(16, "0"))).states.has("a")).toBe(true);
	});

	it("deletes more than a tenth only after a day", async () => {
		const { sweep } = await sweepable(15);
		expect(await sweep({ clock: 0, uptime: 0 })).toBe(20);
		expect(await sweep({ clock: day / 2, uptime: day / 2 })).toBe(20);
		expect(await sweep({ clock: day, uptime: day })).toBe(5);
	});

	it("deletes nothing when the clock jumps ahead or back, and is right again later", async () => {
		const { sweep, folder } = await sweepable(0);
		expect(await sweep({ clock: 31 * day, uptime: 1_000 })).toBe(20);
		expect(await sweep({ clock: hour, uptime: hour })).toBe(20);
		expect(await readdir(folder)).toContain("sweep-intent.json");
		expect(await sweep({ clock: -60 * day, uptime: day })).toBe(20);
		expect(await readdir(folder)).not.toContain("sweep-intent.json");
		expect(await sweep({ clock: 30 * day, uptime: hour })).toBe(20);
	});
});

describe("a memory on a small disk", () => {
	it("notes nothing more on a full disk, keeps what it has, and continues when there is room", async ({ skip }) => {
		const disk = await mountSmallDisk(64);
		if (disk === undefined) return skip();
		const memory = openMemory({ folder: disk });
		await memory.note(conversation, masking("first", "[first]"));
		await writeFile(join(disk, "full"), "x".repeat(100_000)).catch(() => {});
		const refused: string[] = [];
		const kept: string[] = [];
		for (let index = 0; index < 20; index += 1) {
			try {
				await memory.note(conversation, masking(`key ${index}`, "x".repeat(1_000)));
				kept.push(`key ${index}`);
			} catch (error) {
				const message = expect.stringMatching(
					/^The proxy's memory in .* cannot be used: the disk is full\..*\(ENOSPC\)/,
				);
				expect(error).toMatchObject({ code: "archive_unavailable", message });
				refused.push(`key ${index}`);
			}
		}
		expect(refused.length).toBeGreaterThan(10);
		memory.called(conversation);
		memory.noteHere(conversation, masking("here", "[here]"));
		expect(await keysOf(memory)).toEqual(["first", ...kept, "here"]);
		expect(await keysOf(openMemory({ folder: disk }))).toEqual(["first", ...kept]);
		await rm(join(disk, "full"));
		await memory.note(conversation, masking("last", "[last]"));
		expect(await keysOf(openMemory({ folder: disk }))).toEqual(["first", ...kept, "last"]);
	});

	it("still reads on a read-only disk, and has its own requests", async ({ skip }) => {
		const disk = await mountSmallDisk(64);
		if (disk === undefined) return skip();
		await openMemory({ folder: disk }).note(conversation, masking("a", "[a]"));
		setReadOnly(disk, true);
		const memory = openMemory({ folder: disk });
		expect(await keysOf(memory)).toEqual(["a"]);
		await expect(memory.note(conversation, masking("b", "[b]"))).rejects.toThrow(/read-only file system.*EROFS/);
		memory.called(conversation);
		await memory.sweep(day);
		expect(await keysOf(memory)).toEqual(["a"]);
		setReadOnly(disk, false);
		await memory.note(conversation, masking("b", "[b]"));
		expect(await keysOf(openMemory({ folder: disk }))).toEqual(["a", "b"]);
	});
});

it("a memory without a folder has results of other conversations too", async () => {
	const memory = createMemory({ journal: undefined, now });
	await memory.note(conversation, masking("a", "[a]"));
	const found = await memory.findElsewhere(["a", "b"]);
	expect(found.get("a")?.values.get("whole")?.("")).toBe("[a]");
	expect(found.size).toBe(1);
	expect(memory.recall("another").states.size).toBe(0);
});

it("the memory is next to an archive of files, under a name that no namespace can have", async () => {
	const folder = await scratchFolder();
	expect(memoryFolderOf(await openArchive({ where: folder, namespace: "mine" }))).toBe(
		join(folder, "mine.conversations"),
	);
	expect(memoryFolderOf(await openArchive({ where: "memory" }))).toBeUndefined();
	expect(memoryFolderOf(undefined)).toBeUndefined();
});

import { appendFile, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openArchive } from "../../src/archive/open.ts";
import { createMemory, memoryFolderOf } from "../../src/proxy/memory.ts";
import { mountSmallDisk, setReadOnly } from "../archive/small-disk.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const conversation = "0123456789abcdef";
const now = () => Date.UTC(2026, 0, 1);
const [hour, day] = [3_600_000, 24 * 3_600_000];
const masking = (key: string, text: string) => ({ masked: new Map([[key, text]]) });

describe("the memory in a folder", () => {
	it("tells another process at once what was decided", async () => {
		const folder = await scratchFolder();
		const [one, other] = [createMemory({ folder, now }), createMemory({ folder, now })];
		one.remember(conversation, masking("a", "[a]"));
		expect([...other.recall(conversation).masked]).toEqual([["a", "[a]"]]);
		other.remember(conversation, { ...masking("b", "[b]"), pause: "p" });
		one.remember(conversation, { leftAlone: "refused" });
		for (const memory of [one, other, createMemory({ folder, now })]) {
			const { masked, pauses, leftAlone } = memory.recall(conversation);
			expect([[...masked.keys()].sort(), [...pauses], leftAlone]).toEqual([["a", "b"], ["p"], "refused"]);
		}
	});

	it("reads what a newer version has added around", async () => {
		const folder = await scratchFolder();
		const line = '{"version":9,"masked":[["a","[a]"],["b","[b]","more"]],"pause":{"key":"p"},"left_alone":false}\n';
		await appendFile(join(folder, `${conversation}.jsonl`), line);
		const { masked, pauses, leftAlone } = createMemory({ folder, now }).recall(conversation);
		expect([[...masked], [...pauses], leftAlone]).toEqual([[["a", "[a]"]], [], undefined]);
	});

	it("keeps the first decision on a result, whose bytes were sent", async () => {
		const folder = await scratchFolder();
		const [one, other] = [createMemory({ folder, now }), createMemory({ folder, now })];
		one.remember(conversation, masking("a", "first"));
		other.recall(conversation);
		other.remember(conversation, masking("a", "second"));
		expect(other.recall(conversation).masked.get("a")).toBe("first");
		expect(createMemory({ folder, now }).recall(conversation).masked.get("a")).toBe("first");
	});

	it("reads around a line that a crash has cut off, and takes one that is completed later", async () => {
		const folder = await scratchFolder();
		const memory = createMemory({ folder, now });
		memory.remember(conversation, masking("a", "[a]"));
		const file = join(folder, `${conversation}.jsonl`);
		await appendFile(file, '{"masked":[["b",');
		expect([...memory.recall(conversation).masked.keys()]).toEqual(["a"]);
		await appendFile(file, '"[b]"]]}\n{"masked":[["c"\n{"masked":[["d","[d]"]]}\n');
		expect([...memory.recall(conversation).masked.keys()]).toEqual(["a", "b", "d"]);
	});

	it("knows the last request of every process by the time of the file", async () => {
		const folder = await scratchFolder();
		let time = now();
		const [one, other] = [createMemory({ folder, now: () => time }), createMemory({ folder, now: () => time })];
		expect(one.recall(conversation).lastCall).toBeUndefined();
		one.called(conversation);
		time += 60_000;
		expect(other.recall(conversation).lastCall).toBe(now());
		other.called(conversation);
		expect(one.recall(conversation).lastCall).toBe(time);
	});

	it("can be read by its user alone", async () => {
		const folder = join(await scratchFolder(), "conversations");
		createMemory({ folder, now }).remember(conversation, masking("a", "[a]"));
		const file = join(folder, `${conversation}.jsonl`);
		expect([(await stat(folder)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
	});

	it("holds no text of a conversation, only keys and placeholders", async () => {
		const folder = await scratchFolder();
		const memory = createMemory({ folder, now });
		memory.remember(conversation, { ...masking("a", "[placeholder]"), pause: "p" });
		const lines = (await readFile(join(folder, `${conversation}.jsonl`), "utf8")).trim().split("\n");
		expect(lines.map((line) => JSON.parse(line))).toEqual([{ masked: [["a", "[placeholder]"]], pause: "p" }]);
	});
});

describe("the sweep of a memory", () => {
	/** Twenty conversations, of which the first `old` had their last request 40 days ago. */
	async function sweepable(old: number) {
		const folder = await scratchFolder();
		const clock = { now: now(), uptime: 5 * day };
		const open = () => createMemory({ folder, now: () => clock.now, uptime: () => clock.uptime });
		const memory = open();
		for (let index = 0; index < 20; index += 1) {
			const name = `${index}`.padStart(16, "0");
			memory.remember(name, masking("a", "[a]"));
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
		expect(open().recall("0".repeat(16)).masked.size).toBe(0);
		expect(open().recall("19".padStart(16, "0")).masked.get("a")).toBe("[a]");
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
	it("masks nothing more on a full disk, keeps what it has, and continues when there is room", async ({ skip }) => {
		const disk = await mountSmallDisk(64);
		if (disk === undefined) return skip();
		const memory = createMemory({ folder: disk, now });
		memory.remember(conversation, masking("first", "[first]"));
		await writeFile(join(disk, "full"), "x".repeat(100_000)).catch(() => {});
		const refused: string[] = [];
		const kept: string[] = [];
		for (let index = 0; index < 20; index += 1) {
			try {
				memory.remember(conversation, masking(`key ${index}`, "x".repeat(1_000)));
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
		expect(() => memory.remember(conversation, { leftAlone: "refused" })).toThrow(/ENOSPC/);
		const expected = ["first", ...kept];
		for (const one of [memory, createMemory({ folder: disk, now })]) {
			expect([...one.recall(conversation).masked.keys()]).toEqual(expected);
		}
		expect(memory.recall(conversation).leftAlone).toBe("refused");
		await rm(join(disk, "full"));
		memory.remember(conversation, masking("last", "[last]"));
		expect([...createMemory({ folder: disk, now }).recall(conversation).masked.keys()]).toEqual([...expected, "last"]);
	});

	it("still reads on a read-only disk, and knows its own requests", async ({ skip }) => {
		const disk = await mountSmallDisk(64);
		if (disk === undefined) return skip();
		createMemory({ folder: disk, now }).remember(conversation, masking("a", "[a]"));
		setReadOnly(disk, true);
		const memory = createMemory({ folder: disk, now });
		expect([...memory.recall(conversation).masked.keys()]).toEqual(["a"]);
		expect(() => memory.remember(conversation, masking("b", "[b]"))).toThrow(/read-only file system.*EROFS/);
		memory.called(conversation);
		await memory.sweep(day);
		expect([...memory.recall(conversation).masked.keys()]).toEqual(["a"]);
		setReadOnly(disk, false);
		memory.remember(conversation, masking("b", "[b]"));
		expect([...createMemory({ folder: disk, now }).recall(conversation).masked.keys()]).toEqual(["a", "b"]);
	});
});

it("a memory without a folder knows results in other conversations too", () => {
	const memory = createMemory({ folder: undefined, now });
	memory.remember(conversation, masking("a", "[a]"));
	expect(memory.maskedAnywhere("a")).toBe("[a]");
	expect(memory.maskedAnywhere("b")).toBeUndefined();
	expect(memory.recall("another").masked.size).toBe(0);
});

it("the memory stands beside an archive of files, under a name of no namespace", async () => {
	const folder = await scratchFolder();
	expect(memoryFolderOf(await openArchive({ where: folder, namespace: "mine" }))).toBe(
		join(folder, "mine.conversations"),
	);
	expect(memoryFolderOf(await openArchive({ where: "memory" }))).toBeUndefined();
	expect(memoryFolderOf(undefined)).toBeUndefined();
});

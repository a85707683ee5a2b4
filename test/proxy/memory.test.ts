import { appendFile, readdir, readFile, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openArchive } from "../../src/archive/open.ts";
import { createMemory, memoryFolderOf } from "../../src/proxy/memory.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const conversation = "0123456789abcdef";
const now = () => Date.UTC(2026, 0, 1);
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

	it("can be read by its user alone, and deletes what nobody has touched for long", async () => {
		const folder = join(await scratchFolder(), "conversations");
		const memory = createMemory({ folder, now });
		memory.remember(conversation, masking("a", "[a]"));
		memory.remember("fedcba9876543210", masking("a", "[a]"));
		const file = join(folder, `${conversation}.jsonl`);
		expect([(await stat(folder)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
		memory.called("fedcba9876543210");
		const old = (now() - 40 * 24 * 3_600_000) / 1_000;
		await utimes(file, old, old);
		await memory.sweep(30 * 24 * 3_600_000);
		expect(await readdir(folder)).toEqual(["fedcba9876543210.jsonl"]);
	});

	it("holds no text of a conversation, only keys and placeholders", async () => {
		const folder = await scratchFolder();
		const memory = createMemory({ folder, now });
		memory.remember(conversation, { ...masking("a", "[placeholder]"), pause: "p" });
		const lines = (await readFile(join(folder, `${conversation}.jsonl`), "utf8")).trim().split("\n");
		expect(lines.map((line) => JSON.parse(line))).toEqual([{ masked: [["a", "[placeholder]"]], pause: "p" }]);
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

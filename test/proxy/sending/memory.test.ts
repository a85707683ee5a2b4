import { appendFile, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ToolResult } from "../../../src/engine/conversation/transcript.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { createMemory, memoryFolderOf } from "../../../src/proxy/sending/memory.ts";
import type { Note } from "../../../src/proxy/sending/notes.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { mountSmallDisk, setReadOnly } from "../../storage/archive/small-disk.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

const conversation = "0123456789abcdef";
const now = () => Date.UTC(2026, 0, 1);
const [hour, day] = [3_600_000, 24 * 3_600_000];

const [result] = readConversation({
	messages: [
		{ role: "user", content: "List the files." },
		{ role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: { name: "ls" } }] },
		{ role: "tool", tool_call_id: "a", content: "src\ntest\nREADME.md\n".repeat(40) },
	],
}).transcript.messages.flatMap(({ results }) => results) as [ToolResult];

/** A request that masks one result. */
const masking = (key: string, text: string, number = 1): Note => {
	const values = new Map([["whole", () => text]] as const);
	const state = { kind: "masked", since: number, at: 3, changed: number, values } as const;
	return { number, states: [{ key, result, state }] };
};

/** By key, what stands in the place of results. */
const textsOf = (memory: ReturnType<typeof createMemory>) =>
	Array.from(memory.recall(conversation).states, ([key, { values }]) => [key, values.get("whole")?.("")] as const);
const keysOf = (memory: ReturnType<typeof createMemory>) => textsOf(memory).map(([key]) => key);

describe("the memory in a folder", () => {
	it("passes decisions and observations to another process at once", async () => {
		const folder = await scratchFolder();
		const [one, other] = [createMemory({ folder, now }), createMemory({ folder, now })];
		one.note(conversation, masking("a", "[a]"));
		expect(textsOf(other)).toEqual([["a", "[a]"]]);
		other.note(conversation, { ...masking("b", "[b]", 2), messages: 9, isCold: true, produced: [["block", 1]] });
		one.note(conversation, {
			number: 3,
			model: "one",
			leftOut: ["block"],
			ending: "end",
			isEnforced: true,
			frozenUntil: 23,
		});
		for (const memory of [one, other, createMemory({ folder, now })]) {
			expect(keysOf(memory).sort()).toEqual(["a", "b"]);
			const known = memory.recall(conversation);
			expect([known.requests, known.messages, known.maskings, known.frozenUntil]).toEqual([3, 9, 2, 23]);
			expect([known.isEnforced, known.dropsBlocks]).toEqual([true, false]);
			expect([[...known.coldAt], [...known.produced]]).toEqual([[9], [["block", 1]]]);
			expect([[...known.leftOut], [...known.endings], [...known.models]]).toEqual([
				[["block", 3]],
				[["end", 3]],
				[[3, "one"]],
			]);
		}
	});

	it("takes states and reasoning back that a refused request began", async () => {
		const folder = await scratchFolder();
		const memory = createMemory({ folder, now });
		memory.note(conversation, { ...masking("a", "[a]"), leftOut: ["block", "other"] });
		memory.note(conversation, { number: 1, states: [{ key: "a", result, state: undefined }], putBack: ["block"] });
		for (const one of [memory, createMemory({ folder, now })]) {
			expect([keysOf(one), [...one.recall(conversation).leftOut.keys()]]).toEqual([[], ["other"]]);
		}
	});

	it("reads what a newer version has added around", async () => {
		const folder = await scratchFolder();
		const state = { kind: "masked", since: 1, at: 3, changed: 1, values: { whole: "[a]", later: "[b]" }, more: 1 };
		const line = {
			version: 9,
			number: 4,
			states: [["a", state], ["b", { kind: "folded" }], "c"],
			more: {},
			produced: 7,
		};
		await appendFile(join(folder, `${conversation}.jsonl`), `${JSON.stringify(line)}\n`);
		const memory = createMemory({ folder, now });
		expect([textsOf(memory), memory.recall(conversation).requests]).toEqual([[["a", "[a]"]], 4]);
	});

	it("makes all processes agree where two have decided on a result at the same moment", async () => {
		const folder = await scratchFolder();
		const [one, other] = [createMemory({ folder, now }), createMemory({ folder, now })];
		for (const memory of [one, other]) memory.recall(conversation);
		one.note(conversation, masking("a", "first"));
		other.note(conversation, masking("a", "second"));
		const texts = [one, other, createMemory({ folder, now })].map(textsOf);
		expect(texts).toEqual(Array(3).fill([["a", "second"]]));
	});

	it("reads around a line that a crash has cut off, and takes one that is completed later", async () => {
		const folder = await scratchFolder();
		const memory = createMemory({ folder, now });
		memory.note(conversation, masking("a", "[a]"));
		const file = join(folder, `${conversation}.jsonl`);
		const line = (key: string) =>
			JSON.stringify({ number: 1, states: [[key, { kind: "masked", values: { whole: key } }]] });
		await appendFile(file, line("b").slice(0, 30));
		expect(keysOf(memory)).toEqual(["a"]);
		await appendFile(file, `${line("b").slice(30)}\n${line("c").slice(0, 20)}\n${line("d")}\n`);
		expect(keysOf(memory)).toEqual(["a", "b", "d"]);
	});

	it("begins a line, so that one that was cut off spoils no other", async () => {
		const folder = await scratchFolder();
		await appendFile(join(folder, `${conversation}.jsonl`), '{"number":1,"states":[["a"');
		const memory = createMemory({ folder, now });
		memory.note(conversation, masking("b", "[b]"));
		for (const one of [memory, createMemory({ folder, now })]) expect(keysOf(one)).toEqual(["b"]);
	});

	it("takes the last request of every process from the time of the file", async () => {
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
		createMemory({ folder, now }).note(conversation, masking("a", "[a]"));
		const file = join(folder, `${conversation}.jsonl`);
		expect([(await stat(folder)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
	});

	it("holds no whole line of a conversation: pieces of an original are named by their places", async () => {
		const folder = await scratchFolder();
		const memory = createMemory({ folder, now });
		const original = result.texts[0]?.text as string;
		const cut = `[cut]\n${original.slice(0, 294)}[more]\n${original.slice(-90)}`;
		const values = new Map([["whole", () => cut]] as const);
		const state = { kind: "cut", since: 1, at: 3, changed: 0, values, ref: "abc" } as const;
		memory.note(conversation, { number: 1, states: [{ key: "a", result, state }] });
		expect(await readFile(join(folder, `${conversation}.jsonl`), "utf8")).not.toContain("README");
		const read = createMemory({ folder, now }).recall(conversation).states.get("a");
		expect([read?.kind, read?.ref, read?.values.get("whole")?.(original)]).toEqual(["cut", "abc", cut]);
	});

	it("stores nothing that must not be stored: this process has it, the next one does not", async () => {
		const folder = await scratchFolder();
		const memory = createMemory({ folder, now, isStorable: (text) => !text.includes("secret") });
		memory.note(conversation, masking("a", "[a secret]"));
		expect(await readFile(join(folder, `${conversation}.jsonl`), "utf8")).not.toContain("secret");
		expect([keysOf(memory), keysOf(createMemory({ folder, now }))]).toEqual([["a"], []]);
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
			memory.note(name, masking("a", "[a]"));
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
		expect(open().recall("0".repeat(16)).states.size).toBe(0);
		expect(open().recall("19".padStart(16, "0")).states.has("a")).toBe(true);
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
		const memory = createMemory({ folder: disk, now });
		memory.note(conversation, masking("first", "[first]"));
		await writeFile(join(disk, "full"), "x".repeat(100_000)).catch(() => {});
		const refused: string[] = [];
		const kept: string[] = [];
		for (let index = 0; index < 20; index += 1) {
			try {
				memory.note(conversation, masking(`key ${index}`, "x".repeat(1_000)));
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
		expect(keysOf(memory)).toEqual(["first", ...kept, "here"]);
		expect(keysOf(createMemory({ folder: disk, now }))).toEqual(["first", ...kept]);
		await rm(join(disk, "full"));
		memory.note(conversation, masking("last", "[last]"));
		expect(keysOf(createMemory({ folder: disk, now }))).toEqual(["first", ...kept, "last"]);
	});

	it("still reads on a read-only disk, and has its own requests", async ({ skip }) => {
		const disk = await mountSmallDisk(64);
		if (disk === undefined) return skip();
		createMemory({ folder: disk, now }).note(conversation, masking("a", "[a]"));
		setReadOnly(disk, true);
		const memory = createMemory({ folder: disk, now });
		expect(keysOf(memory)).toEqual(["a"]);
		expect(() => memory.note(conversation, masking("b", "[b]"))).toThrow(/read-only file system.*EROFS/);
		memory.called(conversation);
		await memory.sweep(day);
		expect(keysOf(memory)).toEqual(["a"]);
		setReadOnly(disk, false);
		memory.note(conversation, masking("b", "[b]"));
		expect(keysOf(createMemory({ folder: disk, now }))).toEqual(["a", "b"]);
	});
});

it("a memory without a folder has results of other conversations too", () => {
	const memory = createMemory({ folder: undefined, now });
	memory.note(conversation, masking("a", "[a]"));
	expect(memory.statesAnywhere()("a")?.values.get("whole")?.("")).toBe("[a]");
	expect(memory.statesAnywhere()("b")).toBeUndefined();
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

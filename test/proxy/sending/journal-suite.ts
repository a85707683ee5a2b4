import { describe, expect, it } from "vitest";
import type { ToolResult } from "../../../src/engine/conversation/transcript.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import type { Journal } from "../../../src/proxy/sending/journal.ts";
import { createMemory, type Memory } from "../../../src/proxy/sending/memory.ts";
import type { Note } from "../../../src/proxy/sending/notes.ts";
import { patience } from "../../support/patience.ts";

export const conversation = "0123456789abcdef";
const now = () => Date.UTC(2026, 0, 1);

export const [result] = readConversation({
	messages: [
		{ role: "user", content: "List the files." },
		{ role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: { name: "ls" } }] },
		{ role: "tool", tool_call_id: "a", content: "src\ntest\nREADME.md\n".repeat(40) },
	],
}).transcript.messages.flatMap(({ results }) => results) as [ToolResult];

/** A request that masks one result. */
export const masking = (key: string, text: string, number = 1): Note => {
	const values = new Map([["whole", () => text]] as const);
	const state = { kind: "masked", since: number, at: 3, changed: number, values } as const;
	return { number, states: [{ key, result, state }] };
};

/** By key, what stands in the place of results. */
export const textsOf = async (memory: Memory, name = conversation) =>
	Array.from((await memory.fetch(name)).states, ([key, { values }]) => [key, values.get("whole")?.("")] as const);
export const keysOf = async (memory: Memory) => (await textsOf(memory)).map(([key]) => key);

/** A place of its own, which several processes share. */
export interface SharedPlace {
	/** The journal of a process that starts. */
	readonly open: (now: () => number) => Promise<Journal>;
	/** Appends what another version has written. */
	readonly write: (line: string) => Promise<void>;
	readonly lines: () => Promise<string>;
}

/** The contract of a journal, which memories of several processes show. */
export function describeJournal(name: string, place: () => Promise<SharedPlace>): void {
	describe(`the memory in ${name}`, () => {
		const start = async (of?: SharedPlace) => {
			const shared = of ?? (await place());
			const open = async (more: Partial<Parameters<typeof createMemory>[0]> = {}) =>
				createMemory({ journal: await shared.open(more.now ?? now), now, patienceMs: patience.timeout, ...more });
			return { ...shared, open };
		};

		it("passes decisions and observations to another process at once", async () => {
			const { open } = await start();
			const [one, other] = [await open(), await open()];
			await one.note(conversation, masking("a", "[a]"));
			expect(await textsOf(other)).toEqual([["a", "[a]"]]);
			await other.note(conversation, {
				...masking("b", "[b]", 2),
				messages: 9,
				isCold: true,
				produced: [["block", 1]],
			});
			const about = { number: 3, model: "one", leftOut: ["block"], ending: "end", frozenUntil: 23 };
			await one.note(conversation, { ...about, isEnforced: true });
			for (const memory of [one, other, await open()]) {
				expect((await keysOf(memory)).sort()).toEqual(["a", "b"]);
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
			const { open } = await start();
			const memory = await open();
			await memory.note(conversation, { ...masking("a", "[a]"), leftOut: ["block", "other"] });
			const back = { number: 1, states: [{ key: "a", result, state: undefined }], putBack: ["block"] };
			expect(await memory.note(conversation, back)).toBe("noted");
			for (const one of [memory, await open()])
				expect([await keysOf(one), [...one.recall(conversation).leftOut.keys()]]).toEqual([[], ["other"]]);
		});

		it("reads what a newer version has added around", async () => {
			const { open, write } = await start();
			const state = { kind: "masked", since: 1, at: 3, changed: 1, values: { whole: "[a]", later: "[b]" }, more: 1 };
			const states = [["a", state], ["b", { kind: "folded" }], "c"];
			await write(JSON.stringify({ version: 9, number: 4, states, more: {}, produced: 7 }));
			const memory = await open();
			expect([await textsOf(memory), memory.recall(conversation).requests]).toEqual([[["a", "[a]"]], 4]);
		});

		it("takes the notes of the version before, which name no place, in their order", async () => {
			const { open, write } = await start();
			const line = (text: string) =>
				JSON.stringify({ number: 1, states: [["a", { kind: "masked", values: { whole: text } }]] });
			await write(line("first"));
			await write(line("second"));
			const memory = await open();
			expect(await textsOf(memory)).toEqual([["a", "second"]]);
			expect(await memory.note(conversation, masking("a", "third"))).toBe("noted");
			expect(await textsOf(await open())).toEqual([["a", "third"]]);
		});

		it("lets the first of two processes that decide on a result at the same moment win, and tells the other", async () => {
			const { open } = await start();
			const [one, other] = [await open(), await open()];
			for (const memory of [one, other]) await memory.fetch(conversation);
			const said = await Promise.all([
				one.note(conversation, masking("a", "first")),
				other.note(conversation, { ...masking("a", "second"), messages: 7 }),
			]);
			expect(said).toEqual(["noted", "overtaken"]);
			for (const memory of [one, other, await open()]) {
				expect(await textsOf(memory)).toEqual([["a", "first"]]);
				expect(memory.recall(conversation).messages).toBe(7);
			}
			// Now it has seen the state that it changes.
			expect(await other.note(conversation, masking("a", "later", 2))).toBe("noted");
			for (const memory of [one, other]) expect(await textsOf(memory)).toEqual([["a", "later"]]);
		});

		it("makes all agree where many decide on many results at once, each result once", async () => {
			const { open } = await start();
			const memories = await Promise.all(Array.from({ length: 4 }, () => open()));
			await Promise.all(
				memories.map(async (memory, process) => {
					for (let round = 0; round < 20; round += 1) {
						await memory.fetch(conversation);
						const decided = memory.recall(conversation).states.has(`key ${round}`);
						if (!decided) await memory.note(conversation, masking(`key ${round}`, `by ${process}`, round + 1));
					}
				}),
			);
			const [first, ...others] = await Promise.all([...memories, await open()].map((memory) => textsOf(memory)));
			expect(first?.length).toBe(20);
			for (const texts of others) expect(texts).toEqual(first);
		});

		it("writes what could not be written with the next note, unless another has decided on it since", async () => {
			const { open } = await start();
			const [one, other] = [await open(), await open()];
			await one.note(conversation, masking("a", "[a]"));
			one.noteLater(conversation, masking("b", "[b]", 2));
			one.noteLater(conversation, masking("c", "[c]", 3));
			await other.note(conversation, masking("b", "[other]", 2));
			await one.note(conversation, { number: 4 });
			const expected = { a: "[a]", b: "[other]", c: "[c]" };
			for (const memory of [one, other, await open()])
				expect(Object.fromEntries(await textsOf(memory))).toEqual(expected);
		});

		it("takes the last request of every process", async () => {
			const { open } = await start();
			let time = now();
			const [one, other] = [await open({ now: () => time }), await open({ now: () => time })];
			expect((await one.fetch(conversation)).lastCall).toBeUndefined();
			one.called(conversation);
			time += 60_000;
			expect((await other.fetch(conversation)).lastCall).toBe(now());
			other.called(conversation);
			expect((await one.fetch(conversation)).lastCall).toBe(time);
		});

		it("holds no whole line of a conversation: pieces of an original are named by their places", async () => {
			const { open, lines } = await start();
			const original = result.texts[0]?.text as string;
			const cut = `[cut]\n${original.slice(0, 294)}[more]\n${original.slice(-90)}`;
			const values = new Map([["whole", () => cut]] as const);
			const state = { kind: "cut", since: 1, at: 3, changed: 0, values, ref: "abc" } as const;
			await (await open()).note(conversation, { number: 1, states: [{ key: "a", result, state }] });
			expect(await lines()).not.toContain("README");
			const read = (await (await open()).fetch(conversation)).states.get("a");
			expect([read?.kind, read?.ref, read?.values.get("whole")?.(original)]).toEqual(["cut", "abc", cut]);
		});

		it("stores nothing that must not be stored: this process has it, the next one does not", async () => {
			const { open, lines } = await start();
			const memory = await open({ isStorable: (text) => !text.includes("secret") });
			await memory.note(conversation, masking("a", "[a secret]"));
			expect(await lines()).not.toContain("secret");
			expect([await keysOf(memory), await keysOf(await open())]).toEqual([["a"], []]);
		});

		it("has the results of other conversations too", async () => {
			const { open } = await start();
			const memory = await open();
			await memory.note(conversation, masking("a", "[a]"));
			const found = await memory.findElsewhere(["a", "b"]);
			expect(found.get("a")?.values.get("whole")?.("")).toBe("[a]");
			expect(found.size).toBe(1);
			expect(memory.recall("another").states.size).toBe(0);
		});

		it("reads what it has let go again", async () => {
			const { open } = await start();
			const memory = await open({ limits: { mostConversations: 2, mostChars: 1_000_000 } });
			const names = Array.from({ length: 9 }, (_, index) => `${index}`.repeat(16));
			for (const name of names) await memory.note(name, masking(name, `[${name}]`));
			for (const name of names) expect(await textsOf(memory, name)).toEqual([[name, `[${name}]`]]);
		});

		it("keeps for a request under way the states of a conversation that was let go", async () => {
			const { open } = await start();
			const memory = await open({ limits: { mostConversations: 1, mostChars: 1_000_000 } });
			await memory.note(conversation, masking("a", "[a]"));
			const before = memory.recall(conversation);
			await memory.note("b".repeat(16), masking("b", "[b]"));
			await memory.note("c".repeat(16), masking("c", "[c]"));
			const renewed = await memory.renewed(conversation, before, memory.patience());
			expect(renewed).not.toBe(before);
			expect([...renewed.states.keys()]).toEqual(["a"]);
		});
	});
}

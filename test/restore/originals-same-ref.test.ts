import { describe, expect, it } from "vitest";
import { openArchive } from "../../src/archive/open.ts";
import { mask, restore, truncate } from "../../src/library.ts";
import { collidingTexts } from "../support/colliding-texts.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const [first, second] = collidingTexts("the same words ".repeat(20));
const policy = { mask: { window_turns: 1 } };
const conversationOf = (...texts: readonly string[]) =>
	openaiMessages(user("Go."), ...texts.map((text, turn) => toolTurn(`c${turn}`, text)), toolTurn("last", "done"));

const refsIn = (value: unknown) => Array.from(JSON.stringify(value).matchAll(/r[ée]f=([a-z0-9]+)/g), ([, ref]) => ref);

async function open(where: string) {
	const archive = await openArchive({ where });
	if (archive === undefined) throw new Error("no archive");
	return archive;
}

describe("two originals with the same short reference", () => {
	it("are masked under different ones in one call, and restored", async () => {
		const archive = await open("memory");
		const conversation = conversationOf(first, second);
		const masked = await mask(conversation, { policy, archive });
		expect(masked.error).toBeUndefined();
		expect(refsIn(masked.conversation).map((ref) => ref?.length)).toEqual([8, 20]);
		expect((await restore(masked.conversation, archive, { policy })).conversation).toEqual(conversation);
	});

	it("are masked under the same ones in the next turn and in another process", async () => {
		const folder = await scratchFolder();
		const one = await mask(conversationOf(first, second), { policy, archive: await open(folder) });
		const other = await mask(conversationOf(first, second), { policy, archive: await open(folder) });
		expect(other.conversation).toEqual(one.conversation);
		const longer = await mask(conversationOf(first, second, "more ".repeat(90)), {
			policy,
			archive: await open(folder),
		});
		expect(refsIn(longer.conversation).slice(0, 2)).toEqual(refsIn(one.conversation));
	});

	it("keep theirs where a second conversation has only the later one", async () => {
		const archive = await open(await scratchFolder());
		const before = await mask(conversationOf(first), { policy, archive });
		const { conversation } = await mask(conversationOf(second), { policy, archive: await open(archive.location) });
		expect(refsIn(conversation).map((ref) => ref?.length)).toEqual([20]);
		expect((await restore(conversation, archive, { policy })).conversation).toEqual(conversationOf(second));
		expect((await restore(before.conversation, archive, { policy })).conversation).toEqual(conversationOf(first));
	});

	it("are cut under different ones", async () => {
		const archive = await open("memory");
		const [one, other] = collidingTexts("the same words ".repeat(60));
		const cut = (text: string) => truncate(text, { archive, maxChars: 400 });
		const refs = [(await cut(one)).report.ref, (await cut(other)).report.ref, (await cut(other)).report.ref];
		expect(refs.map((ref) => ref?.length)).toEqual([8, 20, 20]);
		expect((await archive.get(refs[1] ?? "")).text).toBe(other);
	}, 60_000);
});

import { describe, expect, it } from "vitest";
import { truncateOutput } from "../../../src/engine/truncation/truncate.ts";
import type { LargeTexts } from "../../../src/operations/large-texts.ts";
import { textLibraries } from "../../../src/operations/text-libraries.ts";
import { createGate, sendSettled, startPlayed } from "../played.ts";
import { requestOf, turnsOf } from "../sessions.ts";
import { send } from "../upstream.ts";

const large = requestOf("anthropic", turnsOf(1, 300_000));
const small = requestOf("anthropic", turnsOf(1, 50_000), "Another task.");

function standIn(before: () => Promise<void> = async () => {}) {
	const asked: number[] = [];
	const largeTexts: LargeTexts = {
		async cut(cut) {
			asked.push(cut.text.length);
			await before();
			return truncateOutput({ ...cut, ...textLibraries }).text;
		},
		count: async () => undefined,
		close: async () => {},
	};
	return { asked, largeTexts };
}

async function bodyCutHere(): Promise<string> {
	const session = await startPlayed();
	await sendSettled(await session.start(), large);
	return session.lastBody();
}

describe("a large result", () => {
	it("is cut in another thread to the same bytes, while other requests go on", async () => {
		const gate = createGate();
		const { asked, largeTexts } = standIn(() => gate.isOpen);
		const session = await startPlayed({ largeTexts });
		const proxy = await session.start();
		const answer = send(proxy.url, large);
		expect((await send(proxy.url, small)).status).toBe(200);
		expect(session.lastBody()).toContain("Another task.");
		expect(session.upstream.received).toHaveLength(1);
		gate.open();
		expect((await answer).status).toBe(200);
		expect(asked).toEqual([300_000]);
		expect(session.lastBody()).toBe(await bodyCutHere());
	});

	it("that cannot be cut there is sent whole, and stays whole where it could be", async () => {
		const { largeTexts } = standIn(() => Promise.reject(new Error("The thread has ended.")));
		const session = await startPlayed({ largeTexts });
		const proxy = await session.start();
		expect((await sendSettled(proxy, large)).status).toBe(200);
		expect(session.lastBody().length).toBeGreaterThan(300_000);
		expect(session.faults()).toEqual(["failed"]);
		const other = standIn();
		await sendSettled(
			await session.start(other),
			requestOf("anthropic", [...turnsOf(1, 300_000), ...turnsOf(2).slice(1)]),
		);
		expect(session.lastBody().length).toBeGreaterThan(300_000);
		expect(other.asked).toEqual([]);
	});

	it("is one of many characters: a small one is cut at once", async () => {
		const { asked, largeTexts } = standIn();
		const session = await startPlayed({ largeTexts });
		await sendSettled(await session.start(), small);
		expect(session.lastBody().length).toBeLessThan(40_000);
		expect(asked).toEqual([]);
	});
});

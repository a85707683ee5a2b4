import { expect, it } from "vitest";
import { play, sendSettled, startPlayed } from "./played.ts";
import { outputOf, requestOf, turnsOf } from "./sessions.ts";

it("a body of 100 MB passes by its bytes, and the next request is edited", async () => {
	const session = await startPlayed();
	const proxy = await session.start();
	const body = Buffer.alloc(100_000_000, 0x61);
	const request = requestOf("anthropic", turnsOf(1, 40_000));
	expect((await sendSettled(proxy, { ...request, body })).status).toBe(200);
	expect(session.upstream.received[0]?.body.equals(body)).toBe(true);
	await sendSettled(proxy, request);
	expect(session.lastBody()).not.toBe(request.body);
}, 60_000);

it("a body of 10 MB with 100 large results that were never seen arrives whole; the next one is edited", async () => {
	const session = await startPlayed();
	const proxy = await session.start();
	const turns = [
		...turnsOf(100, 100_000),
		{ id: "toolu_01LastOfTheSession001", command: "ls", output: outputOf(100, 90_000) },
	];
	const large = requestOf("anthropic", turns.slice(0, 100));
	// The last result is new; all others were sent before.
	expect((await sendSettled(proxy, large)).status).toBe(200);
	expect(session.lastBody().length).toBeGreaterThan(9_500_000);
	await sendSettled(proxy, requestOf("anthropic", turns));
	expect(session.lastBody().length).toBeLessThan(7_500_000);
}, 60_000);

it("a body of 8 MB is small after all its results arrived through the proxy", async () => {
	const session = await startPlayed();
	const proxy = await session.start();
	await play(proxy, turnsOf(8, 1_000_000));
	expect(session.lastBody().length).toBeLessThan(400_000);
}, 60_000);

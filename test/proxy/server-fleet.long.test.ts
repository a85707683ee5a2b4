import { describe, expect, it } from "vitest";
import { openRedisJournal } from "../../src/proxy/sending/journal-redis.ts";
import { hasRedis, startRedis } from "../storage/archive/start-redis.ts";
import { patience } from "../support/patience.ts";
import { early, sendSettled, startPlayed } from "./played.ts";
import { maskedIn, messagesOf, requestOf, turnsOf } from "./sessions.ts";

const day = 24 * 3_600_000;

describe.runIf(hasRedis)("proxies on several machines with one Redis", () => {
	it("send a conversation as one would, whichever of them each request comes to", async () => {
		const { url } = await startRedis();
		const session = await startPlayed({ policy: early });
		const start = async (namespace = "default") => {
			const journal = await openRedisJournal({ url, namespace, maxAgeMs: 30 * day });
			return session.start({ memoryFolder: undefined, journal, engine: { limits: { patienceMs: patience.timeout } } });
		};
		const proxies = [await start(), await start(), await start()];
		const alone = await start("alone");
		const turns = turnsOf(12);
		let seed = 7;
		const asked = new Set<number>();
		for (let count = 1; count <= turns.length; count += 1) {
			seed = (seed * 48_271) % 2_147_483_647;
			asked.add(seed % proxies.length);
			const proxy = proxies[seed % proxies.length] as (typeof proxies)[number];
			const request = requestOf("anthropic", turns.slice(0, count));
			for (const one of [proxy, alone]) expect((await sendSettled(one, request)).status).toBe(200);
			const [sent, sentAlone] = session.bodies().slice(-2);
			expect(sent).toBe(sentAlone);
		}
		expect(asked.size).toBe(proxies.length);
		expect(maskedIn(session.lastBody()).length).toBeGreaterThan(3);
		// Each of them sends the same for a request that decides nothing.
		const last = { ...requestOf("anthropic", turns), path: "/v1/messages/count_tokens" };
		for (const proxy of proxies) await sendSettled(proxy, last);
		const again = session.bodies().slice(-proxies.length);
		expect(new Set(again.map((body) => JSON.stringify(messagesOf(body)))).size).toBe(1);
	});
});

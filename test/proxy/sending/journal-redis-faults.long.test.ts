import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { openRedisJournal } from "../../../src/proxy/sending/journal-redis.ts";
import { createMemory, type Memory } from "../../../src/proxy/sending/memory.ts";
import { connectRedis, hasRedis, type OwnRedis, startRedis } from "../../storage/archive/start-redis.ts";
import { patience } from "../../support/patience.ts";
import { conversation, masking, textsOf } from "./journal-suite.ts";

const day = 24 * 3_600_000;
const now = () => Date.UTC(2026, 0, 1);
const another = "fedcba9876543210";

/** Resolves once a note can be written again. */
async function untilBack(memory: Memory): Promise<void> {
	const tried = async () => (await memory.note(another, { number: 1 }).catch(() => undefined)) !== undefined;
	while (!(await tried())) await nextTurn();
}

describe.runIf(hasRedis)("states in a Redis", () => {
	let redis: OwnRedis | undefined;
	afterEach(async () => {
		redis?.freeze(false);
		await redis?.kill();
	});
	const start = async (...given: string[]) => {
		redis = await startRedis(given);
		const { url } = redis;
		const open = async (patienceMs = patience.timeout) => {
			const journal = await openRedisJournal({ url, namespace: "default", maxAgeMs: 30 * day });
			return createMemory({ journal, now, patienceMs });
		};
		return { redis, url, open };
	};

	it("that does not answer are sent from memory, nothing is decided, and no late note counts", async () => {
		const { redis, open } = await start();
		const one = await open();
		await one.note(conversation, masking("a", "[a]"));
		// A process that starts later.
		const other = await open(50);
		await expect(one.note(another, { number: 1 }, { leftMs: 0 })).rejects.toMatchObject({
			code: "archive_unavailable",
		});
		redis.freeze(true);
		const begun = performance.now();
		const wait = { leftMs: 50 };
		expect([...(await one.fetch(conversation, wait)).states.keys()]).toEqual(["a"]);
		await expect(one.note(conversation, masking("b", "[b]", 2), wait)).rejects.toMatchObject({
			code: "archive_unavailable",
		});
		one.noteLater(conversation, masking("b", "[whole]", 2));
		expect((await other.fetch(conversation)).isUnread).toBe(true);
		expect(performance.now() - begun).toBeLessThan(5_000);
		redis.freeze(false);
		await Promise.all([untilBack(one), untilBack(other)]);
		// What was to be decided while Redis slept was not sent, so it does not hold.
		// What waits is written as soon as Redis is back, not with the next note.
		await expect.poll(async () => (await textsOf(other)).length).toBe(2);
		for (const memory of [other, await open()])
			expect(await textsOf(memory)).toEqual([
				["a", "[a]"],
				["b", "[whole]"],
			]);
	});

	/** What a process knows once it has tried to read. */
	const decided = async (memory: Memory) => [...(await memory.fetch(conversation)).states.keys()].join(" ");

	it("that goes away have come to each process that ran before, also after a restart", async () => {
		const { redis, url, open } = await start("--appendonly", "yes", "--appendfsync", "always");
		const untilHeard = async (processes: number) => {
			const client = await connectRedis({ url });
			const heard = async () =>
				String(await client.send([["PUBSUB", "NUMSUB", "palimpsest:states:{default}:appended"]]));
			await expect.poll(heard, { timeout: patience.timeout }).toMatch(new RegExp(`,${processes}$`));
		};
		const [one, other, unvisited] = [await open(), await open(50), await open(50)];
		await untilHeard(3);
		await other.fetch(conversation);
		await one.note(conversation, masking("a", "[a]"));
		await one.note(conversation, masking("b", "[b]", 2));
		// Redis answers this after it has published all of that.
		await untilBack(other);
		redis.freeze(true);
		await expect.poll(() => decided(other)).toBe("a b");
		redis.freeze(false);
		await redis.kill();
		await redis.start();
		const late = await open(50);
		await Promise.all([one, other, unvisited, late].map(untilBack));
		await untilHeard(4);
		await one.note(conversation, masking("c", "[c]", 3));
		await one.note(conversation, masking("d", "[d]", 4));
		await untilBack(other);
		redis.freeze(true);
		for (const memory of [other, unvisited]) await expect.poll(() => decided(memory)).toBe("a b c d");
		expect(await decided(late)).toBe("");
	});

	it("that have lost notes reach no process that has others at their places", async () => {
		const { redis, url, open } = await start();
		const [one, other] = [await open(), await open(100)];
		await one.note(conversation, masking("a", "[a]"));
		await one.note(conversation, masking("b", "[b]", 2));
		await other.fetch(conversation);
		const client = await connectRedis({ url });
		const key = `palimpsest:states:{default}:notes:${conversation}`;
		const [line] = await client.send([["LINDEX", key, "0"]]);
		await client.send([["LTRIM", key, "0", "0"]]);
		await client.send([["RPUSH", key, String(line).replaceAll('"a"', '"c"')]]);
		const third = await open();
		await third.fetch(conversation);
		await third.note(conversation, masking("d", "[d]", 3));
		await other.note(another, { number: 1 });
		redis.freeze(true);
		expect(await decided(other)).toBe("a b");
		redis.freeze(false);
		await untilBack(other);
		// The next request reads all, and writes its own again.
		for (const memory of [other, third, await open()])
			expect((await textsOf(memory)).map(([key]) => key).sort()).toEqual(["a", "b", "c", "d"]);
	});

	it("are written also by a user of Redis who may not publish", async () => {
		const { url, open } = await start();
		const client = await connectRedis({ url });
		await client.send([["ACL", "SETUSER", "default", "resetchannels"]]);
		const [one, other] = [await open(), await open()];
		await other.fetch(conversation);
		expect(await one.note(conversation, masking("a", "[a]"))).toBe("noted");
		expect(await textsOf(other)).toEqual([["a", "[a]"]]);
	});

	it("is not slow where this thread is busy with other requests", async () => {
		const { open } = await start();
		const [one, other] = [await open(100), await open(100)];
		const whileBusy = async <T>(work: () => Promise<T>): Promise<T> => {
			const asked = work();
			await Promise.resolve();
			const begun = performance.now();
			while (performance.now() < begun + 200);
			return asked;
		};
		await one.fetch(conversation);
		expect(await whileBusy(() => one.note(conversation, masking("a", "[a]")))).toBe("noted");
		expect((await whileBusy(() => other.fetch(conversation))).states.size).toBe(1);
		// Its clock of Redis was wrong by the time of that answer.
		expect(await other.note(conversation, masking("b", "[b]", 2))).toBe("noted");
	});

	it("that is killed and comes back empty are written again by the process that knows them", async () => {
		const { redis, open } = await start();
		const [one, other] = [await open(), await open()];
		await one.note(conversation, masking("a", "[a]"));
		await one.note(conversation, { ...masking("b", "[b]", 2), messages: 5 });
		await redis.kill();
		expect(await textsOf(one)).toHaveLength(2);
		await expect(one.note(conversation, masking("c", "[c]", 3))).rejects.toMatchObject({ code: "archive_unavailable" });
		await redis.start();
		await Promise.all([untilBack(one), untilBack(other)]);
		// Another process begins anew, since it has never seen the conversation.
		await other.note(conversation, masking("d", "[d]", 1));
		const expected = { a: "[a]", b: "[b]", d: "[d]" };
		for (const memory of [one, other, await open()])
			expect(Object.fromEntries(await textsOf(memory))).toEqual(expected);
		expect(other.recall(conversation).messages).toBe(5);
	});

	it("that is full stay known, are still read, and go on when there is room", async () => {
		const { url, open } = await start("--maxmemory-policy", "noeviction");
		const [one, other] = [await open(), await open()];
		await one.note(conversation, masking("a", "[a]"));
		const client = await connectRedis({ url });
		await client.send([["CONFIG", "SET", "maxmemory", "1"]]);
		await expect(one.note(conversation, masking("b", "[b]", 2))).rejects.toMatchObject({ code: "archive_unavailable" });
		one.noteLater(conversation, masking("b", "[whole]", 2));
		expect(await textsOf(other)).toEqual([["a", "[a]"]]);
		await client.send([["CONFIG", "SET", "maxmemory", "0"]]);
		await one.note(conversation, { number: 3 });
		expect(await textsOf(other)).toHaveLength(2);
	});

	it("that an earlier version has kept in files of this machine are taken over", async () => {
		const { scratchFolder } = await import("../../support/scratch-folder.ts");
		const { createFilesJournal } = await import("../../../src/proxy/sending/journal-files.ts");
		const { url, open } = await start();
		const folder = await scratchFolder();
		await createMemory({ journal: createFilesJournal({ folder, now }), now }).note(conversation, masking("a", "[a]"));
		const journal = await openRedisJournal({ url, namespace: "default", maxAgeMs: 30 * day, folder });
		expect(await textsOf(createMemory({ journal, now, patienceMs: patience.timeout }))).toEqual([["a", "[a]"]]);
		expect(await textsOf(await open())).toEqual([["a", "[a]"]]);
	});
});

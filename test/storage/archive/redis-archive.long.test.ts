import { createHash } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { createRedisDriver } from "../../../src/storage/archive/redis.ts";
import { formsOfRef } from "../../../src/storage/archive/reference.ts";
import { describeArchive } from "./archive-suite.ts";
import { describePieces } from "./pieces-suite.ts";
import { alike, describeReferences } from "./references-suite.ts";
import { connectRedis, hasRedis, type OwnRedis, startRedis } from "./start-redis.ts";

let redis: OwnRedis;

async function open(options: Omit<Parameters<typeof openArchive>[0] & object, "where"> = {}) {
	const archive = await openArchive({ where: redis.url, ...options });
	if (archive === undefined) throw new Error("no archive");
	return archive;
}

describe.skipIf(!hasRedis)("an archive in Redis", () => {
	beforeAll(async () => {
		redis = await startRedis();
	});

	const passHour = async (namespace: string) => {
		const connection = await connectRedis({ url: redis.url });
		await connection.send([["DEL", `palimpsest:{${namespace}}:swept`]]);
	};
	describeArchive("redis", open, { outlives: true, passHour });
	describeReferences("redis", open, (options) => createRedisDriver({ url: redis.url, ...options }));
	describePieces("redis", open);

	it("sets an expiry on every key, and renews it on use", async () => {
		const archive = await open({ namespace: "expiry", retention: { maxAgeMs: 7_200_000, maxBytes: 1e9 } });
		const connection = await connectRedis({ url: redis.url });
		const [ref = ""] = await archive.put([{ text: "x", kind: "result", toolCallId: "id" }]);
		const [found] = await connection.send([["KEYS", "palimpsest:{expiry}:*"]]);
		const names = (found as unknown as string[]).map(String);
		expect(names.map((name) => name.split(":")[2]).sort()).toEqual(["about", "call", "ref", "swept", "text", "used"]);
		const ages = () => connection.send(names.map((name) => ["PTTL", name]));
		for (const age of await ages()) expect(age).toBeGreaterThan(3_000_000);
		const text = names.find((name) => name.includes(":text:")) ?? "";
		await connection.send([["PEXPIRE", text, "500000"]]);
		await archive.get(ref);
		expect((await connection.send([["PTTL", text]]))[0]).toBeGreaterThan(7_000_000);
		await connection.send([["PEXPIRE", text, "500000"]]);
		await archive.put([{ text: "x", kind: "result", toolCallId: "id" }]);
		expect((await connection.send([["PTTL", text]]))[0]).toBeGreaterThan(7_000_000);
		await archive.close();
	});

	it("removes an expired original from the set of its call, and the call's id stays usable", async () => {
		// Opening sweeps in the background, once in a while: this one waits for it, so that none runs beside what follows.
		await (await open({ namespace: "reused" })).close();
		const archive = await open({ namespace: "reused" });
		const connection = await connectRedis({ url: redis.url });
		const put = (text: string) => archive.put([{ text, kind: "result", toolCallId: "call_0" }]);
		const [gone = ""] = await put("gone");
		const [kept = ""] = await put("kept");
		const keys = async (kind: string) => {
			const [found] = await connection.send([["KEYS", `palimpsest:{reused}:${kind}:*`]]);
			return (found as unknown as string[]).map(String);
		};
		const texts = await keys("text");
		const values = await connection.send(texts.map((key) => ["GET", key]));
		await connection.send([["DEL", texts[values.map(String).indexOf("gone")] ?? ""]]);
		const [set = ""] = await keys("call");
		expect((await connection.send([["ZCARD", set]]))[0]).toBe(2);
		await archive.sweep();
		expect((await connection.send([["ZCARD", set]]))[0]).toBe(1);
		expect((await archive.find("call_0")).map(({ ref }) => ref)).toEqual([kept]);
		expect(await put("gone")).toEqual([gone]);
		expect((await archive.find("call_0")).map(({ ref }) => ref).sort()).toEqual([gone, kept].sort());
		await archive.close();
	});

	it("stores an evicted or damaged text again", async () => {
		const archive = await open({ namespace: "evicted" });
		const connection = await connectRedis({ url: redis.url });
		const [ref = ""] = await archive.put([{ text: "evicted", kind: "result" }]);
		const [found] = await connection.send([["KEYS", "palimpsest:{evicted}:text:*"]]);
		const key = String((found as unknown as string[])[0]);
		await connection.send([["DEL", key]]);
		await expect(archive.get(ref)).rejects.toMatchObject({ code: "original_not_found" });
		expect((await archive.stats()).originals).toBe(0);
		await archive.put([{ text: "evicted", kind: "result" }]);
		expect((await archive.get(ref)).text).toBe("evicted");
		await connection.send([["SET", key, "damaged"]]);
		await expect(archive.get(ref)).rejects.toMatchObject({ code: "original_not_found" });
		await archive.put([{ text: "evicted", kind: "result" }]);
		expect((await archive.get(ref)).text).toBe("evicted");
		await archive.close();
	});

	it("reads the key of an older version, which says which of two texts its 8 characters name", async () => {
		const archive = await open({ namespace: "older" });
		const connection = await connectRedis({ url: redis.url });
		const refs = await archive.put(alike.map((text) => ({ text, kind: "result" })));
		const [named = ""] = refs.map((ref) => formsOfRef(ref)[1]);
		expect(named).toBe("nnf209pg");
		await expect(archive.get(named)).rejects.toMatchObject({ code: "ambiguous_reference" });
		const hash = createHash("sha256").update(alike[1]).digest("hex");
		await connection.send([["SET", "palimpsest:{older}:short:e26e0088", hash]]);
		expect(await archive.get(named)).toMatchObject({ ref: refs[1], text: alike[1] });
		await archive.close();
	});

	it("refuses a second text under the same ref, and keeps the first", async () => {
		const archive = await open({ namespace: "collision" });
		const connection = await connectRedis({ url: redis.url });
		await archive.put([{ text: "first", kind: "result" }]);
		const ref = archive.refOf("first");
		const [found] = await connection.send([["KEYS", "palimpsest:{collision}:ref:*"]]);
		const key = String((found as unknown as string[])[0]);
		await connection.send([["SET", key, `${key.slice(-15)}${"0".repeat(49)}`]]);
		const other = await open({ namespace: "collision" });
		await expect(other.put([{ text: "first", kind: "result" }])).rejects.toMatchObject({ code: "ambiguous_reference" });
		await expect(archive.get(ref)).rejects.toMatchObject({ code: "original_not_found" });
		await Promise.all([archive.close(), other.close()]);
	});
});

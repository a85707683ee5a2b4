import { createServer } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { PalimpsestError } from "../../../src/errors.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { createRedisDriver } from "../../../src/storage/archive/redis.ts";
import { createArchive } from "../../../src/storage/archive/store.ts";
import { hasRedis, startRedis } from "./start-redis.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeAll(() => {
	process.on("unhandledRejection", note);
});
afterAll(() => {
	process.off("unhandledRejection", note);
});
afterEach(() => {
	expect(unhandled).toEqual([]);
});

async function open(url: string) {
	const archive = await openArchive({ where: url });
	if (archive === undefined) throw new Error("no archive");
	return archive;
}

const put = (text: string) => [{ text, kind: "result" as const, toolCallId: text }];

describe.skipIf(!hasRedis)("an archive in a Redis that fails", () => {
	it("stores or refuses each of 1 000 calls while Redis is killed and restarted", async () => {
		const redis = await startRedis(["--appendonly", "yes", "--appendfsync", "always"]);
		const archive = await open(redis.url);
		const stored: string[] = [];
		let [refused, storedAfter] = [0, 0];
		let restarted: Promise<void> | undefined;
		let isBack = false;
		for (let index = 0; index < 1000 || storedAfter < 100; index += 1) {
			if (index === 400) {
				restarted = redis
					.kill()
					.then(() => new Promise((resolve) => setTimeout(resolve, 300)))
					.then(() => redis.start())
					.then(() => {
						isBack = true;
					});
			}
			try {
				const [ref = ""] = await archive.put(put(`text ${index}`));
				stored.push(ref);
				if (isBack) storedAfter += 1;
			} catch (error) {
				expect(error).toBeInstanceOf(PalimpsestError);
				expect(error).toMatchObject({ code: "archive_unavailable" });
				refused += 1;
			}
		}
		await restarted;
		expect(refused).toBeGreaterThan(0);
		expect(stored.length).toBeGreaterThan(500);
		for (const ref of stored) expect((await archive.get(ref)).text).toMatch(/^text \d+$/);
		await archive.close();
		await redis.kill();
	});

	it("refuses within the time limit when Redis does not answer, and continues afterwards", async () => {
		const redis = await startRedis();
		const now = Date.now;
		const retention = { maxAgeMs: 1e9, maxBytes: 1e9 };
		const driver = await createRedisDriver({ url: redis.url, namespace: "x", retention, now, timeoutMs: 1_000 });
		const archive = createArchive({ namespace: "x", driver, redact: (text) => ({ text, redactions: 0 }), now });
		await archive.put(put("before"));
		redis.freeze(true);
		await expect(archive.put(put("during"))).rejects.toMatchObject({ code: "archive_unavailable" });
		redis.freeze(false);
		const [ref = ""] = await archive.put(put("after"));
		expect((await archive.get(ref)).text).toBe("after");
		await archive.close();
		redis.freeze(true);
		const waiting = archive.put(put("while it connects"));
		setImmediate(archive.close);
		await expect(waiting).rejects.toMatchObject({ code: "archive_unavailable" });
		redis.freeze(false);
		await redis.kill();
	});

	it("refuses when Redis is full, without quoting the text", async () => {
		const redis = await startRedis(["--maxmemory", "3mb"]);
		const archive = await open(redis.url);
		const refusal = await archive.put(put("confidential ".repeat(400_000))).catch((error: Error) => error);
		expect(refusal).toMatchObject({ code: "archive_unavailable", message: expect.stringContaining("no memory left") });
		expect((refusal as Error).message).not.toContain("confidential");
		await archive.close();
		await redis.kill();
	});
});

describe("an archive without a reachable Redis", () => {
	it("refuses, and names the address without its password", async () => {
		const archive = await open("redis://user:hunter2@127.0.0.1:1/3");
		expect(archive.location).toBe("redis://127.0.0.1:1/3");
		const refusal = await archive.put(put("x")).catch((error: Error) => error);
		expect(refusal).toMatchObject({ code: "archive_unavailable", message: expect.stringContaining("127.0.0.1:1/3") });
		expect((refusal as Error).message).not.toContain("hunter2");
		await expect(archive.get(archive.refOf("x"))).rejects.toMatchObject({ code: "archive_unavailable" });
		await archive.close();
	});

	it("refuses many calls at once without extra output", async () => {
		const warnings: Error[] = [];
		const noteWarning = (warning: Error) => warnings.push(warning);
		process.on("warning", noteWarning);
		const archive = await open("redis://127.0.0.1:1");
		const calls = Array.from({ length: 40 }, (_, index) => archive.find(`call ${index}`));
		const settled = await Promise.allSettled(calls);
		expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(40);
		await archive.close();
		await new Promise((resolve) => setImmediate(resolve));
		process.off("warning", noteWarning);
		expect(warnings).toEqual([]);
	});

	it("refuses when another program answers", async () => {
		const server = createServer((socket) => socket.resume().end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(
			0,
			"127.0.0.1",
		);
		await new Promise((resolve) => server.once("listening", resolve));
		const { port } = server.address() as { port: number };
		const archive = await open(`redis://127.0.0.1:${port}`);
		await expect(archive.put(put("x"))).rejects.toMatchObject({ code: "archive_unavailable" });
		await archive.close();
		await new Promise((resolve) => server.close(resolve));
	});

	it("refuses an invalid address, and a client that is not installed", async () => {
		await expect(openArchive({ where: "redis:nowhere" })).rejects.toMatchObject({ code: "invalid_argument" });
		const load = () => Promise.reject(new Error("Cannot find package"));
		const retention = { maxAgeMs: 1e9, maxBytes: 1e9 };
		const options = { url: "redis://h", namespace: "x", retention, now: Date.now, load };
		await expect(createRedisDriver(options)).rejects.toMatchObject({
			code: "archive_unavailable",
			message: expect.stringContaining("npm install @redis/client"),
		});
	});
});

import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { decodeInTurn } from "../../src/proxy/body.ts";
import { startPlayed } from "./played.ts";
import { requestOf, turnsOf } from "./sessions.ts";
import { send } from "./upstream.ts";

const bomb = Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: "x".repeat(34_000_000) }] }));

describe("an encoded body", () => {
	it("that becomes too large passes as it came, however many come at once, and no fault is told", async () => {
		const session = await startPlayed();
		const proxy = await session.start();
		const { headers, ...request } = requestOf("anthropic", turnsOf(1, 40_000));
		const sendEncoded = (body: Buffer) =>
			send(proxy.url, { ...request, headers: { ...headers, "Content-Encoding": "gzip" }, body });
		const body = gzipSync(bomb);
		const answers = await Promise.all(Array.from({ length: 5 }, () => sendEncoded(body)));
		expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
		expect(session.upstream.received.every((one) => one.body.equals(body))).toBe(true);
		expect(session.faults()).toEqual([]);
		await sendEncoded(gzipSync(String(request.body)));
		const edited = session.lastBody();
		expect([edited.length > 1_000, edited.length < 30_000]).toEqual([true, true]);
	});

	it.each([
		["gzip", gzipSync(bomb)],
		["deflate", deflateSync(bomb)],
		["deflate", deflateRawSync(bomb)],
		["br", brotliCompressSync(bomb, { params: { 0: 1 } })],
		["gzip, gzip", gzipSync(gzipSync(bomb))],
	])("in %s is decoded up to the limit alone, and the next ones have their turn", async (encoding, bytes) => {
		const all = await Promise.all([1, 2, 3].map(() => decodeInTurn(bytes, encoding, 1_000_000)));
		expect(all).toEqual(["too_large", "too_large", "too_large"]);
		const whole = await decodeInTurn(bytes, encoding, 40_000_000);
		expect(Buffer.isBuffer(whole) && whole.equals(bomb)).toBe(true);
		expect(await decodeInTurn(Buffer.from("no such bytes"), encoding, 1_000)).toBe("unknown");
	});
});

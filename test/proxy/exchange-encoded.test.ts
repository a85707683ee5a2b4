import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { cacheTerms } from "../../src/proxy/billing/terms.ts";
import { decodeInTurn } from "../../src/proxy/body.ts";
import { readRequest } from "../../src/proxy/host-request.ts";
import { policyOf } from "../support/policy-of.ts";
import { early, play, sendSettled, startPlayed, statusOf } from "./played.ts";
import { maskedIn, requestOf, turnsOf } from "./sessions.ts";
import { send } from "./upstream.ts";

type Request = ReturnType<typeof requestOf>;

const gzipOf = ({ headers, body, ...request }: Request) => {
	return {
		...request,
		headers: { ...headers, "Content-Encoding": "gzip" },
		body: gzipSync(String(body), { level: 1 }),
	};
};
const bomb = Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: "x".repeat(34_000_000) }] }));
const quickly = { level: 1 };

describe("an encoded body", () => {
	it("that becomes too large passes as it came, however many come at once, and no fault is told", async () => {
		const session = await startPlayed();
		const proxy = await session.start();
		const { headers, ...request } = requestOf("anthropic", turnsOf(1, 40_000));
		const sendEncoded = (body: Buffer) =>
			send(proxy.url, { ...request, headers: { ...headers, "Content-Encoding": "gzip" }, body });
		const body = gzipSync(bomb, quickly);
		const answers = await Promise.all(Array.from({ length: 5 }, () => sendEncoded(body)));
		expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
		expect(session.upstream.received.every((one) => one.body.equals(body))).toBe(true);
		expect(session.faults()).toEqual([]);
		expect((await statusOf(proxy)).undecided).toEqual({ large: 5 });
		await sendEncoded(gzipSync(String(request.body)));
		const edited = session.lastBody();
		expect([edited.length > 1_000, edited.length < 30_000]).toEqual([true, true]);
	});

	it("waits for the memory that others hold, and is sent with its states", async () => {
		let endFirst = () => {};
		const session = await startPlayed({ policy: early }, (_, response) => {
			if (session.upstream.received.length === 7) endFirst = () => response.end("{}");
			else response.end("{}");
		});
		const turns = turnsOf(6);
		const encoded = gzipOf(requestOf("anthropic", turns));
		const one = 3 * String(requestOf("anthropic", turns).body).length + 20_000;
		const proxy = await session.start({ engine: { worked: () => 0, bodies: { bytesOfAll: one } } });
		await play(proxy, turns);
		const [first, second] = [send(proxy.url, encoded), send(proxy.url, encoded)];
		await expect.poll(() => session.upstream.received.length).toBe(7);
		endFirst();
		await Promise.all([first, second]);
		const [before = [], ...both] = session.bodies().slice(5).map(maskedIn);
		expect(before.length).toBeGreaterThan(0);
		expect(both.map((masked) => masked.slice(0, before.length))).toEqual([before, before]);
		expect((await statusOf(proxy)).undecided).toEqual({});
	});

	it("without memory passes as it came, the status says why, and the next request has its states", async () => {
		const session = await startPlayed({ policy: early });
		const turns = turnsOf(6);
		const request = requestOf("anthropic", turns);
		const bodies = { bytesOfAll: 2 * String(request.body).length, longestWaitMs: 1 };
		const proxy = await session.start({ engine: { worked: () => 0, bodies } });
		await play(proxy, turns);
		const masked = maskedIn(session.lastBody());
		await sendSettled(proxy, gzipOf(request));
		expect(session.upstream.received.at(-1)?.body.equals(gzipOf(request).body)).toBe(true);
		expect((await statusOf(proxy)).undecided).toEqual({ no_room: 1 });
		await sendSettled(proxy, request);
		expect(masked.length).toBeGreaterThan(0);
		expect(maskedIn(session.lastBody()).slice(0, masked.length)).toEqual(masked);
	});

	it("of 34 MB is read where its bytes can be those of a conversation", async () => {
		const bytes = gzipSync(bomb, { level: 0 });
		const policy = policyOf({ preset: "balanced" });
		const read = await readRequest(bytes, {
			encoding: "gzip",
			hold: { take: () => true, takeInTurn: async () => true },
			route: { kind: "edited", api: "anthropic", upstream: "anthropic" },
			policy,
			recall: undefined,
			termsOf: (given) => cacheTerms(given, "anthropic", policy.prices),
			isEnforced: false,
		});
		expect(read.kind).toBe("conversation");
	});

	it.each([
		["gzip", gzipSync(bomb, quickly)],
		["deflate", deflateSync(bomb, quickly)],
		["deflate", deflateRawSync(bomb, quickly)],
		["br", brotliCompressSync(bomb, { params: { 0: 1 } })],
		["gzip, gzip", gzipSync(gzipSync(bomb, quickly))],
	])("in %s is decoded up to the limit alone, and the next ones have their turn", async (encoding, bytes) => {
		const all = await Promise.all([1, 2, 3].map(() => decodeInTurn(bytes, encoding, 1_000_000)));
		expect(all).toEqual(["too_large", "too_large", "too_large"]);
		const whole = await decodeInTurn(bytes, encoding, 40_000_000);
		expect(Buffer.isBuffer(whole) && whole.equals(bomb)).toBe(true);
		expect(await decodeInTurn(Buffer.from("no such bytes"), encoding, 1_000)).toBe("unknown");
	});
});

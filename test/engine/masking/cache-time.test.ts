import { describe, expect, it } from "vitest";
import type { CallUsage, Message } from "../../../src/engine/conversation/transcript.ts";
import { cacheSecondsOf, coldMoments, pricesFor } from "../../../src/engine/masking/cache-time.ts";
import { policyOf } from "../../support/policy-of.ts";
import { messageOf, transcriptOf } from "../../support/transcripts.ts";

const { prices } = policyOf();
const minute = 60_000;
const kept = (cacheSeconds: number): CallUsage => ({ inputTokens: 9, cachedTokens: 0, cacheSeconds });
const user = (minutes?: number) => messageOf({ role: "user", ...timeAt(minutes) });
const answer = (minutes?: number, more: Partial<Message> = {}) => messageOf({ ...timeAt(minutes), ...more });
const timeAt = (minutes: number | undefined) => (minutes === undefined ? {} : { time: 1e12 + minutes * minute });

function coldAt(messages: readonly Message[], idleSeconds?: number): number[] {
	const transcript = transcriptOf(...messages);
	const calls = messages.flatMap(({ role }, index) => (role === "assistant" ? [index] : []));
	const cold = coldMoments(transcript, calls, { seconds: 300, idleSeconds });
	return Array.from(cold.keys()).filter((index) => cold[index] === 1);
}

describe("the cache", () => {
	it("is lost when the next message comes more than five minutes after the last call", () => {
		expect(coldAt([user(0), answer(1), user(5), answer(5)])).toEqual([]);
		expect(coldAt([user(0), answer(1), user(6), answer(6), user(7)])).toEqual([3]);
	});

	it("lasts as long as the usage of the last call says", () => {
		expect(coldAt([user(0), answer(1, { usage: kept(3_600) }), user(50), answer(50), user(109)])).toEqual([]);
		expect(coldAt([user(0), answer(1, { usage: kept(3_600) }), user(61)])).toEqual([3]);
	});

	it("is lost while a tool runs", () => {
		const turn = answer(0, { endTime: 1e12 + 9 * minute });
		expect(coldAt([user(0), turn])).toEqual([2]);
	});

	it("is not lost before the first call, at any times", () => {
		expect(coldAt([user(0), user(60)])).toEqual([]);
		expect(coldAt([user(0), user(60), answer(60), user()])).toEqual([]);
		expect(coldAt([user(), answer(), user(60)])).toEqual([]);
	});

	it("lasts where no times are known, and before the first call", () => {
		expect(coldAt([user(), answer(), user(), answer()])).toEqual([]);
		expect(coldAt([user(0), user(60), answer(60)])).toEqual([]);
	});

	it("is lost at the end if the caller says so, at any times", () => {
		expect(coldAt([user(), answer()], 301)).toEqual([2]);
		expect(coldAt([user(), answer()], 300)).toEqual([]);
		expect(coldAt([user(0), answer(1), user(60)], 0)).toEqual([]);
		expect(coldAt([user()], 9_999)).toEqual([]);
		expect(coldAt([user(), answer(0, { usage: kept(3_600) })], 3_000)).toEqual([]);
	});

	it("has the lifetime that the first call recorded, else the policy's", () => {
		expect(cacheSecondsOf([user(), answer(0, { usage: kept(3_600) })], prices)).toBe(3_600);
		expect(cacheSecondsOf([user(), answer(0), answer(0, { usage: kept(3_600) })], prices)).toBe(300);
		expect(cacheSecondsOf([], { ...prices, cache_seconds: 60 })).toBe(60);
	});

	it("costs more to write for an hour only where writing has a surcharge", () => {
		expect(pricesFor(prices, 300)).toBe(prices);
		expect(pricesFor(prices, 3_600).cache_write).toBe(2);
		expect(pricesFor(pricesFor(prices, 3_600), 3_600).cache_write).toBe(2);
		expect(pricesFor({ ...prices, cache_write: 1 }, 3_600).cache_write).toBe(1);
		expect(pricesFor({ ...prices, cache_write_hour: 1.5 }, 3_600).cache_write).toBe(1.5);
	});
});

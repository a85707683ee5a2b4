import { describe, expect, it } from "vitest";
import { createCachingRecord, neverReads, nothingObserved } from "../../../src/proxy/billing/observed-caching.ts";

const answered = (cacheRead: number, repeated: number, isExpected = true) => ({
	usage: { cacheRead },
	repeated,
	isExpected,
});

function learnt(...answers: readonly ReturnType<typeof answered>[]) {
	const record = createCachingRecord();
	for (const answer of answers) record.learn("openai", "a", answer);
	return record.of("openai", "a");
}

describe("the observed caching of an upstream", () => {
	it("is without reads after five requests that repeat over 4 000 tokens", () => {
		const miss = answered(0, 4_001);
		expect(neverReads(learnt(miss, miss, miss, miss))).toBe(false);
		expect(neverReads(learnt(miss, miss, miss, miss, miss))).toBe(true);
	});

	it.each([
		["repeats no more than 4 000 tokens", answered(0, 4_000)],
		["repeats nothing, since the cache had expired", answered(0, 0)],
		["was not to be cached", answered(0, 9_000, false)],
	])("does not depend on a request that %s", (_, request) => {
		expect(learnt(...Array.from({ length: 9 }, () => request))).toEqual(nothingObserved);
	});

	it("is with reads from the first read on, in any order of requests", () => {
		const miss = answered(0, 9_000);
		const misses = Array.from({ length: 9 }, () => miss);
		expect(neverReads(learnt(...misses, answered(1, 9_000)))).toBe(false);
		expect(neverReads(learnt(answered(1, 9_000), ...misses))).toBe(false);
	});

	it("is automatic after a read that no `cache_control` asked for", () => {
		expect(learnt(answered(8_000, 9_000)).readsUnasked).toBe(false);
		expect(learnt(answered(8_000, 9_000, false), answered(8_000, 9_000)).readsUnasked).toBe(true);
	});

	it("is known for each API and model", () => {
		const record = createCachingRecord();
		for (let count = 0; count < 5; count += 1) record.learn("openai", "a", answered(0, 9_000));
		expect(neverReads(record.of("openai", "a"))).toBe(true);
		for (const [api, model] of [
			["openai", "b"],
			["openai", undefined],
			["anthropic", "a"],
		] as const)
			expect(record.of(api, model)).toEqual(nothingObserved);
	});

	it("is remembered for a limited number of models, since names come from requests", () => {
		const record = createCachingRecord();
		record.learn("openai", "first", answered(1, 0));
		for (let count = 0; count < 600; count += 1) record.learn("openai", `model ${count}`, answered(1, 0));
		expect(record.of("openai", "first")).toEqual(nothingObserved);
		expect(record.of("openai", "model 599").reads).toBe(true);
	});
});

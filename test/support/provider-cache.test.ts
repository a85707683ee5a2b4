import { describe, expect, it } from "vitest";
import { createProviderCache, type InputUsage } from "./provider-cache.ts";

const minute = 60_000;
const mark = { type: "ephemeral" };
/** A text block of exactly so many tokens, with the frame of its JSON. */
const block = (tokens: number, letter: string, cache_control?: unknown) => {
	const frame = JSON.stringify({ type: "text", text: "" }).length + "user:".length;
	return { type: "text", text: letter.repeat(tokens * 4 - frame), ...(cache_control ? { cache_control } : {}) };
};
const request = (...content: readonly unknown[]) => ({ messages: [{ role: "user", content }] });
const totalOf = ({ uncached, cacheRead, written, writtenForAnHour }: InputUsage) =>
	uncached + cacheRead + written + writtenForAnHour;

function startCache() {
	let time = 0;
	const use = createProviderCache(() => time);
	return {
		anthropic: (body: Record<string, unknown>) => use("anthropic", "a model", body),
		chat: (body: Record<string, unknown>) => use("openai-chat", "a model", body),
		pass: (milliseconds: number) => {
			time += milliseconds;
		},
	};
}

describe("breakpoints", () => {
	it("write the text before them, and read it in the next request", () => {
		const { anthropic } = startCache();
		const first = anthropic(request(block(500, "a"), block(300, "b", mark), block(50, "c")));
		expect(first).toEqual({ uncached: 50, cacheRead: 0, written: 800, writtenForAnHour: 0 });
		const second = anthropic(request(block(500, "a"), block(300, "b"), block(50, "c"), block(20, "d", mark)));
		expect(second).toEqual({ uncached: 0, cacheRead: 800, written: 70, writtenForAnHour: 0 });
	});

	it("read nothing where a block before them has changed, and as far as an earlier one that has not", () => {
		const { anthropic } = startCache();
		anthropic(request(block(500, "a", mark), block(300, "b"), block(40, "c", mark)));
		const changed = anthropic(request(block(500, "a", mark), block(100, "x"), block(40, "c", mark)));
		expect(changed).toEqual({ uncached: 0, cacheRead: 500, written: 140, writtenForAnHour: 0 });
		expect(anthropic(request(block(500, "z", mark)))).toMatchObject({ cacheRead: 0, written: 500 });
	});

	it("find an entry 19 blocks before them, and none 20 before", () => {
		for (const [between, read] of [
			[19, 100],
			[20, 0],
		] as const) {
			const { anthropic } = startCache();
			anthropic(request(block(100, "a", mark)));
			const more = Array.from({ length: between - 1 }, () => block(10, "b"));
			expect(anthropic(request(block(100, "a"), ...more, block(10, "c", mark))).cacheRead).toBe(read);
		}
	});

	it("last five minutes from the last use, or an hour where the request says so", () => {
		const { anthropic, pass } = startCache();
		const short = request(block(100, "a", mark));
		anthropic(short);
		pass(4 * minute);
		expect(anthropic(short).cacheRead).toBe(100);
		pass(4 * minute);
		expect(anthropic(short).cacheRead).toBe(100);
		pass(5 * minute);
		expect(anthropic(short)).toMatchObject({ cacheRead: 0, written: 100 });

		const long = request(block(100, "b", { ...mark, ttl: "1h" }));
		expect(anthropic(long)).toEqual({ uncached: 0, cacheRead: 0, written: 0, writtenForAnHour: 100 });
		pass(59 * minute);
		expect(anthropic(long).cacheRead).toBe(100);
		pass(60 * minute);
		expect(anthropic(long)).toMatchObject({ cacheRead: 0, writtenForAnHour: 100 });
	});

	it("may be on the request itself; a text is one block; without any, nothing is cached", () => {
		const { anthropic } = startCache();
		const text = block(100, "a").text;
		const plain = { messages: [{ role: "user", content: text }] };
		expect(anthropic(plain)).toMatchObject({ uncached: 100, written: 0 });
		expect(anthropic({ ...plain, cache_control: mark })).toMatchObject({ uncached: 0, written: 100 });
		expect(anthropic(request(block(100, "a", mark))).cacheRead).toBe(100);
	});

	it("follow the order tools, system, messages, for any order in the JSON", () => {
		const { anthropic } = startCache();
		const [tools, system, messages] = [
			[{ name: "t" }],
			"Be brief.",
			[{ role: "user", content: [block(9, "a", mark)] }],
		];
		const { written } = anthropic({ messages, system, tools });
		expect(anthropic({ tools, system, messages }).cacheRead).toBe(written);
		expect(anthropic({ tools: [{ name: "u" }], system, messages }).cacheRead).toBe(0);
	});
});

describe("a block that does not count by its bytes", () => {
	it("counts by what is known of it", () => {
		const use = createProviderCache(
			() => 0,
			({ type }) => (type === "thinking" ? 700 : undefined),
		);
		const thought = { type: "thinking", thinking: "", signature: "s" };
		const { written } = use("anthropic", "a model", request(block(100, "a"), thought, block(100, "b", mark)));
		expect(written).toBe(900);
	});

	it("is left out where it is the bill's block at the start of system", () => {
		const { anthropic } = startCache();
		const billing = (hash: string) => ({ type: "text", text: `x-anthropic-billing-header: cch=${hash};` });
		const body = (hash: string) => ({ system: [billing(hash)], ...request(block(100, "a", mark)) });
		expect(anthropic(body("1"))).toMatchObject({ uncached: 0, written: 100 });
		expect(anthropic(body("2"))).toMatchObject({ uncached: 0, cacheRead: 100, written: 0 });
	});
});

describe("the longest prefix", () => {
	const chat = (...texts: readonly string[]) => ({ messages: texts.map((content) => ({ role: "user", content })) });

	it("is read in steps of 128 tokens, from 1 024 tokens on", () => {
		const cache = startCache();
		const small = chat("a".repeat(4 * 900));
		cache.chat(small);
		expect(cache.chat(small)).toMatchObject({ cacheRead: 0, written: 0 });

		const texts = ["b".repeat(4 * 3000), "c".repeat(4 * 3000)];
		const first = cache.chat(chat(...texts));
		expect(first).toMatchObject({ cacheRead: 0 });
		expect(totalOf(first) - first.written).toBeLessThanOrEqual(128);
		const longer = cache.chat(chat(...texts, "d".repeat(400)));
		expect(longer.cacheRead).toBe(first.written);
		expect(totalOf(longer)).toBeGreaterThan(totalOf(first));

		const changed = cache.chat(chat(texts[0] ?? "", "x".repeat(4 * 3000)));
		expect(changed.cacheRead % 128).toBe(0);
		expect(changed.cacheRead).toBeGreaterThan(3000 - 128);
		expect(changed.cacheRead).toBeLessThan(3000 + 128);
	});

	it("is gone five minutes after its last use, and of one model only", () => {
		let time = 0;
		const use = createProviderCache(() => time);
		const body = chat("b".repeat(8000));
		use("openai-chat", "one", body);
		expect(use("openai-chat", "another", body).cacheRead).toBe(0);
		time += 4 * minute;
		expect(use("openai-chat", "one", body).cacheRead).toBeGreaterThan(1900);
		time += 5 * minute;
		expect(use("openai-chat", "one", body).cacheRead).toBe(0);
	});
});

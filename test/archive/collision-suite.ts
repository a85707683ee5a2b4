import { afterAll, describe, expect, it } from "vitest";
import type { Archive } from "../../src/archive/archive.ts";
import { collidingTexts } from "../support/colliding-texts.ts";
import type { OpenForSuite } from "./archive-suite.ts";

const day = 24 * 3_600_000;
const [first, second] = collidingTexts();
const result = (text: string) => ({ text, kind: "result", toolCallId: text.slice(0, 12) }) as const;

/** What every archive must hold to when two texts have the same short ref. `shares`: a second archive sees the first's. */
export function describeCollisions(name: string, open: OpenForSuite, { shares }: { readonly shares: boolean }): void {
	const opened: Archive[] = [];
	let count = 0;
	const begin = async (options: Partial<Parameters<OpenForSuite>[0]> = {}): Promise<Archive> => {
		count += 1;
		const archive = await open({ namespace: `collisions-${process.pid}-${count}`, ...options });
		opened.push(archive);
		return archive;
	};
	afterAll(() => Promise.all(opened.map((archive) => archive.close())));

	describe(`${name}: texts with the same short ref`, () => {
		it("gives the first the short one and the second a long one, and reads both", async () => {
			const archive = await begin();
			expect(archive.refOf(first)).toBe(archive.refOf(second));
			const [short = ""] = await archive.put([result(first)]);
			const [long = ""] = await archive.put([result(second)]);
			expect([short.length, long.length]).toEqual([8, 20]);
			expect(archive.refOf(first)).toBe(short);
			expect(archive.refOf(second)).toBe(long);
			expect((await archive.get(short)).text).toBe(first);
			expect((await archive.get(long)).text).toBe(second);
			expect(await archive.put([result(second), result(first)])).toEqual([long, short]);
		});

		it("gives the short one to the first of one call", async () => {
			const archive = await begin();
			const refs = await archive.put([result(second), result("between"), result(first)]);
			expect(refs.map(({ length }) => length)).toEqual([8, 8, 20]);
			expect(await Promise.all(refs.map(async (ref) => (await archive.get(ref)).text))).toEqual([
				second,
				"between",
				first,
			]);
		});

		it("lists and finds each under its own", async () => {
			const archive = await begin();
			const [short, long] = await archive.put([result(first), result(second)]);
			const listed: [string, number][] = [];
			for await (const { ref, longRef } of archive.list()) listed.push([ref, longRef.length]);
			expect(listed.sort()).toEqual([[short, 20] as [string, number], [long, 20] as [string, number]].sort());
			expect((await archive.find(second.slice(0, 12))).map(({ ref }) => ref)).toEqual([long]);
			expect((await archive.find(first.slice(0, 12))).map(({ ref }) => ref)).toEqual([short]);
		});

		it("reads every text by its long ref too", async () => {
			const archive = await begin();
			await archive.put([result(first), result(second)]);
			for (const text of [first, second]) expect((await archive.get(archive.longRefOf(text))).text).toBe(text);
		});

		it("never gives the ref of one for the other when the first has expired", async () => {
			let time = Date.now();
			const archive = await begin({ now: () => time, retention: { maxAgeMs: 10 * day, maxBytes: 1e9 } });
			const [short = ""] = await archive.put([result(first)]);
			time += 9 * day;
			const [long = ""] = await archive.put([result(second)]);
			time += 2 * day;
			expect((await archive.sweep()).removed).toBe(1);
			await expect(archive.get(short)).rejects.toMatchObject({ code: "original_not_found" });
			expect((await archive.get(long)).text).toBe(second);
			expect(await archive.put([result(second)])).toEqual([long]);
		});

		it.skipIf(!shares)("gives each the same ref in every process, whichever text it puts first", async () => {
			const namespace = `collisions-shared-${process.pid}`;
			const [one, other, third] = [await begin({ namespace }), await begin({ namespace }), await begin({ namespace })];
			const refs = await one.put([result(first), result(second)]);
			expect(await other.put([result(second), result(first)])).toEqual(refs.toReversed());
			expect(other.refOf(second)).toBe(refs[1]);
			expect(await third.put([result(second)])).toEqual([refs[1]]);
		});

		it.skipIf(!shares)("gives the short one to at most one of two writers at once", async () => {
			let short = 0;
			for (let round = 0; round < 20; round += 1) {
				const namespace = `collisions-race-${process.pid}-${round}`;
				const [one, other] = [await begin({ namespace }), await begin({ namespace })];
				const refs = (await Promise.all([one.put([result(first)]), other.put([result(second)])])).flat();
				expect(new Set(refs).size).toBe(2);
				expect((await one.get(refs[1] as string)).text).toBe(second);
				expect((await other.get(refs[0] as string)).text).toBe(first);
				short += refs.filter(({ length }) => length === 8).length;
				await one.clear();
			}
			expect(short).toBeLessThanOrEqual(20);
		});
	});
}

import fc from "fast-check";
import { expect, it } from "vitest";
import { createFairQueue, type Entry } from "../../../src/mcp/pool/pool.ts";

const roomy = { jobs: 1_000, bytes: 1_000_000 };

const entry = (owner: string, job: number, bytes = 1): Entry<number> => ({ owner, job, bytes });

const waits = { isAdmitted: false };

function drain(queue: ReturnType<typeof createFairQueue<number>>): Entry<number>[] {
	const all: Entry<number>[] = [];
	for (let next = queue.next(); next; next = queue.next()) all.push(next);
	return all;
}

it("lets owners take turns, regardless of order and number", () => {
	const queue = createFairQueue<number>(roomy);
	for (const job of [1, 2, 3, 4]) queue.add(entry("greedy", job), waits);
	queue.add(entry("other", 5), waits);
	queue.add(entry("third", 6), waits);
	queue.add(entry("other", 7), waits);
	expect(drain(queue).map(({ job }) => job)).toEqual([1, 5, 6, 2, 7, 3, 4]);
	expect(queue.size()).toBe(0);
});

it("limits jobs and bytes, but accepts one of any size when none waits, and every admitted one", () => {
	const queue = createFairQueue<number>({ jobs: 3, bytes: 100 });
	expect(queue.add(entry("a", 1, 500), waits)).toBe(true);
	expect(queue.add(entry("a", 2, 1), waits)).toBe(false);
	expect(queue.next()?.job).toBe(1);
	expect([60, 40, 1].map((bytes, job) => queue.add(entry("a", job, bytes), waits))).toEqual([true, true, false]);
	expect(queue.add(entry("b", 9, 1_000), { isAdmitted: true })).toBe(true);
	expect(queue.size()).toBe(3);
	queue.remove(entry("a", 1, 60));
	expect(queue.size()).toBe(3);
});

it("keeps each owner's order, runs every job once, and makes no owner wait for more than one job of each other owner", () => {
	let removed = 0;
	let contended = 0;
	fc.assert(
		fc.property(
			fc.array(fc.record({ owner: fc.constantFrom("a", "b", "c", "d"), leaves: fc.nat({ max: 2 }) }), {
				minLength: 30,
				maxLength: 40,
			}),
			(given) => {
				const queue = createFairQueue<number>(roomy);
				const entries = given.map(({ owner }, job) => entry(owner, job));
				for (const one of entries) queue.add(one, waits);
				const left = new Set(entries.filter((_, index) => given[index]?.leaves === 0));
				for (const one of left) queue.remove(one);
				removed += left.size;
				const stays = entries.filter((one) => !left.has(one));
				expect(queue.size()).toBe(stays.length);
				const order = drain(queue);
				for (const owner of ["a", "b", "c", "d"]) {
					const own = (all: Entry<number>[]) => all.filter((one) => one.owner === owner);
					expect(own(order)).toEqual(own(stays));
				}
				for (const [index, one] of order.entries()) {
					const next = order.findIndex((other, at) => at > index && other.owner === one.owner);
					if (next < 0) continue;
					const between = order.slice(index + 1, next).map(({ owner }) => owner);
					expect(new Set(between).size).toBe(between.length);
					if (between.length > 0) contended += 1;
				}
			},
		),
	);
	expect(removed).toBeGreaterThan(150);
	expect(contended).toBeGreaterThan(200);
});

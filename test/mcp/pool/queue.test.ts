import { expect, it } from "vitest";
import { createFairQueue, createPace } from "../../../src/mcp/pool/queue.ts";

const entry = (caller: string, owner = "") => ({ owner, caller, bytes: 1, job: caller });

interface Played {
	readonly callers: number;
	readonly bytes: number;
	readonly milliseconds: number;
	/** Of a job, in ms, at a time. */
	readonly length: (at: number) => number;
}

/** Callers who come again when they are told at the pace of late; returns how many jobs of each were done. */
function play({ callers, bytes, milliseconds, length }: Played) {
	let [time, busyUntil] = [0, 0];
	const queue = createFairQueue<string>({ jobs: 64, bytes }, () => time);
	const pace = createPace(() => time);
	const names = Array.from({ length: callers }, (_, index) => `caller ${index}`);
	const done = new Map(names.map((name) => [name, 0]));
	const waits: number[] = [];
	let coming = names.map((name) => ({ name, at: 0 }));
	for (; time < milliseconds; time += 1) {
		const now = coming.filter(({ at }) => at <= time);
		coming = coming.filter(({ at }) => at > time);
		for (const { name } of now) {
			const ahead = queue.add(entry(name), { isAdmitted: false });
			if (ahead === 0) continue;
			const wait = pace.waitFor(ahead + 32);
			queue.keepPlace(entry(name), wait);
			waits.push(wait);
			coming.push({ name, at: time + wait });
		}
		if (time < busyUntil) continue;
		const next = queue.next();
		pace.ended(next !== undefined);
		if (!next) continue;
		busyUntil = time + length(time);
		done.set(next.job, (done.get(next.job) ?? 0) + 1);
		coming.push({ name: next.job, at: time + 1 });
	}
	return { counts: [...done.values()].sort((a, b) => a - b), waits };
}

it("answers each of many more callers than it has places, none much more often than the others", () => {
	const { counts, waits } = play({ callers: 400, bytes: 64, milliseconds: 16_000, length: () => 10 });
	expect(counts[0]).toBeGreaterThan(0);
	expect(counts.at(-1)).toBeLessThanOrEqual(3 * (counts[200] as number));
	expect(new Set(waits).size).toBeGreaterThan(100);
});

it("answers each caller as often as any other while the pace changes, since one job of each waits past the limit", () => {
	const length = (at: number) => (at % 10_000 < 5_000 ? 5 : 40);
	const { counts, waits } = play({ callers: 400, bytes: 1_000, milliseconds: 40_000, length });
	expect((counts.at(-1) as number) - (counts[0] as number)).toBeLessThanOrEqual(1);
	expect(waits).toEqual([]);
});

it("gives the callers of an owner turns, however many jobs of one wait", () => {
	const queue = createFairQueue<string>({ jobs: 64, bytes: 1_000 }, () => 0);
	for (const caller of ["a", "a", "a", "b", "c"]) queue.add(entry(caller), { isAdmitted: false });
	queue.add(entry("z", "other"), { isAdmitted: false });
	const order = Array.from({ length: 7 }, () => queue.next()?.job);
	expect(order).toEqual(["a", "z", "b", "c", "a", "a", undefined]);
	expect(queue.size()).toBe(0);
});

it("lets no small job in before refused ones whose bytes have no room yet", () => {
	const queue = createFairQueue<string>({ jobs: 64, bytes: 10 }, () => 0);
	const add = (caller: string, bytes: number) => {
		const ahead = queue.add({ ...entry(caller), bytes }, { isAdmitted: false });
		if (ahead > 0) queue.keepPlace({ ...entry(caller), bytes }, 100);
		return ahead;
	};
	expect([add("a", 6), add("b", 6), add("c", 1), add("b", 6)]).toEqual([0, 1, 1, 1]);
	queue.next();
	expect([add("c", 1), add("b", 6)]).toEqual([0, 0]);
});

it("keeps the place of a refused caller, until it stays away", () => {
	let time = 0;
	const queue = createFairQueue<string>({ jobs: 1, bytes: 1 }, () => time);
	const ask = (caller: string, owner = "") => {
		const ahead = queue.add(entry(caller, owner), { isAdmitted: false });
		if (ahead > 0) queue.keepPlace(entry(caller, owner), 100);
		return ahead;
	};
	expect([ask("a"), ask("b"), ask("c")]).toEqual([0, 1, 2]);
	expect(queue.next()?.job).toBe("a");
	expect([ask("a"), ask("c"), ask("b")]).toEqual([2, 1, 0]);
	expect(queue.next()?.job).toBe("b");
	time += 3_000;
	expect(ask("d")).toBe(0);
});

it("lets the first refused caller of each owner in before the second of any", () => {
	const queue = createFairQueue<string>({ jobs: 1, bytes: 1 }, () => 0);
	const ask = (caller: string, owner: string) => {
		const ahead = queue.add(entry(caller, owner), { isAdmitted: false });
		if (ahead > 0) queue.keepPlace(entry(caller, owner), 100);
		return ahead;
	};
	ask("running", "one");
	for (const caller of ["a", "b", "c"]) ask(caller, "one");
	expect(ask("z", "other")).toBe(2);
});

it("tells refused callers to come one after the other, at the pace of late", () => {
	let time = 0;
	const pace = createPace(() => time);
	const end = (times: number, apart: number) => {
		for (let index = 0; index < times; index += 1) {
			time += apart;
			pace.ended(true);
		}
	};
	expect([12, 13, 336].map(pace.waitFor)).toEqual([120, 130, 3_360]);
	end(60, 10);
	expect(pace.waitFor(300)).toBeLessThan(3_100);
	// One job that takes very long says little, and nor does a time without calls.
	end(1, 60_000);
	expect(pace.waitFor(300)).toBeLessThan(3_500);
	pace.ended(false);
	time += 60_000;
	pace.ended(true);
	expect(pace.waitFor(300)).toBeLessThan(3_500);
	end(60, 200);
	expect(pace.waitFor(300)).toBeGreaterThan(55_000);
});

import { expect, it } from "vitest";
import type { Branch } from "../../../src/proxy/sending/branch.ts";
import type { Plan } from "../../../src/proxy/sending/plan.ts";
import { createPlanQueue } from "../../../src/proxy/sending/plan-queue.ts";

const newBranch = (): Branch => ({ id: "", last: { kind: "mark", hash: "", messages: 0, results: 0 } });

const planOf = (maskings: number): Plan => ({ maskings, warm: [], cold: [], over: [], asked: [], limits: [] });

/** Plannings that end when the test says so, by the number of their plan. */
function createPlannings(mostChars?: number) {
	const queue = createPlanQueue({ mostChars });
	const begun = new Map<number, (plan: Plan | Error) => void>();
	const failed: unknown[] = [];
	return {
		begun: () => [...begun.keys()],
		failed,
		add(branch: Branch, number: number, chars = 1): Promise<number> {
			const run = () =>
				new Promise<Plan>((resolve, reject) => {
					begun.set(number, (plan) => (plan instanceof Error ? reject(plan) : resolve(plan)));
				});
			return queue.add(branch, { chars, run, failed: (error) => void failed.push(error) }).then(() => number);
		},
		async end(number: number, result: Plan | Error = planOf(number)) {
			begun.get(number)?.(result);
			await new Promise(setImmediate);
		},
	};
}

it("of the requests that come during a planning, the last is planned on, and the others are held no longer", async () => {
	const plannings = createPlannings();
	const branch = newBranch();
	void plannings.add(branch, 1);
	const waiting = [2, 3, 4].map((number) => plannings.add(branch, number));
	expect(await Promise.all(waiting.slice(0, 2))).toEqual([2, 3]);
	expect(plannings.begun()).toEqual([1]);
	await plannings.end(1);
	expect([plannings.begun(), branch.plan?.maskings]).toEqual([[1, 4], 1]);
	await plannings.end(4);
	expect(await waiting[2]).toBe(4);
	expect(branch.plan?.maskings).toBe(4);
});

it("a conversation whose plan has no room says so until it is planned on again", async () => {
	const plannings = createPlannings(10);
	const running = [1, 2, 3, 4].map(newBranch);
	for (const [index, branch] of running.entries()) void plannings.add(branch, index);
	const [oldest, ...others] = [newBranch(), newBranch(), newBranch()] as [Branch, Branch, Branch];
	const dropped = plannings.add(oldest, 10, 4);
	for (const [index, branch] of others.entries()) void plannings.add(branch, 11 + index, 4);
	expect(await dropped).toBe(10);
	expect([oldest.unplanned, ...others.map(({ unplanned }) => unplanned)]).toEqual(["busy", undefined, undefined]);
	// One that is larger than all room still waits.
	void plannings.add(oldest, 13, 99);
	expect(others.map(({ unplanned }) => unplanned)).toEqual(["busy", "busy"]);
	await plannings.end(0);
	expect(plannings.begun()).toEqual([0, 1, 2, 3, 13]);
	await plannings.end(13);
	expect([oldest.plan?.maskings, oldest.unplanned]).toEqual([13, undefined]);
});

it("a planning that fails leaves room for the next, and the plan before it", async () => {
	const plannings = createPlannings();
	const branch = newBranch();
	void plannings.add(branch, 1);
	await plannings.end(1);
	const error = new Error("It fails.");
	const failing = plannings.add(branch, 2);
	await plannings.end(2, error);
	expect(await failing).toBe(2);
	expect([branch.unplanned, branch.plan?.maskings, plannings.failed]).toEqual(["failed", 1, [error]]);
	void plannings.add(branch, 3);
	await plannings.end(3);
	expect([branch.unplanned, branch.plan?.maskings]).toEqual([undefined, 3]);
});

import { describe, expect, it } from "vitest";
import { reportTrial } from "../../../src/engine/trials/report.ts";
import type { TrialRun } from "../../../src/engine/trials/run.ts";

const usual = {
	setup: "s",
	at: 0,
	seconds: 10,
	requests: 4,
	tokens: 1_000,
	output_tokens: 50,
	tokens_left_out: 0,
	usd: 0.5,
	unpriced_requests: 0,
	estimated_requests: 0,
};

const run = (task: string, arm: string, trial: number, rest: Partial<TrialRun>): TrialRun => {
	return { ...usual, task, arm, trial, outcome: "solved", ...rest };
};

const named = { program: "claude", tasks: ["a", "b"], arms: ["raw", "edited"], trials: 2, notRun: [] };

describe("reportTrial", () => {
	it("compares the runs of the same task and trial, each task as much as the others", () => {
		const runs = [
			run("a", "raw", 1, { usd: 1 }),
			run("a", "edited", 1, { usd: 0.4, outcome: "unsolved" }),
			run("a", "raw", 2, { usd: 1 }),
			run("a", "edited", 2, { usd: 0.6 }),
			run("b", "raw", 1, { usd: 2 }),
			run("b", "edited", 1, { usd: 1 }),
			// Its partner is missing: it counts for its arm, and for no difference.
			run("b", "raw", 2, { usd: 100, outcome: "unsolved" }),
		];
		const report = reportTrial({ ...named, runs });
		expect(report.arms.map(({ arm, solved, runs, mean }) => [arm, solved, runs, mean.usd])).toEqual([
			["raw", 3, 4, 26],
			["edited", 2, 3, 2 / 3],
		]);
		const [compared] = report.compared;
		expect(compared).toMatchObject({ arm: "edited", with: "raw", pairs: 3, tasks: 2, usd_ratio: 0.5 });
		expect(compared?.solved?.mean).toBeCloseTo(-1 / 3, 12);
		// The tasks' means are −0.5 and −1.
		expect(compared?.usd?.mean).toBeCloseTo(-0.75, 12);
		expect(compared?.usd?.interval?.high).toBeCloseTo(-0.75 + (12.7062 * Math.sqrt(0.125)) / Math.sqrt(2), 3);
		expect(report.tasks.map(({ compared: [one] }) => [one?.pairs, one?.solved, one?.usd])).toEqual([
			[2, -0.5, -0.5],
			[1, 0, -1],
		]);
		expect(report.spent_usd).toBeCloseTo(106, 12);
	});

	it("leaves failed runs out of shares and means, and counts their dollars", () => {
		const runs = [
			run("a", "raw", 1, {}),
			run("a", "edited", 1, { outcome: "program_failed", reason: "ended with exit code 1", usd: 3 }),
			run("b", "edited", 1, { outcome: "interrupted", usd: 2 }),
			run("b", "edited", 1, { outcome: "unsolved", usd: 1 }),
		];
		const { arms, compared, failed, spent_usd } = reportTrial({ ...named, runs });
		expect(arms[1]).toMatchObject({ runs: 1, solved: 0, failed: { program_failed: 1 }, mean: { usd: 1 } });
		expect(compared[0]).toMatchObject({ pairs: 0, solved: null, usd: null });
		expect(failed).toEqual([
			{ task: "a", arm: "edited", trial: 1, outcome: "program_failed", reason: "ended with exit code 1" },
		]);
		expect(spent_usd).toBe(6.5);
	});

	it("tells no dollars where the price of a model is unknown", () => {
		const runs = [run("a", "raw", 1, {}), run("a", "edited", 1, { usd: 0, unpriced_requests: 4 })];
		const { arms, compared, tasks } = reportTrial({ ...named, runs });
		expect(arms.map(({ mean }) => mean.usd)).toEqual([0.5, null]);
		expect([compared[0]?.usd, compared[0]?.usd_ratio, tasks[0]?.compared[0]?.usd]).toEqual([null, null, null]);
		expect(compared[0]?.tokens?.mean).toBe(0);
	});
});

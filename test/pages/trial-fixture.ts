import { reportTrial } from "../../src/engine/trials/report.ts";
import type { Outcome, TrialRun } from "../../src/engine/trials/run.ts";

export const hostileTask = '</script><script>alert(1)</script> "a"';

/** Three tasks in three arms, one of which solves less; one run crashed, and three were not made. */
export function trialFixture() {
	const [tasks, arms, trials] = [["incident", "stock", hostileTask], ["raw", "palimpsest", "blind"], 3];
	const runs: TrialRun[] = [];
	for (const [place, task] of tasks.entries()) {
		for (const [index, arm] of arms.entries()) {
			for (let trial = 1; trial <= trials; trial += 1) {
				if (place === 2 && trial === 3) continue;
				const outcome: Outcome = arm === "blind" && trial > 1 ? "unsolved" : "solved";
				const crashed = task === "stock" && arm === "palimpsest" && trial === 2;
				runs.push({
					task,
					arm,
					trial,
					setup: "s",
					at: 0,
					...(crashed ? { outcome: "program_failed", reason: "ended with exit code 1" } : { outcome }),
					seconds: 61.4 + 7 * trial - index,
					requests: 24 + trial + 2 * index,
					tokens: 812_000 + 9_000 * trial - 210_000 * index,
					output_tokens: 4_200 + 80 * trial,
					tokens_left_out: 0,
					usd: 0.62 + 0.03 * trial - 0.12 * index + 0.1 * place,
					unpriced_requests: 0,
					estimated_requests: 0,
				});
			}
		}
	}
	const reason = "the budget of 20 US dollars is spent";
	const notRun = arms.map((arm) => ({ task: hostileTask, run: { arm, trial: 3 }, reason }));
	return reportTrial({ program: "claude", tasks, arms, trials, runs, notRun });
}

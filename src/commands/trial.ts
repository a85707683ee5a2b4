import { constants } from "node:os";
import { type NotRun, reportTrial } from "../engine/trials/report.ts";
import { isMeasured, isOpen, type PlannedRun, runOrder, type TrialRun } from "../engine/trials/run.ts";
import { PalimpsestError } from "../errors.ts";
import { type CommonOptions, commandConfig, printJson, say, show } from "./input-output.ts";
import { untilSignal } from "./processes.ts";
import { writePage } from "./report.ts";
import { openResults, usualResults } from "./trial-results.ts";
import { type Measured, runTask, type TrialArm, type TrialProgram } from "./trial-run.ts";
import { armsOf, type ProgramOptions, programOf, refuseOtherSetup, setupHash, warnOfHooks } from "./trial-setup.ts";
import { trialText } from "./trial-table.ts";
import { findTasks, problemAtStart, type ScriptLimits, type TrialTask } from "./trial-tasks.ts";

interface TrialOptions extends CommonOptions, ProgramOptions {
	readonly arms: string;
	readonly trials: number;
	/** In US dollars. */
	readonly budget?: number;
	/** In seconds. */
	readonly timeout: number;
	readonly results?: string;
	readonly retryFailed?: boolean;
	readonly keep?: string;
	readonly html?: string;
	readonly json?: boolean;
}

/** `palimpsest trial TASKS --program PROGRAM -- ARGS` */
export async function trial(folder: string, parameters: readonly string[], options: TrialOptions): Promise<void> {
	if (process.platform === "win32") {
		const message = "Expected a system that runs executable files, such as check. Windows does not: use WSL.";
		throw new PalimpsestError("invalid_argument", message);
	}
	const { trials, results: file = usualResults(folder, options.program), retryFailed = false, html, json } = options;
	const program = programOf(options, parameters);
	const arms = await armsOf(options.arms, (await commandConfig(options)).layers);
	const { tasks, notRun: unusable } = await findTasks(folder);
	const results = await openResults(file);
	const names = { tasks: tasks.map(({ name }) => name), arms: arms.map(({ name }) => name), trials };
	const planned = runOrder(names).map(({ task: taskName, arm: armName, trial }): Planned => {
		const task = tasks.find(({ name }) => name === taskName) as TrialTask;
		const arm = arms.find(({ name }) => name === armName) as TrialArm;
		return { task, arm, trial, setup: setupHash({ arm, task, options, parameters }) };
	});
	const done = new Map(results.runs.map((run) => [keyOf(run), run]));
	const left = planned.filter(({ task, arm, trial, setup }) => {
		const before = done.get(keyOf({ task: task.name, arm: arm.name, trial }));
		if (before && before.setup !== setup) refuseOtherSetup(file, before);
		return before === undefined || isOpen(before) || (retryFailed && !isMeasured(before));
	});
	say(`${planned.length - left.length} of ${planned.length} runs are in ${file}`);
	if (left.length > 0) await warnOfHooks(program);
	const stop = new AbortController();
	void untilSignal().then((signal) => {
		process.exitCode = 128 + constants.signals[signal];
		stop.abort();
	});
	const limits = { seconds: options.timeout, signal: stop.signal };
	const notRun = [...unusable, ...(await runAll(left, { options, program, results, limits }))];
	const report = reportTrial({ program: options.program, ...names, runs: results.runs, notRun });
	if (html !== undefined) {
		const { trialPage } = await import("../pages/trial-page.ts");
		await writePage(html, await trialPage(report));
	}
	if (json) printJson({ results: file, ...report }, 2);
	else show(trialText(report));
}

interface Planned {
	readonly task: TrialTask;
	readonly arm: TrialArm;
	readonly trial: number;
	readonly setup: string;
}

const keyOf = ({ task, arm, trial }: PlannedRun) => JSON.stringify([task, arm, trial]);

const interrupted = "the trial was interrupted";

/** Makes the runs in turn, and returns those that it does not make. */
async function runAll(
	planned: readonly Planned[],
	given: {
		readonly options: TrialOptions;
		readonly program: TrialProgram;
		readonly results: Awaited<ReturnType<typeof openResults>>;
		readonly limits: ScriptLimits;
	},
): Promise<NotRun[]> {
	const { options, program, results, limits } = given;
	const notRun: NotRun[] = [];
	/** By task, why it cannot be run. */
	const problems = new Map<TrialTask, string | undefined>();
	/** Why no further run is made. */
	let ending: string | undefined;
	for (const [index, { task, arm, trial, setup }] of planned.entries()) {
		const run = { task: task.name, arm: arm.name, trial };
		const skip = (reason: string) => notRun.push({ task: task.name, run, reason });
		ending ??= budgetReason(results.runs, options.budget);
		if (ending === undefined && !problems.has(task)) {
			const problem = await problemAtStart(task, limits);
			problems.set(task, problem);
			if (problem !== undefined && !limits.signal.aborted) notRun.push({ task: task.name, reason: problem });
		}
		if (limits.signal.aborted) ending ??= interrupted;
		if (ending !== undefined) skip(ending);
		if (ending !== undefined || problems.get(task) !== undefined) continue;
		const ran = await runTask({ program, arm, task, keep: options.keep, ...limits });
		switch (ran.kind) {
			case "ran":
				results.add({ ...run, setup, ...ran.measured });
				if (isOpen(ran.measured)) skip(interrupted);
				say(`${index + 1} of ${planned.length}: ${runText({ ...run, ...ran.measured })}`);
				break;
			case "no_tree":
				skip(ran.reason);
				break;
			case "no_program":
				process.exitCode ??= 1;
				ending = ran.reason;
				skip(ending);
		}
	}
	return notRun;
}

function runText({ task, arm, trial, ...measured }: PlannedRun & Measured): string {
	const { outcome, seconds, requests, usd, unpriced_requests: unpriced } = measured;
	const dollars = unpriced > 0 ? "no dollars known" : `${usd.toFixed(4)} US dollars`;
	const ended = outcome.replaceAll("_", " ");
	return `${task}, ${arm}, trial ${trial}: ${ended}, ${seconds.toFixed(1)} seconds, ${requests} ${requests === 1 ? "request" : "requests"}, ${dollars}`;
}

/** A run may pass the budget, and none is started behind it. */
function budgetReason(runs: readonly TrialRun[], budget: number | undefined): string | undefined {
	if (budget === undefined) return undefined;
	if (runs.some((run) => run.unpriced_requests > 0)) {
		return "the price of a model is unknown, so the budget cannot be kept; leave out --budget";
	}
	const spent = runs.reduce((sum, run) => sum + run.usd, 0);
	return spent < budget ? undefined : `the budget of ${budget} US dollars is spent`;
}

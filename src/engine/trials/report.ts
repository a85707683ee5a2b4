import { type Interval, mean, meanInterval, pairedShares, wilson } from "./intervals.ts";
import { isMeasured, isOpen, type Outcome, type PlannedRun, type TrialRun } from "./run.ts";

/** What the runs of a trial show, as `palimpsest trial --json` prints it. */
export type TrialReport = ReturnType<typeof reportTrial>;
export type ArmFigures = TrialReport["arms"][number];
export type Comparison = TrialReport["compared"][number];
export type TaskFigures = TrialReport["tasks"][number];

/** A run or a task that was not run, and why. */
export interface NotRun {
	readonly task: string;
	/** Absent: none of the task. */
	readonly run?: Pick<PlannedRun, "arm" | "trial"> | undefined;
	readonly reason: string;
}

const measures = ["usd", "requests", "tokens", "output_tokens", "seconds"] as const;
type Measure = (typeof measures)[number];

/**
 * Sums the last run of each task, arm and trial. Shares of solved tasks and means are those of the runs that were measured: a
 * run that failed is in neither, and is counted beside them; one that was interrupted is in none. Other arms are compared with the first one, by the pairs of runs
 * of the same task and trial. `runs` has every run, also those that were made again: their dollars were spent.
 */
export function reportTrial(given: {
	readonly program: string;
	readonly tasks: readonly string[];
	readonly arms: readonly string[];
	readonly trials: number;
	readonly runs: readonly TrialRun[];
	readonly notRun: readonly NotRun[];
}) {
	const { program, tasks, arms, trials, notRun } = given;
	const ended = given.runs.filter((run) => !isOpen(run));
	const latest = new Map(ended.map((run) => [JSON.stringify([run.task, run.arm, run.trial]), run]));
	const runs = [...latest.values()].filter(({ trial }) => trial <= trials);
	const ofArm = (arm: string) => runs.filter((run) => run.arm === arm);
	const [first = "", ...others] = arms;
	return {
		program,
		trials,
		spent_usd: sum(given.runs, "usd"),
		arms: arms.map((arm) => ({ arm, ...figuresOf(ofArm(arm)) })),
		compared: others.map((arm) => ({ arm, with: first, ...compare(ofArm(arm), ofArm(first)) })),
		tasks: tasks.map((task) => {
			const ofTask = (arm: string) => ofArm(arm).filter((run) => run.task === task);
			return {
				task,
				arms: arms.map((arm) => ({ arm, ...figuresOf(ofTask(arm)) })),
				compared: others.map((arm) => ({ arm, with: first, ...differences(pairsOf(ofTask(arm), ofTask(first))) })),
			};
		}),
		failed: runs.flatMap(({ task, arm, trial, outcome, reason }) =>
			outcome === "solved" || outcome === "unsolved" ? [] : [{ task, arm, trial, outcome, reason: reason ?? null }],
		),
		not_run: notRun,
	};
}

function figuresOf(runs: readonly TrialRun[]) {
	const measured = runs.filter(isMeasured);
	const solved = measured.filter(({ outcome }) => outcome === "solved").length;
	const failed: Partial<Record<Outcome, number>> = {};
	for (const run of runs) if (!isMeasured(run)) failed[run.outcome] = (failed[run.outcome] ?? 0) + 1;
	return {
		runs: measured.length,
		solved,
		solved_interval: wilson(solved, measured.length),
		failed,
		/** Means of the measured runs. */
		mean: meansOf(measured),
		unpriced_requests: sum(runs, "unpriced_requests"),
		estimated_requests: sum(runs, "estimated_requests"),
	};
}

type Means = { readonly [Name in Measure]: number | null };

function meansOf(runs: readonly TrialRun[]): Means {
	const of = (measure: Measure) => {
		const isUnknown = measure === "usd" && runs.some((run) => run.unpriced_requests > 0);
		return runs.length === 0 || isUnknown ? null : mean(runs.map((run) => run[measure]));
	};
	return Object.fromEntries(measures.map((measure) => [measure, of(measure)])) as Means;
}

/** A run of an arm, and the run of the first arm for the same task and trial. */
type Pair = readonly [run: TrialRun, first: TrialRun];

function pairsOf(runs: readonly TrialRun[], firsts: readonly TrialRun[]): Pair[] {
	return runs.filter(isMeasured).flatMap((run) => {
		const first = firsts.find((one) => one.task === run.task && one.trial === run.trial && isMeasured(one));
		return first ? [[run, first] as const] : [];
	});
}

interface Difference {
	/** Less the first arm. */
	readonly mean: number;
	readonly interval: Interval | null;
}

/**
 * The difference in solved tasks has an interval over pairs. The others are means of the tasks, each of which is the mean of
 * its pairs: their interval says what other tasks of the kind would show, and needs two tasks.
 */
function compare(runs: readonly TrialRun[], firsts: readonly TrialRun[]) {
	const pairs = pairsOf(runs, firsts);
	const tasks = [...new Set(pairs.map(([{ task }]) => task))];
	const byTask = tasks.map((task) => differences(pairs.filter(([run]) => run.task === task)));
	const of = (measure: Measure): Difference | null => {
		const each = byTask.map((one) => one[measure]);
		const known = each.filter((value) => value !== null);
		if (known.length === 0 || known.length < each.length) return null;
		return { mean: mean(known), interval: meanInterval(known) };
	};
	const [usd, firstUsd] = [meansOf(pairs.map(([run]) => run)).usd, meansOf(pairs.map(([, first]) => first)).usd];
	return {
		pairs: pairs.length,
		tasks: tasks.length,
		solved: solvedDifference(pairs),
		/** Dollars of the pairs' runs, by those of the first arm. */
		usd_ratio: usd !== null && firstUsd ? usd / firstUsd : null,
		usd: of("usd"),
		requests: of("requests"),
		tokens: of("tokens"),
		output_tokens: of("output_tokens"),
		seconds: of("seconds"),
	};
}

function solvedDifference(pairs: readonly Pair[]): Difference | null {
	if (pairs.length === 0) return null;
	const count = (solved: boolean, firstSolved: boolean) =>
		pairs.filter(([run, first]) => isSolved(run) === solved && isSolved(first) === firstSolved).length;
	const counts = {
		both: count(true, true),
		first: count(true, false),
		second: count(false, true),
		neither: count(false, false),
	};
	return { mean: (counts.first - counts.second) / pairs.length, interval: pairedShares(counts) };
}

/** The means of the pairs' differences. */
function differences(pairs: readonly Pair[]) {
	const of = (measure: Measure): number | null => {
		const isUnknown = measure === "usd" && pairs.flat().some((run) => run.unpriced_requests > 0);
		return pairs.length === 0 || isUnknown ? null : mean(pairs.map(([run, first]) => run[measure] - first[measure]));
	};
	return {
		pairs: pairs.length,
		solved:
			pairs.length === 0 ? null : mean(pairs.map(([run, first]) => Number(isSolved(run)) - Number(isSolved(first)))),
		usd: of("usd"),
		requests: of("requests"),
		tokens: of("tokens"),
		output_tokens: of("output_tokens"),
		seconds: of("seconds"),
	};
}

const isSolved = ({ outcome }: TrialRun) => outcome === "solved";

function sum(runs: readonly TrialRun[], name: "usd" | "unpriced_requests" | "estimated_requests"): number {
	return runs.reduce((total, run) => total + run[name], 0);
}

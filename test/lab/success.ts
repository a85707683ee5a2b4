import type { ReplayReport } from "../../src/engine/replaying/report.ts";

/** One recorded run under one policy. Bills are with faults, in prices of one input token. */
export interface Run {
	readonly isSolved: boolean;
	readonly calls: number;
	readonly faults: number;
	readonly billed: number;
	readonly raw: number;
}

/** How many of the runs of a group were solved. */
export interface Solved {
	readonly runs: number;
	readonly solved: number;
}

export interface Group extends Solved {
	readonly withFault: number;
	readonly calls: number;
	readonly faultsPer100Calls: number;
	/** With faults, against masking nothing. */
	readonly ratio: number;
}

export interface LengthClass {
	readonly fewestCalls: number;
	readonly mostCalls: number;
	readonly withFault: Solved;
	readonly without: Solved;
}

export interface Interval {
	readonly value: number;
	/** The 95 % interval. */
	readonly low: number;
	readonly high: number;
}

export interface Success {
	readonly policy: string;
	readonly solved: Group;
	readonly unsolved: Group;
	/** From the shortest runs to the longest. */
	readonly classes: readonly LengthClass[];
	/** The odds that a run with a fault was solved over those of a run without, within the classes. */
	readonly odds: Interval | undefined;
}

/** Two-sided, of a normal distribution. */
const deviations95 = 1.96;

/** Reads lines `key,…,key,solved`, whose first names the columns; `solved` is 1 or 0. Returns the keys, joined by a comma. */
export function readOutcomes(text: string): ReadonlyMap<string, boolean> {
	const lines = text.split(/\r?\n/).slice(1);
	return new Map(
		lines
			.filter((line) => line !== "")
			.map((line) => {
				const end = line.lastIndexOf(",");
				return [line.slice(0, end), line.slice(end + 1).trim() === "1"];
			}),
	);
}

/** For each policy of a replay, the files whose outcome is known by the end of their path. */
export function successOf(
	report: Pick<ReplayReport, "files">,
	outcomes: ReadonlyMap<string, boolean>,
	classCount = 4,
): readonly Success[] {
	const runs = new Map<string, Run[]>();
	for (const { file, policies } of report.files) {
		const isSolved = outcomes.get(file.slice(file.lastIndexOf("/") + 1));
		if (isSolved === undefined) continue;
		for (const one of policies) {
			const calls = one.llm_calls;
			const billed = one.billed_with_faults;
			const faults = Math.round((one.faults_per_100_calls * calls) / 100);
			const run = { isSolved, calls, faults, billed, raw: billed / one.ratio_with_faults };
			runs.set(one.policy, [...(runs.get(one.policy) ?? []), run]);
		}
	}
	return Array.from(runs, ([policy, all]) => {
		const classes = classesOf(all, classCount);
		return {
			policy,
			solved: groupOf(all.filter(({ isSolved }) => isSolved)),
			unsolved: groupOf(all.filter(({ isSolved }) => !isSolved)),
			classes,
			odds: oddsRatio(classes),
		};
	});
}

function groupOf(runs: readonly Run[]): Group {
	const calls = sumOf(runs, (run) => run.calls);
	return {
		...solvedOf(runs),
		withFault: runs.filter(({ faults }) => faults > 0).length,
		calls,
		faultsPer100Calls: (100 * sumOf(runs, (run) => run.faults)) / calls,
		ratio: sumOf(runs, (run) => run.billed) / sumOf(runs, (run) => run.raw),
	};
}

function solvedOf(runs: readonly Run[]): Solved {
	return { runs: runs.length, solved: runs.filter(({ isSolved }) => isSolved).length };
}

/** Parts the runs by their calls into classes of about as many runs; runs of as many calls stay together. */
function classesOf(runs: readonly Run[], count: number): readonly LengthClass[] {
	const lengths = runs.map(({ calls }) => calls).sort((a, b) => a - b);
	const at = (share: number) => lengths[Math.ceil(share * lengths.length) - 1] as number;
	const ends = [...new Set(Array.from({ length: count }, (_, index) => at((index + 1) / count)))];
	return ends.map((mostCalls, index) => {
		const before = ends[index - 1] ?? 0;
		const own = runs.filter(({ calls }) => calls > before && calls <= mostCalls);
		return {
			fewestCalls: Math.min(...own.map(({ calls }) => calls)),
			mostCalls,
			withFault: solvedOf(own.filter(({ faults }) => faults > 0)),
			without: solvedOf(own.filter(({ faults }) => faults === 0)),
		};
	});
}

/**
 * Mantel and Haenszel's common odds ratio over all classes, with the interval of Robins, Breslow and Greenland (“Estimators
 * of the Mantel–Haenszel variance consistent in both sparse data and large-strata limiting models”, 1986).
 */
export function oddsRatio(classes: readonly Pick<LengthClass, "withFault" | "without">[]): Interval | undefined {
	const terms = classes
		.filter(({ withFault, without }) => withFault.runs > 0 && without.runs > 0)
		.map(({ withFault, without }) => {
			const runs = withFault.runs + without.runs;
			const failed = withFault.runs - withFault.solved;
			const failedWithout = without.runs - without.solved;
			return {
				agree: (withFault.solved + failedWithout) / runs,
				differ: (failed + without.solved) / runs,
				upper: (withFault.solved * failedWithout) / runs,
				lower: (failed * without.solved) / runs,
			};
		});
	const upper = sumOf(terms, (one) => one.upper);
	const lower = sumOf(terms, (one) => one.lower);
	if (upper === 0 || lower === 0) return undefined;
	const variance =
		sumOf(terms, (one) => one.agree * one.upper) / (2 * upper ** 2) +
		sumOf(terms, (one) => one.agree * one.lower + one.differ * one.upper) / (2 * upper * lower) +
		sumOf(terms, (one) => one.differ * one.lower) / (2 * lower ** 2);
	const value = upper / lower;
	const factor = Math.exp(deviations95 * Math.sqrt(variance));
	return { value, low: value / factor, high: value * factor };
}

export interface Arm {
	readonly arm: string;
	/** Tasks that this arm and the first one have in common. */
	readonly tasks: number;
	readonly solved: number;
	readonly solvedByFirst: number;
	/** The share of tasks that this arm solves more. */
	readonly difference: Interval;
	/** Tasks that only one of the two arms solves. */
	readonly differing: number;
}

/** Compares each arm of an experiment with the first one, task by task. Keys of `outcomes` are `arm,task`. */
export function compareArms(outcomes: ReadonlyMap<string, boolean>): readonly Arm[] {
	const arms = new Map<string, Map<string, boolean>>();
	for (const [key, isSolved] of outcomes) {
		const comma = key.indexOf(",");
		const name = key.slice(0, comma);
		arms.set(name, (arms.get(name) ?? new Map()).set(key.slice(comma + 1), isSolved));
	}
	const [first, ...others] = arms;
	if (!first) return [];
	return others.map(([arm, tasks]) => {
		const pairs = [...tasks].flatMap(([task, own]) => {
			const other = first[1].get(task);
			return other === undefined ? [] : { own, other };
		});
		const more = pairs.filter(({ own, other }) => own && !other).length;
		const fewer = pairs.filter(({ own, other }) => !own && other).length;
		const value = (more - fewer) / pairs.length;
		const deviation = Math.sqrt((more + fewer) / pairs.length ** 2 - value ** 2 / pairs.length);
		return {
			arm,
			tasks: pairs.length,
			solved: pairs.filter(({ own }) => own).length,
			solvedByFirst: pairs.filter(({ other }) => other).length,
			difference: { value, low: value - deviations95 * deviation, high: value + deviations95 * deviation },
			differing: more + fewer,
		};
	});
}

function sumOf<One>(all: readonly One[], of: (one: One) => number): number {
	return all.reduce((sum, one) => sum + of(one), 0);
}

import { alignColumns } from "../../src/operations/report-text.ts";
import { whole } from "../../src/operations/window-words.ts";
import type { Arm, Group, Interval, LengthClass, Solved, Success } from "./success.ts";

/** The tables of `success`: each policy with all runs, then each policy by length. */
export function successText(all: readonly Success[]): string {
	return [
		table([
			["policy", "", "runs", "× raw, with faults", "faults in 100 calls", "runs with a fault"],
			...all.flatMap(({ policy, solved, unsolved }) => [
				[policy, "solved", ...groupCells(solved)],
				[policy, "unsolved", ...groupCells(unsolved)],
			]),
		]),
		"\n\n",
		table([
			["policy", "calls of a run", "runs with a fault", "of them solved", "runs without", "of them solved"],
			...all.flatMap(({ policy, classes }) => classes.map((one) => [policy, ...classCells(one)])),
		]),
		"\n\n",
		table([
			["policy", "odds of success with a fault / without, among runs of as many calls", "95 %"],
			...all.map(({ policy, odds }) => [policy, ...(odds ? intervalCells(odds, 2) : ["–", "–"])]),
		]),
		"\n",
	].join("");
}

/** The table of `arms`. */
export function armsText(arms: readonly Arm[]): string {
	const rows = arms.map(({ arm, tasks, solved, solvedByFirst, difference, differing }) => [
		arm,
		whole(tasks),
		whole(solvedByFirst),
		whole(solved),
		whole(differing),
		...intervalCells(difference, 3),
	]);
	const heading = ["arm", "tasks", "solved by the first arm", "by this one", "by only one", "difference", "95 %"];
	return `${table([heading, ...rows])}\n`;
}

function table(rows: readonly (readonly string[])[]): string {
	return alignColumns(rows).join("\n");
}

function groupCells({ runs, ratio, faultsPer100Calls, withFault }: Group): string[] {
	return runs === 0 ? ["0"] : [whole(runs), ratio.toFixed(3), faultsPer100Calls.toFixed(2), whole(withFault)];
}

function classCells({ fewestCalls, mostCalls, withFault, without }: LengthClass): string[] {
	return [`${fewestCalls} to ${mostCalls}`, ...solvedCells(withFault), ...solvedCells(without)];
}

function solvedCells({ runs, solved }: Solved): string[] {
	return [whole(runs), runs === 0 ? "–" : (solved / runs).toFixed(2)];
}

function intervalCells({ value, low, high }: Interval, digits: number): string[] {
	return [value.toFixed(digits), `${low.toFixed(digits)} to ${high.toFixed(digits)}`];
}

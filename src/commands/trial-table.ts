import type { ArmFigures, Comparison, NotRun, TaskFigures, TrialReport } from "../engine/trials/report.ts";
import { dollars, orNone, signed, tenths, writtenInterval } from "../engine/trials/written.ts";
import { alignColumns } from "../operations/report-text.ts";
import { counted, whole } from "../operations/window-words.ts";
import { shownName } from "./input-output.ts";

/** What `palimpsest trial` prints. */
export function trialText(report: TrialReport): string {
	const { program, arms, compared, tasks, trials, spent_usd: spent } = report;
	const heading = `${shownName(program)}: ${counted(tasks.length, "task")}, ${counted(trials, "trial")} of each, ${dollars(spent)} US dollars spent`;
	const shown = compared.filter(({ pairs }) => pairs > 0);
	const parts = [
		[heading],
		alignColumns([armHeadings, ...arms.map(armCells)]),
		...shown.map((one) => alignColumns([comparisonHeadings(one), ...comparisonRows(one)])),
		...(tasks.length > 1 ? [alignColumns([taskHeadings(report), ...tasks.map(taskCells)])] : []),
		notesOn(report),
		notRunText(report),
	];
	return `${parts.flatMap((lines) => (lines.length === 0 ? [] : [lines.join("\n")])).join("\n\n")}\n`;
}

const armHeadings = [
	"a run of",
	"solved",
	"of",
	"95 %",
	"failed",
	"US dollars",
	"requests",
	"tokens",
	"output",
	"seconds",
];

function armCells(figures: ArmFigures): string[] {
	const { arm, runs, solved, solved_interval: interval, mean } = figures;
	const { usd, requests, tokens, output_tokens: output, seconds } = mean;
	return [
		shownName(arm),
		whole(solved),
		whole(runs),
		writtenInterval(interval, share),
		whole(failuresOf(figures)),
		orNone(usd, dollars),
		orNone(requests, tenths),
		orNone(tokens, whole),
		orNone(output, whole),
		orNone(seconds, tenths),
	];
}

function comparisonHeadings({ arm, with: first, pairs }: Comparison): string[] {
	return [`${shownName(arm)} less ${shownName(first)}, ${counted(pairs, "pair")}`, "difference", "95 %"];
}

function comparisonRows(one: Comparison): string[][] {
	const kinds = [
		["solved", one.solved, share],
		[`US dollars${one.usd_ratio === null ? "" : ` (× ${share(one.usd_ratio)})`}`, one.usd, dollars],
		["requests", one.requests, tenths],
		["tokens", one.tokens, whole],
		["output tokens", one.output_tokens, whole],
		["seconds", one.seconds, tenths],
	] as const;
	return kinds.map(([name, difference, written]) => [
		name,
		orNone(difference?.mean ?? null, (value) => signed(value, written)),
		writtenInterval(difference?.interval ?? null, (value) => signed(value, written)),
	]);
}

function taskHeadings({ arms, compared }: TrialReport): string[] {
	return [
		"task",
		...arms.map(({ arm }) => `solved by ${shownName(arm)}`),
		...compared.map(({ arm, with: first }) => `US dollars, ${shownName(arm)} less ${shownName(first)}`),
	];
}

function taskCells({ task, arms, compared }: TaskFigures): string[] {
	return [
		shownName(task),
		...arms.map(({ solved, runs }) => (runs === 0 ? "–" : `${solved} of ${runs}`)),
		...compared.map(({ usd }) => orNone(usd, (value) => signed(value, dollars))),
	];
}

function notesOn({ arms, compared }: TrialReport): string[] {
	const paired = Math.max(0, ...compared.map(({ tasks }) => tasks));
	const sum = (name: "unpriced_requests" | "estimated_requests") => arms.reduce((all, arm) => all + arm[name], 0);
	const [unpriced, estimated] = [sum("unpriced_requests"), sum("estimated_requests")];
	const hasFailures = arms.some((arm) => failuresOf(arm) > 0);
	return [
		"solved and the means of a run leave out failed runs. 95 %: Wilson's interval.",
		...(paired > 0
			? [
					`differences: of runs of the same task and trial. 95 %: of solved by Newcombe's method 10 for pairs; of the others by Student's t over ${counted(paired, "task")}.`,
				]
			: []),
		"US dollars: input and output, as the proxy's ledger has them, at the catalogue price of the model.",
		...(hasFailures
			? [
					`solved if a failed run counts as unsolved: ${arms.map((arm) => `${shownName(arm.arm)} ${arm.solved} of ${arm.runs + failuresOf(arm)}`).join(", ")}.`,
				]
			: []),
		...(unpriced > 0 ? [`${counted(unpriced, "request")} of models without a known price: not in the dollars.`] : []),
		...(estimated > 0
			? [`${counted(estimated, "request")} without a reported usage: estimated, without the output.`]
			: []),
	];
}

function failuresOf({ failed }: ArmFigures): number {
	return Object.values(failed).reduce((all, count) => all + count, 0);
}

function notRunText({ failed, not_run: notRun }: TrialReport): string[] {
	const failures = failed.map(({ task, arm, trial, outcome, reason }) => {
		const why = reason === null ? "" : ` (${reason})`;
		return `failed: ${shownName(task)}, ${shownName(arm)}, trial ${trial}: ${outcome.replaceAll("_", " ")}${shownName(why)}`;
	});
	const groups = new Map<string, NotRun[]>();
	for (const one of notRun) {
		const name = one.run === undefined ? `${one.task}: ${one.reason}` : one.reason;
		groups.set(name, [...(groups.get(name) ?? []), one]);
	}
	const left = Array.from(groups, ([name, [one, ...others]]) =>
		one?.run === undefined
			? `not run: ${shownName(name)}`
			: `not run: ${counted(1 + others.length, "run")}, since ${shownName(name)}`,
	);
	return [...failures, ...left];
}

const share = (value: number) => value.toFixed(2);

import type { ArmFigures, Comparison, TrialReport } from "../engine/trials/report.ts";
import { dollars, orNone, signed, tenths, writtenInterval } from "../engine/trials/written.ts";
import { escapeHtml, pageAsset, selfContainedPage } from "./page.ts";
import { counted, formatCount } from "./replay-data.ts";

/** The page of a trial: tables and a plot without a script. Throws `unreadable_file`. */
export async function trialPage(report: TrialReport): Promise<string> {
	const { program, tasks, trials, arms } = report;
	const what = `${counted(tasks.length, "task")}, ${counted(trials, "trial")} of each in ${counted(arms.length, "arm")}; ${dollars(report.spent_usd)} US dollars spent.`;
	return selfContainedPage({
		title: "Trial: what each arm solves and costs",
		styles: [await pageAsset("page.css")],
		scripts: [],
		data: report,
		body: `<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="brand">palimpsest trial</p>
<h1>What each arm solves and costs</h1>
<p class="lead">${escapeHtml(program)}: ${what}</p>
</header>
<main id="main" tabindex="-1">
<section aria-labelledby="arms"><h2 id="arms">Arms</h2>
<div class="block"><h3>Share of runs that solved their task</h3>${solvedPlot(arms)}</div>
<div class="block">${armsTable(arms)}</div></section>
${report.compared.map(comparisonSection).join("\n")}
${tasksSection(report)}
${failuresSection(report)}
${reading}
</main>`,
	});
}

const plot = { left: 130, width: 340, row: 34 } as const;

/** Dots with Wilson's intervals. */
function solvedPlot(arms: readonly ArmFigures[]): string {
	const at = (share: number) => (plot.left + share * plot.width).toFixed(1);
	const height = arms.length * plot.row + 30;
	const ticks = [0, 0.25, 0.5, 0.75, 1].map(
		(share) =>
			`<line x1="${at(share)}" x2="${at(share)}" y1="4" y2="${height - 24}" stroke="currentColor" stroke-opacity="0.15"/><text x="${at(share)}" y="${height - 8}" text-anchor="middle" font-size="13" fill="currentColor">${100 * share} %</text>`,
	);
	const rows = arms.map(({ arm, runs, solved, solved_interval: interval }, index) => {
		const y = index * plot.row + 20;
		const name = `<text x="0" y="${y + 5}" font-size="14" fill="currentColor">${escapeHtml(arm.length > 15 ? `${arm.slice(0, 14)}…` : arm)}</text>`;
		if (interval === null) return name;
		return `${name}<line x1="${at(interval.low)}" x2="${at(interval.high)}" y1="${y}" y2="${y}" stroke="currentColor" stroke-width="2"/><circle cx="${at(solved / runs)}" cy="${y}" r="6" fill="currentColor"/>`;
	});
	const said = arms.map(
		(arm) => `${arm.arm}: ${arm.solved} of ${arm.runs}, ${writtenInterval(arm.solved_interval, percent)}`,
	);
	return `<svg class="intervals" viewBox="0 0 ${plot.left + plot.width + 30} ${height}" role="img" aria-label="${escapeHtml(said.join("; "))}">${ticks.join("")}${rows.join("")}</svg>`;
}

function armsTable(arms: readonly ArmFigures[]): string {
	const headings = ["Solved", "Runs", "95 %", "Failed", "US dollars a run", "Requests", "Tokens", "Output", "Seconds"];
	const rows = arms.map(({ arm, solved, runs, solved_interval: interval, failed, mean }) => [
		arm,
		formatCount(solved),
		formatCount(runs),
		writtenInterval(interval, percent),
		formatCount(Object.values(failed).reduce((sum, count) => sum + count, 0)),
		orNone(mean.usd, dollars),
		orNone(mean.requests, tenths),
		orNone(mean.tokens, formatCount),
		orNone(mean.output_tokens, formatCount),
		orNone(mean.seconds, tenths),
	]);
	return table("Means of the runs that did not fail", ["Arm", ...headings], rows);
}

function comparisonSection(one: Comparison, index: number): string {
	const kinds = [
		["Solved", one.solved, points],
		[`US dollars a run${one.usd_ratio === null ? "" : ` (× ${one.usd_ratio.toFixed(2)})`}`, one.usd, dollars],
		["Requests", one.requests, tenths],
		["Tokens", one.tokens, formatCount],
		["Output tokens", one.output_tokens, formatCount],
		["Seconds", one.seconds, tenths],
	] as const;
	const rows = kinds.map(([name, difference, written]) => [
		name,
		orNone(difference?.mean ?? null, (value) => signed(value, written)),
		writtenInterval(difference?.interval ?? null, (value) => signed(value, written)),
	]);
	const caption = `${counted(one.pairs, "pair")} of runs of the same task and trial, of ${counted(one.tasks, "task")}`;
	return `<section aria-labelledby="compared-${index}"><h2 id="compared-${index}"><bdi>${escapeHtml(one.arm)}</bdi> less <bdi>${escapeHtml(one.with)}</bdi></h2>
<div class="block">${table(caption, ["Figure", "Difference", "95 %"], rows)}</div></section>`;
}

function tasksSection({ tasks, arms, compared }: TrialReport): string {
	const headings = [
		"Task",
		...arms.map(({ arm }) => `Solved by ${arm}`),
		...compared.flatMap(({ arm, with: first }) => [`Solved, ${arm} less ${first}`, `US dollars, ${arm} less ${first}`]),
	];
	const rows = tasks.map((one) => [
		one.task,
		...one.arms.map(({ solved, runs }) => (runs === 0 ? "–" : `${solved} of ${runs}`)),
		...one.compared.flatMap(({ solved, usd }) => [
			orNone(solved, (value) => signed(value, points)),
			orNone(usd, (value) => signed(value, dollars)),
		]),
	]);
	return `<section aria-labelledby="tasks"><h2 id="tasks">Tasks</h2><div class="block">${table("Means of the pairs of runs of each task", headings, rows)}</div></section>`;
}

function failuresSection({ failed, not_run: notRun }: TrialReport): string {
	if (failed.length + notRun.length === 0) return "";
	const rows = [
		...failed.map(({ task, arm, trial, outcome, reason }) => [
			task,
			`${arm}, trial ${trial}`,
			outcome.replaceAll("_", " "),
			reason ?? "",
		]),
		...notRun.map(({ task, run, reason }) => [
			task,
			run === undefined ? "all" : `${run.arm}, trial ${run.trial}`,
			"not run",
			reason,
		]),
	];
	return `<section aria-labelledby="failed"><h2 id="failed">Failed, or not run</h2><div class="block">${table("These runs are in no share and no mean", ["Task", "Run", "What", "Why"], rows)}</div></section>`;
}

const reading = `<section aria-labelledby="reading"><h2 id="reading">How to read this</h2>
<dl>
<dt>Solved</dt><dd>Runs after which the check of the task ended with exit code 0, with Wilson’s interval. A run that failed (the program crashed, took too long, or its check could not run) is counted beside them.</dd>
<dt>Differences</dt><dd>Between runs of the same task and trial. The interval of solved is Newcombe’s method 10 for pairs, and is about these tasks only; the others are Student’s t over the means of the tasks, and need two of them.</dd>
<dt>US dollars</dt><dd>Input and output as the ledger of the proxy has them, in every arm, at the catalogue price of the model.</dd>
</dl>
<p class="note">This page makes no request and has no script.</p>
</section>`;

function table(caption: string, headings: readonly string[], rows: readonly (readonly string[])[]): string {
	const name = escapeHtml(caption);
	const head = headings.map((heading) => `<th scope="col">${escapeHtml(heading)}</th>`).join("");
	const body = rows.map(([first = "", ...cells]) => {
		const rest = cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join("");
		return `<tr><th scope="row"><bdi>${escapeHtml(first)}</bdi></th>${rest}</tr>`;
	});
	return `<div class="scrolls" role="region" tabindex="0" aria-label="${name}"><table class="figures"><caption>${name}</caption><thead><tr>${head}</tr></thead><tbody>
${body.join("\n")}
</tbody></table></div>`;
}

const percent = (share: number) => `${Math.round(100 * share)} %`;
const points = (share: number) => `${Math.round(100 * share)} points`;

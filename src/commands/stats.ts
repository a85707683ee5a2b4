import { PalimpsestError } from "../errors.ts";
import { alignColumns } from "../operations/report-text.ts";
import { counted, whole } from "../operations/window-words.ts";
import { archiveLocation, archivePlace } from "../storage/archive/open.ts";
import { sumBreaks } from "../storage/figures/break-sums.ts";
import type { BreakLine, FigureLine } from "../storage/figures/line.ts";
import { openRedisFigures } from "../storage/figures/redis.ts";
import { readFigures } from "../storage/figures/store.ts";
import { type FigureSums, type Grouping, type Statistics, startSums } from "../storage/figures/sums.ts";
import { adviceOnCause, breaksText } from "./breaks-text.ts";
import { leftOutText } from "./conversation-files.ts";
import { printJson, say, show, shownName } from "./input-output.ts";
import { withProgress } from "./progress.ts";

interface StatsOptions {
	readonly days: number;
	readonly by: Grouping;
	readonly breaks?: boolean;
	readonly json?: boolean;
	readonly archive?: string;
	readonly namespace?: string;
}

const day = 24 * 3_600_000;

/** `palimpsest stats` */
export async function stats({ days, by, breaks, json, archive, namespace }: StatsOptions): Promise<void> {
	const until = Date.now();
	let damaged = 0;
	const onLeftOut = () => {
		damaged += 1;
	};
	const period = { since: until - days * day, until, onLeftOut };
	const figures = archive === undefined ? undefined : await figuresIn(archive, namespace);
	const lines = () => (figures ? figures.read(period) : readFigures(period));
	const tellLeftOut = () => {
		const leftOut = leftOutText([[damaged, "line", "of figures that cannot be read"]]);
		if (leftOut !== undefined) say(leftOut);
	};
	try {
		if (breaks) await printBreaks({ days, lines, json });
		else await printSums({ days, by, lines, json });
		tellLeftOut();
	} finally {
		await figures?.close();
	}
}

type Lines = () => AsyncIterable<FigureLine>;

/** Throws `invalid_argument` for an archive that has no figures. */
async function figuresIn(archive: string, namespace: string | undefined) {
	const { where: url, ...location } = archiveLocation({ archive, namespace, environment: process.env });
	if (archivePlace(url) === "redis") return openRedisFigures({ url, ...location });
	const message =
		"Expected --archive redis://HOST:PORT. Other archives have no figures: those of this machine need no --archive.";
	throw new PalimpsestError("invalid_argument", message);
}

async function printSums({
	days,
	by,
	lines,
	json,
}: {
	readonly days: number;
	readonly by: Grouping;
	readonly lines: Lines;
	readonly json: boolean | undefined;
}): Promise<void> {
	const sums = startSums(by);
	await withProgress("reading figures", async () => {
		for await (const line of lines()) sums.add(line);
	});
	const statistics = sums.end();
	if (json) printJson({ days, grouped_by: by, ...statistics }, 2);
	else show(statsText(statistics, { days, by }));
}

async function printBreaks({
	days,
	lines,
	json,
}: {
	readonly days: number;
	readonly lines: Lines;
	readonly json: boolean | undefined;
}): Promise<void> {
	const found: BreakLine[] = [];
	await withProgress("reading figures", async () => {
		for await (const line of lines()) if (line.kind === "break") found.push(line);
	});
	const causes = sumBreaks(found).map((sum) => ({ ...sum, advice: adviceOnCause(sum) }));
	const timed = causes.map(({ last = 0, ...sum }) => ({ ...sum, last: new Date(last).toISOString() }));
	if (json) printJson({ days, causes: timed }, 2);
	else if (causes.length === 0) show(`No cache broke in ${periodOf(days)}, as far as the proxy has seen.\n`);
	else show(`Cache breaks in ${periodOf(days)}\n\n${breaksText(causes)}`);
}

function periodOf(days: number): string {
	return days === 1 ? "the last day" : `the last ${whole(days)} days`;
}

function statsText(
	{ all, by: rows, held_out: heldOut }: Statistics,
	how: { readonly days: number; readonly by: Grouping },
) {
	const { days, by } = how;
	const period = periodOf(days);
	if (all.requests + all.results + all.pings + all.summaries === 0) {
		return `No figures of ${period}. The proxy, plugins, hooks and the gateway write them as they work.\n`;
	}
	const names = {
		day: "Day",
		person: "Person",
		project: "Project",
		program: "Program",
		model: "Model",
		agent: "Agent",
	};
	const shown = by === "agent" ? rows.slice(0, mostAgents) : rows;
	const table = alignColumns([
		[names[by], "requests", "tokens", "left out", "US dollars", "saved", "× raw"],
		// Results that were cut have no column.
		...shown
			.filter((row) => row.requests + row.pings + row.summaries > 0)
			.map((row) => [shownName(row.name), ...cellsOf(row)]),
		["all", ...cellsOf(all)],
	]);
	const rest = rows.length - shown.length;
	const more = rest > 0 ? [`${counted(rest, "more row")}: --json lists all.`] : [];
	return `${[`${period}: ${counted(all.requests, "request")}`, "", ...table, ...more, "", ...notesOn(all, heldOut)].join("\n")}\n`;
}

/** A long session has hundreds of subagents: those that cost most are shown. */
const mostAgents = 20;

type Row = Statistics["all"];

function cellsOf(row: Row): string[] {
	const { requests, tokens, tokens_left_out: leftOut, usd, usd_saved: saved, ratio } = row;
	const isPriced = requests > row.unpriced_requests;
	return [
		whole(requests),
		whole(tokens),
		whole(leftOut),
		isPriced ? dollars(usd + row.ping_usd) : "–",
		saved === null ? "–" : dollars(saved),
		ratio === null ? "–" : ratio.toFixed(2),
	];
}

function notesOn(all: Row, heldOut: Row | undefined): string[] {
	const note = (count: number, words: string) => (count > 0 ? [`${counted(count, "request")} ${words}`] : []);
	const own = [
		...(all.pings > 0 ? [`${counted(all.pings, "ping")} to keep caches warm`] : []),
		...(all.summaries > 0 ? [`${counted(all.summaries, "summary", "summaries")} of the provider`] : []),
	];
	return [
		"US dollars: input and output at the catalogue price of the model on the day of the request.",
		"saved, × raw: against the same requests unedited, by the usage that the provider reported (docs/measure.md#stats).",
		...note(all.untold_requests, "in neither, since the unedited bill is unknown."),
		...note(all.unpriced_requests, "of models without a known price: not in the dollars."),
		...note(all.estimated_requests, "without a reported usage: estimated, without the output and without a saving."),
		...note(all.cut_requests, "whose answer was cut: without the output."),
		...note(all.unknown_requests, "of which no usage is known: in no other figure."),
		...note(all.undecided_requests, "without new decisions."),
		...note(all.subagent_requests, `of subagents: ${dollars(all.subagent_usd)} US dollars, which count (--by agent).`),
		...note(all.refusals, "refused, and sent again in another form."),
		...(own.length > 0 ? [`${own.join(", ")}: ${dollars(all.ping_usd)} US dollars, which count.`] : []),
		...(all.results > 0
			? [
					`${counted(all.results, "result")} cut before a program saw it: ${whole(all.result_chars_before)} characters to ${whole(all.result_chars_after)}.`,
				]
			: []),
		...(heldOut ? [comparison(all, heldOut)] : []),
	];
}

/** Requests that are never edited show the real bill of unedited requests, beside the estimate. */
function comparison(all: FigureSums, heldOut: FigureSums): string {
	const edited = all.requests - heldOut.requests;
	const others = edited > 0 ? `, the other ${whole(edited)} ${whole((all.billed - heldOut.billed) / edited)}` : "";
	return `Held out: ${counted(heldOut.requests, "request")} billed ${whole(heldOut.billed / heldOut.requests)} tokens each${others}.`;
}

function dollars(value: number): string {
	const digits = Math.abs(value) >= 100 ? 0 : 2;
	return value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1");
}

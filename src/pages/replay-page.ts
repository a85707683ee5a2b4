import type { ContextParts } from "../replaying/bill.ts";
import type { PolicyFigures, ReplayReport, ReplaySeries } from "../replaying/report.ts";
import { escapeHtml, pageAsset, selfContainedPage } from "./page.ts";

/** What the page of a replay shows. */
export interface ReplayPageParts {
	readonly report: ReplayReport;
	/** Of the conversations and policies that are to be drawn over time; the rest stand in the tables alone. */
	readonly series: readonly ReplaySeries[];
	/** What `billed` counts; by default prices of one input token. */
	readonly billedIn?: BilledUnit;
}

/**
 * The page that `palimpsest replay --html` writes: one HTML file that needs no network, in which people see what each
 * policy sent, cost and kept in view.
 *
 * @throws PalimpsestError `unreadable_file` where the parts that it carries are missing.
 */
export async function replayPage({ report, series, billedIn = "input_tokens" }: ReplayPageParts): Promise<string> {
	const [uplotSheet, sheet, uplot, license, program] = await Promise.all([
		pageAsset("uplot.css"),
		pageAsset("page.css"),
		pageAsset("uplot.js"),
		pageAsset("uplot-license.txt"),
		pageAsset("replay-page.js"),
	]);
	const data = replayPageData(report, { series, billedIn });
	return selfContainedPage({
		title: "Replay: what each policy costs and keeps",
		styles: [uplotSheet, sheet],
		scripts: [`/*! uPlot\n${license}*/\n${uplot}`, program],
		data,
		body: `<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="brand">palimpsest replay</p>
<h1>What each policy costs and keeps</h1>
<p class="lead">${escapeHtml(whatIsCompared(report))}</p>
</header>
<main id="main" tabindex="-1">
${overall(report, billedIn)}
${data.files.length === 0 ? "" : overTime}
${byConversation(report, billedIn)}
${reading(billedIn)}
</main>`,
	});
}

function whatIsCompared({ policies, files }: ReplayReport): string {
	const calls = policies[0]?.llm_calls ?? 0;
	const compared = `${counted(policies.length, "policy", "policies")} over ${counted(files.length, "conversation", "conversations")}`;
	return `${compared}: what ${calls === 1 ? "its LLM call" : `the ${formatCount(calls)} LLM calls`} would have been sent under each, what that would have cost where the provider caches the prompt, and how much of what the agent used later was still in view.`;
}

function counted(count: number, one: string, many: string): string {
	return `${formatCount(count)} ${count === 1 ? one : many}`;
}

function overall({ policies, files }: ReplayReport, unit: BilledUnit): string {
	const several = files.length > 1;
	const caption = several ? `All figures over ${formatCount(files.length)} conversations` : "All figures";
	return `<section aria-labelledby="overall">
<h2 id="overall">${several ? "All conversations together" : "The conversation as a whole"}</h2>
<div class="block" id="recall-block" hidden>
<h3 id="recall">Recall against size</h3>
<p>Up is better, left is smaller: the share of the strings an assistant message used that were in view when it used them, against the context that was sent.</p>
<div class="plot" id="recall-plot" role="img"></div>
<ul class="legend" aria-label="Marks of the plot"><li><svg class="mark" viewBox="0 0 14 14" aria-hidden="true"><circle cx="7" cy="7" r="4.5" fill="currentColor"/></svg>identifiers</li><li><svg class="mark" viewBox="0 0 14 14" aria-hidden="true"><rect x="3" y="3" width="8" height="8" fill="none" stroke="currentColor" stroke-width="2"/></svg>whole lines</li></ul>
<p class="note" id="recall-unnamed"></p>
<details id="recall-data"><summary>Recall against size as a table</summary></details>
</div>
<div class="block">
<h3 id="figures">All figures</h3>
${figuresTable({ policies, caption, unit, several })}
</div>
</section>`;
}

const overTime = `<section aria-labelledby="one" id="over-time" hidden>
<h2 id="one">One conversation over time</h2>
<div class="controls">
<div><label for="file">Conversation</label><select id="file"></select></div>
<div><label for="policy">Policy</label><select id="policy"></select></div>
<div class="wide"><label for="call">LLM call</label><input id="call" type="range" min="0" value="0" step="1"></div>
</div>
<p class="note" id="drawn"></p>
<div class="block">
<h3 id="context">Context by part</h3>
<p class="readout" id="context-readout"></p>
<div class="plot" id="context-plot" role="img"></div>
<ul class="legend" id="context-legend" aria-label="Parts, with their tokens at the chosen call"></ul>
<details id="context-data"><summary>Context by part as a table</summary></details>
</div>
<div class="block">
<h3 id="cost">Cost so far</h3>
<p class="readout" id="cost-readout"></p>
<div class="plot" id="cost-plot" role="img"></div>
<ul class="legend" id="cost-legend" aria-label="Policies, with what they cost until the chosen call"></ul>
<details id="cost-data"><summary>Cost so far as a table</summary></details>
</div>
</section>
<noscript><p class="note">The plots need JavaScript, which is off; all figures stand in the tables.</p></noscript>`;

function byConversation({ files }: ReplayReport, unit: BilledUnit): string {
	if (files.length < 2) return "";
	const each = files.map(({ file, policies }) => {
		const table = figuresTable({ policies, caption: `All figures of ${file}`, unit, several: false });
		return `<details class="file"><summary><bdi>${escapeHtml(file)}</bdi></summary>\n${table}\n</details>`;
	});
	return `<section aria-labelledby="each">
<h2 id="each">Each conversation</h2>
${each.join("\n")}
</section>`;
}

function reading(unit: BilledUnit): string {
	const billed =
		unit === "us_dollars"
			? "in US dollars at the model’s prices"
			: "in prices of one input token: a token read from the provider’s cache and one written to it count as the prices say";
	return `<section aria-labelledby="reading">
<h2 id="reading">How to read this</h2>
<dl>
<dt>Raw</dt><dd>Nothing is masked: each call is sent the whole conversation until then.</dd>
<dt>Billed</dt><dd>Input of all calls, ${billed}. “× raw” holds it against doing nothing; “worst” is the largest of one conversation. “× optimum” holds it against the cheapest schedule that masks the same window, found with hindsight.</dd>
<dt>Context</dt><dd>Tokens that the calls are sent. “Of raw” is their sum against that of raw, “over window” the calls that would not have fitted the model’s context window, where that is known.</dd>
<dt>Recall</dt><dd>Of the identifiers and whole lines that assistant messages used and that stood only in tool results until then, the share still in view when used; in digests: the share that a placeholder’s digest showed instead; at best: what the best choice of results could have kept in as many tokens.</dd>
<dt>Placeholders</dt><dd>What stands in the place of masked tool results.</dd>
</dl>
<p class="note">Tokens are those of the counter that the policy names. Of a conversation with more than ${formatCount(mostDrawnCalls)} LLM calls, plots show that many. Plots are drawn with uPlot (MIT licence). This page makes no request.</p>
</section>`;
}

interface Column {
	readonly heading: string;
	readonly cell: (figures: PolicyFigures, unit: BilledUnit) => string;
	/** Says something only of several conversations. */
	readonly ofSeveral?: boolean;
}

interface Group {
	readonly heading: string;
	readonly columns: readonly Column[];
}

const recallGroup = (kind: "identifiers" | "lines"): Group => ({
	heading: `Recall of ${kind}`,
	columns: [
		{ heading: "In view", cell: ({ recall }) => formatShare(recall[kind]) },
		{ heading: "In digests", cell: ({ recall_in_digests }) => formatShare(recall_in_digests[kind]) },
		{ heading: "At best", cell: ({ recall_bound }) => formatShare(recall_bound[kind]) },
	],
});

/** `94.1%`; a dash where there is nothing that it could be a share of. */
export const formatShare = (value: number | null): string => (value === null ? "–" : percent.format(value));

const percent = new Intl.NumberFormat("en", {
	style: "percent",
	minimumFractionDigits: 1,
	maximumFractionDigits: 1,
	// No “-0.0%”.
	signDisplay: "negative",
});

const groups: readonly Group[] = [
	{
		heading: "Cost",
		columns: [
			{ heading: "Billed", cell: ({ billed }, unit) => formatCost(billed, unit) },
			{ heading: "× raw", cell: ({ ratio_to_raw }) => formatRatio(ratio_to_raw) },
			{ heading: "× raw, worst", cell: ({ worst_ratio_to_raw }) => formatRatio(worst_ratio_to_raw), ofSeveral: true },
			{ heading: "× optimum", cell: ({ ratio_to_optimum }) => formatRatio(ratio_to_optimum) },
		],
	},
	recallGroup("identifiers"),
	recallGroup("lines"),
	{
		heading: "Context",
		columns: [
			{ heading: "Of raw", cell: ({ average_context_ratio }) => formatShare(average_context_ratio) },
			{ heading: "Peak tokens", cell: ({ peak_context_tokens }) => formatCount(peak_context_tokens) },
			{
				heading: "Over window",
				cell: ({ calls_over_window, calls_of_known_window }) =>
					calls_of_known_window === 0 ? "–" : formatCount(calls_over_window),
			},
			{ heading: "Masked", cell: ({ masked_tool_results }) => formatCount(masked_tool_results) },
		],
	},
	{
		heading: "Sent",
		columns: [
			{ heading: "Conversations", cell: ({ conversations }) => formatCount(conversations), ofSeveral: true },
			{ heading: "Calls", cell: ({ llm_calls }) => formatCount(llm_calls) },
			{ heading: "Input tokens", cell: ({ input_tokens }) => formatCount(input_tokens) },
			{ heading: "From cache", cell: ({ cached_tokens }) => formatCount(cached_tokens) },
		],
	},
];

/** What a table is of. */
export interface FiguresTable {
	readonly policies: readonly PolicyFigures[];
	/** Says what the table holds. */
	readonly caption: string;
	readonly unit: BilledUnit;
	/** Whether the figures are over several conversations. */
	readonly several: boolean;
}

/** All figures of each policy as an HTML table, in a region of its own that scrolls where the page is too narrow. */
export function figuresTable({ policies, caption, unit, several }: FiguresTable): string {
	const shown = groups.map(({ heading, columns }) => {
		return { heading, columns: columns.filter(({ ofSeveral }) => several || !ofSeveral) };
	});
	const over = shown.map(
		({ heading, columns }) => `<th scope="colgroup" colspan="${columns.length}">${escapeHtml(heading)}</th>`,
	);
	const under = shown.flatMap(({ columns }) =>
		columns.map(({ heading }, index) => `<th scope="col"${first(index)}>${escapeHtml(heading)}</th>`),
	);
	const spans = shown.map(({ columns }) => `<colgroup span="${columns.length}"></colgroup>`);
	const rows = policies.map((figures) => {
		const cells = shown.flatMap(({ columns }) =>
			columns.map(({ cell }, index) => `<td${first(index)}>${escapeHtml(cell(figures, unit))}</td>`),
		);
		return `<tr><th scope="row"><bdi>${escapeHtml(figures.policy)}</bdi></th>${cells.join("")}</tr>`;
	});
	return `<div class="scrolls" role="region" tabindex="0" aria-label="${escapeHtml(caption)}">
<table class="figures">
<caption>${escapeHtml(caption)}</caption>
<colgroup></colgroup>${spans.join("")}
<thead>
<tr><th rowspan="2" scope="col">Policy</th>${over.join("")}</tr>
<tr>${under.join("")}</tr>
</thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
</div>`;
}

/** Where a group begins, a line is drawn. */
function first(index: number): string {
	return index === 0 ? ' class="first"' : "";
}

const whole = new Intl.NumberFormat("en");

const money = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumSignificantDigits: 4 });

/** `12,345`. */
export const formatCount = (value: number): string => whole.format(Math.round(value));

/** `0.857`. */
export const formatRatio = (value: number | null): string => (value === null ? "–" : value.toFixed(3));

/** `12,345` in prices of one token, or `$1.234`, to four digits. */
export const formatCost = (value: number, unit: BilledUnit): string =>
	unit === "us_dollars" ? money.format(value) : formatCount(value);

/** What the plots of the replay page are drawn from, as the page carries it. */
export interface ReplayPageData {
	readonly billedIn: BilledUnit;
	/** Decimals that `billed` was multiplied away by. */
	readonly billedDecimals: number;
	/** Over all files, in the order of the report: the place of a policy gives it its colour. */
	readonly policies: readonly (Pick<PolicyFigures, "policy" | "average_context_ratio" | "recall"> & {
		readonly ratio_to_raw: number;
	})[];
	readonly files: readonly DrawnFile[];
	/** Each a list of whole numbers as differences from one to the next; many calls and policies share one. */
	readonly columns: readonly (readonly number[])[];
}

/** Whether figures of cost are in prices of one input token, or in US dollars. */
export type BilledUnit = "input_tokens" | "us_dollars";

/** A conversation whose calls can be drawn. */
export interface DrawnFile {
	readonly file: string;
	/** LLM calls of the conversation, drawn or not. */
	readonly calls: number;
	/** Place in `columns` of the numbers of the calls that are drawn, from 1. */
	readonly at: number;
	readonly series: readonly DrawnSeries[];
}

/** A policy over a conversation: places in `columns`. */
export interface DrawnSeries extends Readonly<Record<keyof ContextParts, number>> {
	readonly policy: string;
	readonly billed: number;
}

/** Packs the series: what is the same under several policies stands once, and numbers as small differences. */
export function replayPageData(
	{ policies }: ReplayReport,
	{ series, billedIn }: { readonly series: readonly ReplaySeries[]; readonly billedIn: BilledUnit },
): ReplayPageData {
	const columns: number[][] = [];
	const places = new Map<string, number>();
	const keep = (values: readonly number[]): number => {
		const differences = values.map((value, index) => value - (values[index - 1] ?? 0));
		const key = differences.join();
		const place = places.get(key) ?? columns.push(differences) - 1;
		places.set(key, place);
		return place;
	};
	const largestBill = series.reduce((most, { billed }) => Math.max(most, billed.at(-1) ?? 0), 0);
	const billedDecimals = largestBill === 0 ? 0 : Math.min(12, Math.max(0, 6 - Math.ceil(Math.log10(largestBill))));
	const byFile = new Map<string, ReplaySeries[]>();
	for (const one of series) {
		const ofFile = byFile.get(one.file);
		if (ofFile) ofFile.push(one);
		else byFile.set(one.file, [one]);
	}
	const files = Array.from(byFile, ([file, ofFile]): DrawnFile => {
		const calls = ofFile.reduce((most, { context }) => Math.max(most, context.length), 0);
		const sizes = Array.from({ length: calls }, (_, call) =>
			ofFile.reduce((sum, { context }) => sum + tokensOf(context[call]), 0),
		);
		const drawn = drawnCalls(sizes);
		return {
			file,
			calls,
			at: keep(drawn.map((call) => call + 1)),
			series: ofFile.map(({ policy, context, billed }) => {
				const part = (name: keyof ContextParts) => keep(drawn.map((call) => context[call]?.[name] ?? 0));
				return {
					policy,
					system: part("system"),
					user: part("user"),
					assistant: part("assistant"),
					results: part("results"),
					placeholders: part("placeholders"),
					billed: keep(drawn.map((call) => Math.round((billed[call] ?? 0) * 10 ** billedDecimals))),
				};
			}),
		};
	}).filter(({ calls }) => calls > 0);
	return {
		billedIn,
		billedDecimals,
		policies: policies.map(({ policy, average_context_ratio, ratio_to_raw, recall }) => {
			return { policy, average_context_ratio, ratio_to_raw, recall };
		}),
		files,
		columns,
	};
}

function tokensOf(parts: ContextParts | undefined): number {
	if (parts === undefined) return 0;
	return parts.system + parts.user + parts.assistant + parts.results + parts.placeholders;
}

/** Calls that a plot is drawn from at most: two for each pixel of a wide screen. */
export const mostDrawnCalls = 2_000;

/**
 * Which calls of a conversation a plot is drawn from: all of them where they are few, else the first, the last, and from
 * each of as many equal stretches as there is room for the smallest and the largest of `sizes`, so that the teeth of a
 * saw stay sharp. Positions in `sizes`, ascending.
 */
export function drawnCalls(sizes: readonly number[], most = mostDrawnCalls): number[] {
	if (sizes.length <= most) return sizes.map((_, call) => call);
	const stretches = Math.max(0, Math.floor((most - 2) / 2));
	const inner = sizes.length - 2;
	const drawn = [0];
	for (let stretch = 0; stretch < stretches; stretch += 1) {
		const from = 1 + Math.floor((stretch * inner) / stretches);
		const to = 1 + Math.floor(((stretch + 1) * inner) / stretches);
		let [least, largest] = [from, from];
		for (let call = from; call < to; call += 1) {
			if ((sizes[call] as number) < (sizes[least] as number)) least = call;
			if ((sizes[call] as number) > (sizes[largest] as number)) largest = call;
		}
		// A flat stretch has one call that is both.
		drawn.push(...new Set([Math.min(least, largest), Math.max(least, largest)]));
	}
	return [...drawn, sizes.length - 1];
}

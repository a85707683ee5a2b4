import type { BilledUnit, PolicyFigures, ReplayReport, ReplaySeries } from "../engine/replaying/report.ts";
import { escapeHtml, pageAsset, selfContainedPage } from "./page.ts";
import {
	counted,
	formatCost,
	formatCount,
	formatShare,
	mostDrawnCalls,
	replayPageData,
	savingSentence,
} from "./replay-data.ts";

/**
 * `series` are drawn over time; other conversations and policies appear in the tables only. Throws `unreadable_file`.
 */
export async function replayPage(replayed: {
	readonly report: ReplayReport;
	readonly series: readonly ReplaySeries[];
	readonly billedIn?: BilledUnit;
}): Promise<string> {
	const { report, series, billedIn = "input_tokens" } = replayed;
	const assets = ["uplot.css", "page.css", "uplot.js", "uplot-license.txt", "replay.js"] as const;
	const [uplotSheet = "", sheet = "", uplot, license, program = ""] = await Promise.all(assets.map(pageAsset));
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
<p class="lead">${escapeHtml([savingSentence(report) ?? "", whatIsCompared(report)].join(" ").trim())}</p>
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
	const compared = `${counted(policies.length, "policy", "policies")} over ${counted(files.length, "conversation")}`;
	return `${compared}: the size of ${calls === 1 ? "its LLM call" : `the ${formatCount(calls)} LLM calls`} under each, the cost where the provider caches the prompt, and the share of later used text that was still in view.`;
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
<div class="block">
<h3 id="ranking">Ranking by the price of a fault</h3>
<p>A fault is a call that needs a masked result. To recall it costs one more call, and its tokens again for as long as it stays. An agent that searches again first, or goes on without it, may lose more or less. Rank and bill with faults × raw if a fault costs so many times as much:</p>
${rankingTable(policies)}
</div>
</section>`;
}

/** Multiples of one more call. */
const faultPrices = [0, 1, 3, 10] as const;

/** Lists policies in the order of their ranks at the second price; policies with the same bill share a rank. */
function rankingTable(policies: readonly PolicyFigures[]): string {
	const byPrice = faultPrices.map((price) => {
		const bills = policies.map((one) => one.ratio_to_raw + price * one.fault_cost_to_raw);
		return bills.map((bill) => ({ bill, rank: 1 + bills.filter((other) => other < bill).length }));
	});
	const ranked = policies.map(({ policy }, place) => ({ policy, at: byPrice.flatMap((of) => of[place] ?? []) }));
	const rows = ranked
		.toSorted((a, b) => (a.at[1]?.rank ?? 0) - (b.at[1]?.rank ?? 0))
		.map(({ policy, at }) => {
			const cells = at.map(({ bill, rank }) => `<td class="first">${rank}</td><td>${formatRatio(bill)}</td>`);
			return `<tr><th scope="row"><bdi>${escapeHtml(policy)}</bdi></th>${cells.join("")}</tr>`;
		});
	const groups = faultPrices.map((price) => ({ name: `${price} ×`, headings: ["Rank", "× raw"] }));
	return groupedTable({ caption: "Ranking by the price of a fault", groups, rows });
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
<noscript><p class="note">The plots need JavaScript, which is off; all figures are in the tables.</p></noscript>`;

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
			: "in prices of one input token of the model: a token read from the provider’s cache and one written to it count as the prices say";
	return `<section aria-labelledby="reading">
<h2 id="reading">How to read this</h2>
<dl>
<dt>Raw</dt><dd>Nothing is masked: each call is sent the whole conversation until then.</dd>
<dt>Billed</dt><dd>Input of all calls, ${billed}. “× raw” compares it with doing nothing; “worst” is the largest of one conversation.</dd>
<dt>Faults</dt><dd>Calls whose answer uses a string that was only in masked results. Each is billed as one more call that recalls the result, which then stays in view for a while, times the price of a fault in the policy. “With output” adds the tokens of the answers, on both sides.</dd>
<dt>Context</dt><dd>Tokens that the calls are sent. “Of raw” is their sum against that of raw, “over window” the calls that would not have fitted the model’s context window, where that is known.</dd>
<dt>Recall</dt><dd>Of the identifiers and whole lines that assistant messages used and that were only in tool results until then, the share still in view when used; in digests: the share that a placeholder’s digest showed instead.</dd>
<dt>Placeholders</dt><dd>The text in the place of a masked tool result.</dd>
</dl>
<p class="note">Tokens are those of the counter that the policy names. Of a conversation with more than ${formatCount(mostDrawnCalls)} LLM calls, plots show that many. Plots are drawn with uPlot (MIT licence). This page makes no request.</p>
</section>`;
}

type Columns = Readonly<Record<string, (figures: PolicyFigures, unit: BilledUnit) => string>>;

const recallColumns = (kind: "identifiers" | "lines"): Columns => ({
	"In view": ({ recall }) => formatShare(recall[kind]),
	"In digests": ({ recall_in_digests }) => formatShare(recall_in_digests[kind]),
});

const groups: Readonly<Record<string, Columns>> = {
	Cost: {
		Billed: ({ billed }, unit) => formatCost(billed, unit),
		"× raw": ({ ratio_to_raw }) => formatRatio(ratio_to_raw),
		"× raw, worst": ({ worst_ratio_to_raw }) => formatRatio(worst_ratio_to_raw),
	},
	"Cost with faults": {
		"Faults in 100": ({ faults_per_100_calls }) => faults_per_100_calls.toFixed(2),
		Billed: ({ billed_with_faults }, unit) => formatCost(billed_with_faults, unit),
		"× raw": ({ ratio_with_faults }) => formatRatio(ratio_with_faults),
		"At least": ({ bound_with_faults }) => formatRatio(bound_with_faults),
		"× raw, worst": ({ worst_ratio_with_faults }) => formatRatio(worst_ratio_with_faults),
		"With output": ({ ratio_with_output }) => formatRatio(ratio_with_output),
	},
	"Recall of identifiers": recallColumns("identifiers"),
	"Recall of lines": recallColumns("lines"),
	Context: {
		"Of raw": ({ average_context_ratio }) => formatShare(average_context_ratio),
		"Peak tokens": ({ peak_context_tokens }) => formatCount(peak_context_tokens),
		"Over window": ({ calls_over_window, calls_of_known_window }) =>
			calls_of_known_window === 0 ? "–" : formatCount(calls_over_window),
		Masked: ({ masked_tool_results }) => formatCount(masked_tool_results),
	},
	Sent: {
		Conversations: ({ conversations }) => formatCount(conversations),
		Calls: ({ llm_calls }) => formatCount(llm_calls),
		"Input tokens": ({ input_tokens }) => formatCount(input_tokens),
		"From cache": ({ cached_tokens }) => formatCount(cached_tokens),
		"Output tokens": ({ output_tokens }) => formatCount(output_tokens),
	},
};

const ofSeveral: ReadonlySet<string> = new Set(["× raw, worst", "Conversations"]);

const formatRatio = (value: number | null) => (value === null ? "–" : value.toFixed(3));

function figuresTable(table: {
	readonly policies: readonly PolicyFigures[];
	readonly caption: string;
	readonly unit: BilledUnit;
	readonly several: boolean;
}): string {
	const { policies, caption, unit, several } = table;
	const shown = Object.entries(groups).map(([group, all]) => {
		const columns = Object.entries(all).filter(([heading]) => several || !ofSeveral.has(heading));
		return { columns, name: group, headings: columns.map(([heading]) => heading) };
	});
	const rows = policies.map((figures) => {
		const cells = shown.flatMap(({ columns }) =>
			columns.map(([, cell], index) => `<td${first(index)}>${escapeHtml(cell(figures, unit))}</td>`),
		);
		return `<tr><th scope="row"><bdi>${escapeHtml(figures.policy)}</bdi></th>${cells.join("")}</tr>`;
	});
	return groupedTable({ caption, groups: shown, rows });
}

/** A table of policies whose columns have a heading of their own and one of their group. */
function groupedTable(table: {
	readonly caption: string;
	readonly groups: readonly { readonly name: string; readonly headings: readonly string[] }[];
	readonly rows: readonly string[];
}): string {
	const caption = escapeHtml(table.caption);
	const spans = table.groups.map(({ headings }) => `<colgroup span="${headings.length}"></colgroup>`);
	const over = table.groups.map(
		({ name, headings }) => `<th scope="colgroup" colspan="${headings.length}">${escapeHtml(name)}</th>`,
	);
	const under = table.groups.flatMap(({ headings }) =>
		headings.map((heading, index) => `<th scope="col"${first(index)}>${escapeHtml(heading)}</th>`),
	);
	return `<div class="scrolls" role="region" tabindex="0" aria-label="${caption}">
<table class="figures">
<caption>${caption}</caption>
<colgroup></colgroup>${spans.join("")}
<thead>
<tr><th rowspan="2" scope="col">Policy</th>${over.join("")}</tr>
<tr>${under.join("")}</tr>
</thead>
<tbody>
${table.rows.join("\n")}
</tbody>
</table>
</div>`;
}

/** The style sheet draws a line before each group. */
const first = (index: number) => (index === 0 ? ' class="first"' : "");

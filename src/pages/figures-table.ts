import type { PolicyFigures } from "../pipeline/replay/replay-report.ts";
import { escapeHtml } from "./escape-html.ts";
import { formatCost, formatCount, formatRatio, formatShare } from "./format-number.ts";
import type { BilledUnit } from "./replay-page-data.ts";

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

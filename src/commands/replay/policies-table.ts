import type { Rates } from "../../pipeline/replay/rates.ts";
import type { PolicyFigures } from "../../pipeline/replay/replay-report.ts";

type Unit = Rates["unit"];

interface Column {
	/** Two lines of heading. */
	readonly heading: readonly [string, string];
	readonly cell: (figures: PolicyFigures, unit: Unit) => string;
}

const none = "–";
const longestName = 18;

const columns: readonly Column[] = [
	{ heading: ["", "policy"], cell: ({ policy }) => shortened(policy) },
	{ heading: ["", "billed"], cell: ({ billed }, unit) => (unit === "us_dollars" ? dollars(billed) : whole(billed)) },
	{ heading: ["", "× raw"], cell: ({ ratio_to_raw }) => ratio(ratio_to_raw) },
	{ heading: ["", "worst"], cell: ({ worst_ratio_to_raw }) => ratio(worst_ratio_to_raw) },
	{ heading: ["×", "optimum"], cell: ({ ratio_to_optimum }) => ratio(ratio_to_optimum) },
	{ heading: ["context", "× raw"], cell: ({ average_context_ratio }) => ratio(average_context_ratio) },
	{ heading: ["", "peak"], cell: ({ peak_context_tokens }) => whole(peak_context_tokens) },
	{
		heading: ["over", "window"],
		cell: (figures) => (figures.calls_of_known_window === 0 ? none : whole(figures.calls_over_window)),
	},
	{ heading: ["", "masked"], cell: ({ masked_tool_results }) => whole(masked_tool_results) },
	{ heading: ["", "identifiers"], cell: ({ recall }) => ratio(recall.identifiers) },
	{ heading: ["", "lines"], cell: ({ recall }) => ratio(recall.lines) },
	{ heading: ["+ in", "digests"], cell: ({ recall_in_digests }) => share(recall_in_digests.identifiers) },
];

/** What each policy costs and keeps, as a table of at most 120 columns while numbers have up to nine digits. */
export function policiesTable(policies: readonly PolicyFigures[], unit: Unit): string {
	const rows = [
		columns.map(({ heading }) => heading[0]),
		columns.map(({ heading }) => heading[1]),
		...policies.map((figures) => columns.map(({ cell }) => cell(figures, unit))),
	];
	const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
	const lines = rows.map((row) => {
		const cells = row.map((cell, index) => {
			const width = widths[index] ?? 0;
			return index === 0 ? cell.padEnd(width) : cell.padStart(width);
		});
		return cells.join("  ").trimEnd();
	});
	return `${lines.join("\n")}\n`;
}

function ratio(value: number | null): string {
	return value === null ? none : value.toFixed(3);
}

function share(value: number | null): string {
	return value === null || value === 0 ? none : value.toFixed(3);
}

/** A whole number, a space before each three digits. */
export function whole(value: number): string {
	return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, " ");
}

function dollars(value: number): string {
	const decimals = value >= 100 ? 0 : value >= 1 ? 2 : 4;
	return `$${value.toFixed(decimals)}`;
}

/** The end of a path says most. */
function shortened(name: string): string {
	return name.length <= longestName ? name : `…${name.slice(1 - longestName)}`;
}

import type { MaskingFigures, PolicyFigures, PricingFigures, ReplayReport } from "../engine/replaying/report.ts";
import { alignColumns } from "../operations/report-text.ts";
import { endOf } from "../operations/text-width.ts";
import { whole } from "../operations/window-words.ts";
import { savingSentence } from "../pages/replay-data.ts";
import { shownName } from "./input-output.ts";

/** Up to this many files, each has its own table. */
const fewFiles = 3;

interface Shown {
	/** A table for each file, though they are many. */
	readonly eachFile: boolean;
	/** Every figure, in place of those that decide. */
	readonly all: boolean;
}

/** A sentence, then a table of the policies. */
export function replayText(report: ReplayReport, { eachFile, all }: Shown): string {
	const { policies, files, billed_in } = report;
	const tableFor = all ? policiesTable : decidingTable;
	const sentence = savingSentence(report);
	const parts = [...(sentence === undefined ? [] : [`${sentence}\n`]), `${conversationsOf(report)}\n`];
	parts.push(tableFor(policies, billed_in));
	if (all) {
		parts.push([`billed: ${billedAs(report)}`, ...legendOf(policies), recallLegend, ""].join("\n"));
		if (policies.some(({ repeated_tokens }) => repeated_tokens > 0)) parts.push(repeatsLegend);
		if (policies.some(({ reasoning }) => reasoning)) parts.push(reasoningLegend);
		if (policies.some(hasPauses)) parts.push(pausesLegend);
	} else parts.push([`cost: ${billedAs(report)}`, ...decidingLegend, ""].join("\n"));
	if (files.length > 1 && (eachFile || files.length <= fewFiles)) {
		for (const one of files) parts.push(`${shownName(one.file)}\n${tableFor(one.policies, billed_in)}`);
	}
	return parts.join("\n");
}

/** A table of costs for each model that prices the same conversations. */
export function modelsText(
	models: readonly { readonly model: string; readonly report: ReplayReport }[],
	{ all }: Pick<Shown, "all">,
): string {
	const tables = models.flatMap(({ model, report }) => {
		const { policies, prices, billed_in } = report;
		const titles = prices.map(({ model: priced, ...pricing }) => {
			const name = priced === null || priced === model ? model : `${model}, priced as ${priced}`;
			return `${priceText({ model: name, ...pricing })}\n`;
		});
		const sentence = savingSentence(report);
		const said = sentence === undefined ? [] : [`${sentence}\n`];
		return [...titles, ...said, all ? costsTable(policies, billed_in) : decidingTable(policies, billed_in)];
	});
	const legend = all ? ["billed: input", ...legendOf(models.flatMap(({ report }) => report.policies))] : decidingLegend;
	const [{ report: first }] = models as [(typeof models)[number]];
	return [`${conversationsOf(first)}\n`, ...tables, [...legend, ""].join("\n")].join("\n");
}

function conversationsOf({ policies, files }: ReplayReport): string {
	const [first] = files;
	const of = first && files.length === 1 ? shownName(first.file) : `${whole(files.length)} conversations`;
	return `${of}, ${whole(policies[0]?.llm_calls ?? 0)} LLM calls`;
}

function billedAs({ prices, billed_in }: ReplayReport): string {
	const isInDollars = billed_in === "us_dollars";
	const [only, ...others] = prices;
	if (only && others.length === 0) {
		const unit = isInDollars ? "US dollars" : "prices of an input token";
		return `input, in ${unit}, ${priceText({ ...only, model: only.model ?? "by --prices or [prices]" })}`;
	}
	const unit = isInDollars
		? "in US dollars, by the model of each conversation"
		: "in prices of an input token of each conversation's model, since some dollars are unknown";
	const each = prices
		.toSorted((a, b) => b.conversations - a.conversations)
		.map((one) => {
			return `  ${one.conversations} × ${priceText({ ...one, model: one.model ?? "unknown model, by [prices]" })}`;
		});
	return [`input, ${unit}:`, ...each].join("\n");
}

function priceText({ model, cache_read, cache_write, output, steps }: PricingFigures): string {
	const short = (value: number) => String(Number(value.toPrecision(4)));
	const over = steps.map(
		(step) => `; over ${whole(step.over)} tokens ${short(step.input)} ×, output ${short(step.output)} ×`,
	);
	return `${model}: read ${short(cache_read)}, write ${short(cache_write)}, output ${short(output)}${over.join("")}`;
}

function legendOf(policies: readonly PolicyFigures[]): string[] {
	return policies.some(({ price_step }) => price_step) ? [...legend, stepLegend] : legend;
}

const legend = [
	"× raw: against masking nothing; worst: of one conversation",
	"faults: calls of 100 that need a masked result; with faults: billed with one more call for each, × raw",
	"at least: no choice of results and moments has a lower bill with so many faults",
	"with output: the same with the answers, × raw; its share: the answers' part of that bill",
];
const decidingLegend = [
	"with one more call for each fault, as are saved (against raw) and worst (what one session saved least)",
	"faults: calls of 100 that need a masked result and read it again; all figures: --all",
];
const stepLegend =
	"price step: calls over it; the bill with faults, × raw, of conversations that pass it if nothing is masked";

const recallLegend =
	"identifiers, lines: of those that the agent took from tool results, the share in view at that call";

const repeatsLegend = "repeats: tokens that new results do not bring again, since they are in view\n";

const reasoningLegend =
	"reasoning: bound to earlier messages, so that masking left it out; its share of all; output billed to produce a part again\n";

const pausesLegend = `expired: calls after a pause that the provider's cache did not outlive; of the bill: their share of billed
never expired: with faults, × raw, if the cache outlived every pause; kept warm: the same by palimpsest proxy --keep-warm
stays open: kept warm, and every program stays open for longer than that after its last call
`;

/** Whether a call came after the cache had expired. */
function hasPauses({ pauses }: PolicyFigures): boolean {
	return pauses !== undefined && pauses.expired_calls > 0;
}

type Unit = ReplayReport["billed_in"];

interface Column {
	readonly heading: readonly [string, string];
	readonly cell: (figures: PolicyFigures, unit: Unit) => string;
}

const costs: readonly Column[] = [
	{ heading: ["", "policy"], cell: ({ policy }) => endOf(policy, longestName) },
	{ heading: ["", "billed"], cell: ({ billed }, unit) => (unit === "us_dollars" ? dollars(billed) : whole(billed)) },
	{ heading: ["", "× raw"], cell: ({ ratio_to_raw }) => ratio(ratio_to_raw) },
	{ heading: ["", "worst"], cell: ({ worst_ratio_to_raw }) => ratio(worst_ratio_to_raw) },
	{ heading: ["faults", "in 100"], cell: ({ faults_per_100_calls }) => faults_per_100_calls.toFixed(2) },
	{ heading: ["with", "faults"], cell: ({ ratio_with_faults }) => ratio(ratio_with_faults) },
	{ heading: ["at", "least"], cell: ({ bound_with_faults }) => ratio(bound_with_faults) },
	{ heading: ["", "worst"], cell: ({ worst_ratio_with_faults }) => ratio(worst_ratio_with_faults) },
	{ heading: ["with", "output"], cell: ({ ratio_with_output }) => ratio(ratio_with_output) },
	{ heading: ["its", "share"], cell: ({ output_share }) => output_share.toFixed(2) },
];

/** The figures that decide, with the cost of faults. */
const deciding: readonly Column[] = [
	{ heading: ["", "policy"], cell: ({ policy }) => endOf(policy, longestName) },
	{
		heading: ["", "cost"],
		cell: ({ billed_with_faults: cost }, unit) => (unit === "us_dollars" ? dollars(cost) : whole(cost)),
	},
	{ heading: ["", "saved"], cell: ({ ratio_with_faults }) => percentSaved(ratio_with_faults) },
	{ heading: ["", "faults"], cell: ({ faults_per_100_calls }) => faults_per_100_calls.toFixed(2) },
	{ heading: ["", "worst"], cell: ({ worst_ratio_with_faults }) => percentSaved(worst_ratio_with_faults) },
];

const priceSteps: readonly Column[] = [
	{ heading: ["price", "step"], cell: ({ price_step }) => whole(price_step?.calls_over ?? 0) },
	{ heading: ["with", "faults"], cell: ({ price_step }) => ratio(price_step?.ratio_with_faults ?? null) },
];

const contexts: readonly Column[] = [
	{ heading: ["", ""], cell: ({ policy }) => endOf(policy, longestName) },
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

const repeats: readonly Column[] = [
	{ heading: ["repeats", "left out"], cell: ({ repeated_tokens }) => whole(repeated_tokens) },
];

const reasonings: readonly Column[] = [
	{ heading: ["reasoning", "left out"], cell: ({ reasoning }) => whole(reasoning?.left_out_tokens ?? 0) },
	{ heading: ["", "share"], cell: ({ reasoning }) => ratio(reasoning?.left_out_share ?? 0) },
	{ heading: ["produced", "again"], cell: ({ reasoning }) => whole(reasoning?.redone_tokens ?? 0) },
];

const pauses: readonly Column[] = [
	{ heading: ["", ""], cell: ({ policy }) => endOf(policy, longestName) },
	{ heading: ["", "expired"], cell: ({ pauses }) => whole(pauses?.expired_calls ?? 0) },
	{ heading: ["of the", "bill"], cell: ({ pauses }) => ratio(pauses?.expired_share_of_bill ?? null) },
	{ heading: ["never", "expired"], cell: ({ pauses }) => ratio(pauses?.ratio_never_expired ?? null) },
	{ heading: ["kept", "warm"], cell: ({ pauses }) => ratio(pauses?.ratio_kept_warm ?? null) },
	{ heading: ["stays", "open"], cell: ({ pauses }) => ratio(pauses?.ratio_kept_warm_open ?? null) },
];

/**
 * A table of costs, one of contexts, and one of pauses that the cache did not outlive, each of at most 120 columns for
 * numbers of up to nine digits, without price steps.
 */
function policiesTable(policies: readonly PolicyFigures[], unit: Unit): string {
	const hasReasoning = policies.some(({ reasoning }) => reasoning !== undefined);
	const hasRepeats = policies.some(({ repeated_tokens }) => repeated_tokens > 0);
	const columns = [...contexts, ...(hasRepeats ? repeats : []), ...(hasReasoning ? reasonings : [])];
	const ofContext = tableOf(policies, { columns, unit });
	const ofPauses = policies.some(hasPauses) ? [tableOf(policies, { columns: pauses, unit })] : [];
	return [costsTable(policies, unit), ofContext, ...ofPauses].join("\n");
}

function decidingTable(policies: readonly PolicyFigures[], unit: Unit): string {
	return tableOf(policies, { columns: deciding, unit });
}

function costsTable(policies: readonly PolicyFigures[], unit: Unit): string {
	const hasStep = policies.some(({ price_step }) => price_step !== undefined);
	return tableOf(policies, { columns: hasStep ? [...costs, ...priceSteps] : costs, unit });
}

function tableOf(
	policies: readonly PolicyFigures[],
	{ columns, unit }: { readonly columns: readonly Column[]; readonly unit: Unit },
): string {
	const upper = columns.map(({ heading }) => heading[0]);
	return table([
		...(upper.some((word) => word !== "") ? [upper] : []),
		columns.map(({ heading }) => heading[1]),
		...policies.map((figures) => columns.map(({ cell }) => cell(figures, unit))),
	]);
}

/** docs/measure.md#offline-figures, a line for each file. */
export function maskingTable(rows: readonly ({ readonly file: string } & MaskingFigures)[]): string {
	return table([
		["file", "masked", "tool characters", "tokens"],
		...rows.map((row) => [
			shownName(row.file),
			String(row.masked_tool_results),
			`${row.tool_chars_before} → ${row.tool_chars_after}`,
			`${row.tokens_before} → ${row.tokens_after}`,
		]),
	]);
}

function table(rows: readonly (readonly string[])[]): string {
	return alignColumns(rows)
		.map((line) => `${line.trimEnd()}\n`)
		.join("");
}

const none = "–";

function ratio(value: number | null): string {
	return value === null ? none : value.toFixed(3);
}

function percentSaved(ratio: number): string {
	return `${((1 - ratio) * 100)
		.toFixed(1)
		.replace(/^-(?=0\.0$)/, "")
		.replace("-", "−")} %`;
}

function share(value: number | null): string {
	return ratio(value === 0 ? null : value);
}

function dollars(value: number): string {
	const decimals = value >= 100 ? 0 : value >= 1 ? 2 : 4;
	return `$${value.toFixed(decimals)}`;
}

const longestName = 24;

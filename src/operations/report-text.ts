import { countingWords } from "./count.ts";
import type { ContextReport, PresetOutcome } from "./report.ts";

interface ContextTextStyle {
	/** At least 40. */
	readonly columns: number;
	readonly bars: BarStyle;
}

const mostTools = 12;

export function contextText(report: ContextReport, style: ContextTextStyle): string {
	const how = { ...style, columns: Math.max(40, style.columns) };
	const { tokens, by_role, biggest_results } = report;
	const largestRole = by_role[0]?.tokens ?? 0;
	const blocks = [
		summary(report, how),
		textTable({
			headings: ["By role", "tokens", "share", "messages"],
			rows: by_role.map(({ role, tokens: own, messages }) => ({
				cells: [role === "tool" ? "tool results" : role, whole(own), share(own / tokens), whole(messages)],
				part: own / largestRole,
			})),
			...how,
		}),
	];
	if (biggest_results.length > 0) blocks.push(toolTable(report, how), biggestTable(report, how));
	blocks.push(presetTable(report, how), legend(report));
	if (report.notes.length > 0) blocks.push(report.notes.join("\n"));
	return `${blocks.join("\n\n")}\n`;
}

const columnsOfFiles = 100;
const mostColumns = 140;

/** ASCII for `NO_COLOR` (https://no-color.org), in a `dumb` terminal and without a terminal. */
export function styleOfStream(
	{ isTTY, columns }: { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined },
	{ NO_COLOR, TERM }: Readonly<Record<string, string | undefined>>,
): ContextTextStyle {
	const isPlain = isTTY !== true || (NO_COLOR ?? "") !== "" || TERM === "dumb";
	return {
		// A terminal that does not know its width says 0.
		columns: isTTY === true ? Math.min(mostColumns, columns || columnsOfFiles) : columnsOfFiles,
		bars: isPlain ? "ascii" : "blocks",
	};
}

function summary(report: ContextReport, { columns, bars }: ContextTextStyle): string {
	const { model, tokens, messages, tool_turns, context_window: window, budget_tokens: budget } = report;
	const of = `${counted(messages, "message")}, ${counted(tool_turns, "tool turn")}`;
	const lines = [
		`${model === null ? "" : `${onOneLine(model)}: `}${whole(tokens)} tokens, ${of}`,
		`tokens ${countingWords(report)}`,
	];
	if (window === null || budget === null) {
		lines.push("The context window is not known: name the model, or give the window.");
		return lines.join("\n");
	}
	const room = budget - tokens;
	const left = room >= 0 ? `${whole(room)} left` : `${whole(-room)} too many`;
	lines.push(`${share(tokens / window)} of a window of ${whole(window)}; budget ${whole(budget)}, ${left}`);
	const width = Math.min(60, columns);
	if (bars !== "none") {
		const full = textBar(tokens / window, { width, style: bars });
		lines.push(full + (bars === "blocks" ? "░" : ".").repeat(Math.max(0, width - full.length)));
	}
	return lines.join("\n");
}

function toolTable({ by_tool, tokens }: ContextReport, style: ContextTextStyle): string {
	const [shown, others] = [by_tool.slice(0, mostTools), by_tool.slice(mostTools)];
	const sum = (key: "tokens" | "results") => others.reduce((all, one) => all + one[key], 0);
	const rest =
		others.length === 0 ? [] : [{ tool: `${others.length} others`, tokens: sum("tokens"), results: sum("results") }];
	const largest = by_tool[0]?.tokens ?? 0;
	return textTable({
		headings: ["By tool", "tokens", "share", "results"],
		rows: [...shown, ...rest].map((one) => ({
			cells: [one.tool ?? unknown, whole(one.tokens), share(one.tokens / tokens), whole(one.results)],
			part: one.tokens / largest,
		})),
		...style,
	});
}

function biggestTable({ biggest_results }: ContextReport, style: ContextTextStyle): string {
	return textTable({
		headings: ["Biggest results", "tokens", "age", "used", "stale", "message", "of"],
		rows: biggest_results.map((one) => ({
			cells: [
				one.tool ?? unknown,
				whole(one.tokens),
				whole(one.age_turns),
				yesOrNo(one.used_since),
				yesOrNo(one.stale),
				String(one.message),
				one.target ?? onOneLine(one.call_id ?? ""),
			],
		})),
		endsWithText: true,
		...style,
	});
}

function presetTable({ presets, tokens }: ContextReport, style: ContextTextStyle): string {
	return textTable({
		headings: ["Preset", "after", "freed", "fits", "rewritten", "pays after", "masked", "cut", "dropped"],
		rows: presets.map((one) => ({
			cells: [
				one.preset,
				whole(one.tokens_after),
				whole(one.freed_tokens),
				one.fits === null ? "–" : yesOrNo(one.fits),
				whole(one.rewritten_tokens),
				paysAfter(one),
				whole(one.masked),
				whole(one.truncated),
				whole(one.dropped),
			],
			part: one.tokens_after / tokens,
		})),
		// The column after "rewritten" includes its cost.
		spare: ["rewritten", "cut", "masked", "dropped"],
		...style,
	});
}

function paysAfter({ freed_tokens, calls_to_break_even }: PresetOutcome): string {
	if (calls_to_break_even === null) return freed_tokens === 0 ? "–" : "never";
	return calls_to_break_even === 0 ? "at once" : counted(calls_to_break_even, "call");
}

function legend({ biggest_results }: ContextReport): string {
	const ofResults = [
		"age: tool turns since; stale: the same text or call came again",
		"used: an answer took text from it that was nowhere else",
	];
	return [
		...(biggest_results.length === 0 ? [] : ofResults),
		"rewritten: tokens from the first change on, which the cache stores again",
		"pays after: calls until the freed tokens have paid for that",
	].join("\n");
}

const unknown = "unknown";
const yesOrNo = (value: boolean): string => (value ? "yes" : "no");

export function whole(value: number): string {
	return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, " ");
}

function counted(count: number, what: string): string {
	return `${whole(count)} ${what}${count === 1 ? "" : "s"}`;
}

function share(part: number): string {
	return Number.isFinite(part) ? `${(100 * part).toFixed(1)} %` : "–";
}

/** Removes control characters, because names and ids could carry commands for a terminal. */
function onOneLine(text: string): string {
	return text
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
		.trim()
		.slice(0, 80);
}

interface TextTable extends ContextTextStyle {
	readonly headings: readonly string[];
	readonly rows: readonly { readonly cells: readonly string[]; readonly part?: number }[];
	readonly endsWithText?: boolean;
	/** Headings of columns to omit, in this order, if lines are too long. */
	readonly spare?: readonly string[];
}

const gap = "  ";
const longestName = 32;
const bar = { shortest: 4, longest: 40 };

function textTable(table: TextTable): string {
	const { headings, rows, columns, bars, endsWithText = false, spare = [] } = table;
	const lines = [headings, ...rows.map(({ cells }) => cells)].map(([name = "", ...cells]) => [
		endOf(name, longestName),
		...cells,
	]);
	const last = headings.length - 1;
	const written = alignColumns(lines, (index) => index === 0 || (endsWithText && index === last));
	if (endsWithText) {
		const start = (written[0]?.length ?? 0) - Math.max(...lines.map((cells) => cells[last]?.length ?? 0));
		const cut = (line: string) =>
			line.slice(0, start) + endOf(line.slice(start).trimEnd(), Math.max(2, columns - start));
		return written.map((line) => cut(line).trimEnd()).join("\n");
	}
	const length = written[0]?.length ?? 0;
	const [least, ...others] = spare;
	if (length > columns && least !== undefined) {
		const column = headings.indexOf(least);
		const without = rows.map((row) => ({ ...row, cells: row.cells.toSpliced(column, 1) }));
		return textTable({ ...table, headings: headings.toSpliced(column, 1), rows: without, spare: others });
	}
	const width = Math.min(bar.longest, columns - length - gap.length);
	const barOf = (part = 0) => (width >= bar.shortest ? textBar(part, { width, style: bars }) : "");
	return written.map((line, index) => (line + gap + barOf(rows[index - 1]?.part)).trimEnd()).join("\n");
}

/** Cuts at the beginning, because paths differ at their ends. */
export function endOf(text: string, longest: number): string {
	return text.length <= longest ? text : `…${text.slice(1 - longest)}`;
}

export function alignColumns(
	rows: readonly (readonly string[])[],
	isText: (index: number) => boolean = (index) => index === 0,
): string[] {
	const widths = rows[0]?.map((_, index) => Math.max(...rows.map((cells) => cells[index]?.length ?? 0))) ?? [];
	const padded = (cell: string, index: number) =>
		isText(index) ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0);
	return rows.map((cells) => cells.map(padded).join(gap));
}

/** Blocks are exact to an eighth of a character. */
type BarStyle = "blocks" | "ascii" | "none";

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** `part` is from 0 to 1; above 0 it shows at least a little. */
function textBar(part: number, { width, style }: { readonly width: number; readonly style: BarStyle }): string {
	const share = Math.min(1, Math.max(0, Number.isNaN(part) ? 0 : part));
	if (style === "none" || share === 0) return "";
	if (style === "ascii") return "#".repeat(Math.max(1, Math.round(share * width)));
	const parts = Math.max(1, Math.round(share * width * 8));
	return "█".repeat(parts >> 3) + (eighths[parts & 7] ?? "");
}

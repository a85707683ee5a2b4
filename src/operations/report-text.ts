import { countingWords } from "./count.ts";
import type { ContextReport } from "./report.ts";
import type { PresetOutcome } from "./report-presets.ts";
import { columnsOf, endOf } from "./text-width.ts";
import {
	counted,
	groupName,
	maskingWords,
	type PartShare,
	partNames,
	priceStepWords,
	repeatedWords,
	share,
	shownGroups,
	unrecordedWords,
	whole,
} from "./window-words.ts";

interface ContextTextStyle {
	/** At least 40. */
	readonly columns: number;
	readonly bars: BarStyle;
}

/** What fills the window, in one screen; `all` adds the biggest results and the presets. */
export function contextText(report: ContextReport, style: ContextTextStyle & { readonly all?: boolean }): string {
	const how = { ...style, columns: Math.max(40, style.columns) };
	const { tokens, biggest_results, by_part, unrecorded_tokens, masking, repeated_tokens, notes } = report;
	const head = summary(report, how);
	const twice = repeatedWords(repeated_tokens, tokens) ?? [];
	const foot = [maskingWords(masking, tokens), ...presetWords(report)]
		.concat(twice)
		.flatMap((words) => wrapped(words, how.columns));
	const notesText = notes.flatMap((note) => wrapped(note, how.columns));
	const ofNotes = notesText.length === 0 ? 0 : notesText.length + 1;
	const rows = linesOfScreen - head.length - foot.length - ofNotes - 2;
	const blocks = [
		head.join("\n"),
		windowTable({ by_part, tokens, unrecorded_tokens }, { ...how, rows }),
		foot.join("\n"),
	];
	if (how.all) {
		if (biggest_results.length > 0) blocks.push(biggestTable(report, how));
		blocks.push(presetTable(report, how), legend(report));
	}
	if (notesText.length > 0) blocks.push(notesText.join("\n"));
	return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

const linesOfScreen = 24;
const fewestGroups = 1;

/**
 * The parts of a window, with the tools by server and the results by tool in as many lines as are left of `rows`. Every face
 * that answers what fills a window shows this table.
 */
export function windowTable(
	{ by_part, tokens, unrecorded_tokens }: Pick<ContextReport, "by_part" | "tokens" | "unrecorded_tokens">,
	{ rows, ...style }: ContextTextStyle & { readonly rows: number },
): string {
	const parts = by_part.filter((part) => part.tokens !== null && part.tokens !== 0);
	const absent = unrecordedWords(by_part, unrecorded_tokens);
	const free = Math.max(fewestGroups, rows - 1 - parts.length - (absent === undefined ? 0 : 1));
	const groupsOf = (name: PartShare["part"]) => parts.filter(({ part }) => part === name).flatMap(shownGroups).length;
	const ofServers = Math.min(groupsOf("tools"), Math.max(Math.floor(free / 3), free - groupsOf("tool_results")));
	const lines = parts.flatMap((part) => [
		{ ...part, name: partNames[part.part], count: countIn(part), frees: freedIn(part) },
		...folded(part.part, shownGroups(part), part.part === "tools" ? ofServers : free - ofServers),
	]);
	const largest = Math.max(...parts.map((part) => part.tokens ?? 0));
	const table = textTable({
		headings: ["What fills it", "count", "tokens", "share", "masking frees"],
		rows: lines.map((one) => ({
			cells: [
				one.name,
				one.count === undefined ? "" : whole(one.count),
				whole(one.tokens ?? 0),
				share((one.tokens ?? 0) / tokens),
				one.frees === undefined ? "" : whole(one.frees),
			],
			part: (one.tokens ?? 0) / largest,
		})),
		spare: ["count", "share"],
		...style,
	});
	return [...(lines.length > 0 ? [table] : []), ...(absent === undefined ? [] : wrapped(absent, style.columns))].join(
		"\n",
	);
}

/** The largest groups of a part, and the sum of the others. */
function folded(part: PartShare["part"], groups: PartShare["groups"], most: number) {
	const isResults = part === "tool_results";
	if (most === 0) return [];
	const shown = groups.length <= most ? groups : groups.slice(0, most - 1);
	const rest = groups.slice(shown.length);
	const sum = (key: "tokens" | "count" | "freed_tokens") => rest.reduce((all, one) => all + one[key], 0);
	const sums = { tokens: sum("tokens"), count: sum("count"), freed_tokens: sum("freed_tokens") };
	return [
		...shown.map((group) => ({ ...group, name: groupName({ part }, group) })),
		...(rest.length > 0 ? [{ ...sums, name: `${rest.length} more` }] : []),
	].map(({ name, freed_tokens: freed, ...one }) => ({
		...one,
		name: `  ${endOf(onOneLine(name), longestName - 2)}`,
		frees: isResults ? freed : undefined,
	}));
}

function countIn({ groups }: PartShare): number | undefined {
	return groups.length > 0 ? groups.reduce((sum, { count }) => sum + count, 0) : undefined;
}

function freedIn({ part, groups }: PartShare): number | undefined {
	return part === "tool_results" ? groups.reduce((sum, one) => sum + one.freed_tokens, 0) : undefined;
}

/** The preset that frees most by masking, if that is more. */
function presetWords({ presets, masking }: ContextReport): string[] {
	const best = presets.filter(({ masked }) => masked > 0).toSorted((a, b) => b.freed_tokens - a.freed_tokens)[0];
	if (!best || best.freed_tokens <= (masking?.freed_tokens ?? 0)) return [];
	return [`The preset ${best.preset} would free ${whole(best.freed_tokens)}.`];
}

function wrapped(text: string, columns: number): string[] {
	const lines: string[] = [];
	for (const word of text.split(" ")) {
		const last = lines.at(-1);
		if (last === undefined || columnsOf(last) + 1 + columnsOf(word) > columns) lines.push(word);
		else lines[lines.length - 1] = `${last} ${word}`;
	}
	return lines;
}

const columnsOfFiles = 80;
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

function summary(report: ContextReport, { columns, bars }: ContextTextStyle): string[] {
	const { model, tokens, messages, tool_turns, context_window: window, budget_tokens: budget, price_steps } = report;
	const of = `${counted(messages, "message")}, ${counted(tool_turns, "tool turn")}`;
	const step = priceStepWords(tokens, price_steps);
	const lines = [
		`${model === null ? "" : `${endOf(onOneLine(model), columnsOfFiles - 1)}: `}${whole(tokens)} tokens, ${of}`,
		`tokens ${countingWords(report)}`,
		...(step === undefined ? [] : [step]),
	].flatMap((line) => wrapped(line, Math.max(columns, columnsOfFiles)));
	if (window === null || budget === null)
		return [...lines, "The context window is not known: name the model, or give the window."];
	const room = budget - tokens;
	const left = room >= 0 ? `${whole(room)} left` : `${whole(-room)} too many`;
	lines.push(`${share(tokens / window)} of a window of ${whole(window)}; budget ${whole(budget)}, ${left}`);
	const width = Math.min(60, columns);
	if (bars !== "none") {
		const full = textBar(tokens / window, { width, style: bars });
		lines.push(full + (bars === "blocks" ? "░" : ".").repeat(Math.max(0, width - full.length)));
	}
	return lines;
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

/** Removes control characters, because names and ids could carry commands for a terminal. */
function onOneLine(text: string): string {
	return text
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
		.trim()
		.slice(0, 80)
		.toWellFormed();
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
	if (endsWithText) {
		const starts = alignColumns(lines.map((cells) => cells.slice(0, -1)));
		const room = Math.max(2, columns - columnsOf(starts[0] ?? "") - gap.length);
		return starts
			.map((start, index) => `${start}${gap}${endOf(lines[index]?.at(-1) ?? "", room)}`.trimEnd())
			.join("\n");
	}
	const written = alignColumns(lines);
	const length = columnsOf(written[0] ?? "");
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

export function alignColumns(
	rows: readonly (readonly string[])[],
	isText: (index: number) => boolean = (index) => index === 0,
): string[] {
	const widths = rows[0]?.map((_, index) => Math.max(...rows.map((cells) => columnsOf(cells[index] ?? "")))) ?? [];
	const padded = (cell: string, index: number) => {
		const spaces = " ".repeat((widths[index] ?? 0) - columnsOf(cell));
		return isText(index) ? cell + spaces : spaces + cell;
	};
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

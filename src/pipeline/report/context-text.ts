import type { ContextReport, PresetOutcome } from "./context-report.ts";
import { type BarStyle, textBar } from "./text-bar.ts";
import { textTable } from "./text-table.ts";

/** How a report is written. */
export interface ContextTextStyle {
	/** Characters of a line at most; below 40 it is taken for 40. */
	readonly columns: number;
	readonly bars: BarStyle;
}

const narrowest = 40;
/** Tools that are listed; the others are added up. */
const mostTools = 12;

/** A context report as text: what fills the window, the biggest results, and what each preset would do. */
export function contextText(report: ContextReport, style: ContextTextStyle): string {
	const how = { ...style, columns: Math.max(narrowest, style.columns) };
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

function summary(report: ContextReport, { columns, bars }: ContextTextStyle): string {
	const { model, method, tokens, messages, tool_turns, context_window: window, budget_tokens: budget } = report;
	const of = `${counted(messages, "message")}, ${counted(tool_turns, "tool turn")}`;
	const about = method === "exact" ? "" : ` (${method})`;
	const lines = [`${model === null ? "" : `${onOneLine(model)}: `}${whole(tokens)} tokens${about}, ${of}`];
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
		// The cost of rewriting is in the column after it, too.
		spare: [4, 7, 6, 8],
		...style,
	});
}

function paysAfter({ freed_tokens, calls_to_break_even }: PresetOutcome): string {
	if (calls_to_break_even === null) return freed_tokens === 0 ? "–" : "never";
	return calls_to_break_even === 0 ? "at once" : counted(calls_to_break_even, "call");
}

function legend({ biggest_results }: ContextReport): string {
	return [
		...(biggest_results.length === 0
			? []
			: [
					"age: tool turns since; stale: read again, edited or repeated since",
					"used: an answer took something from it that stood nowhere else",
				]),
		"rewritten: tokens from the first change on, which the cache takes anew",
		"pays after: calls until what is freed has paid for that",
	].join("\n");
}

const unknown = "unknown";
const yesOrNo = (value: boolean): string => (value ? "yes" : "no");

/** A whole number, a space before each three digits. */
function whole(value: number): string {
	return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, " ");
}

function counted(count: number, what: string): string {
	return `${whole(count)} ${what}${count === 1 ? "" : "s"}`;
}

/** Of nothing, nothing is a share. */
function share(part: number): string {
	return Number.isFinite(part) ? `${(100 * part).toFixed(1)} %` : "–";
}

/** Names and ids may hold what a terminal would take for a command. */
function onOneLine(text: string): string {
	return text
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
		.trim()
		.slice(0, 80);
}

import { formatCount, formatShare } from "../replay-page.ts";
import { element } from "./elements.js";
import { barCell, noteOf, tableBlock, yesOrNo } from "./report-table.js";
import { partOfRole, windowBar } from "./window-bar.js";

/** @import { ContextReport } from "../../pipeline/report/context-report.ts" */

/**
 * Shows a context report in the place of what an element held before. It needs nothing but the report and the style
 * sheet of the page, so that it serves a page which carries the report as well as one that is sent it later.
 *
 * @param {HTMLElement} container
 * @param {ContextReport} report
 */
export function renderReport(container, report) {
	container.replaceChildren(
		element("p", { class: "lead" }, [summaryOf(report)]),
		windowBar(report),
		byRole(report),
		byTool(report),
		biggest(report),
		presets(report),
		...report.notes.map((note) => element("p", { class: "note" }, [note])),
	);
}

/** @param {ContextReport} report */
function summaryOf({ model, tokens, messages, tool_turns, context_window, budget_tokens }) {
	const held = `${formatCount(tokens)} tokens in ${counted(messages, "message")} and ${counted(tool_turns, "tool turn")}`;
	const ofModel = model === null ? "the context window" : `the context window of ${model}`;
	if (context_window === null) return `${held}. How large ${ofModel} is, is not known.`;
	const filled = `${held}: ${formatShare(tokens / context_window)} of ${ofModel}, ${formatCount(context_window)} tokens.`;
	if (budget_tokens === null) return filled;
	const room = budget_tokens - tokens;
	return room >= 0
		? `${filled} ${formatCount(room)} tokens are left of the budget of ${formatCount(budget_tokens)}.`
		: `${filled} That is ${formatCount(-room)} tokens over the budget of ${formatCount(budget_tokens)}.`;
}

/**
 * @param {number} number
 * @param {string} what
 */
const counted = (number, what) => `${formatCount(number)} ${what}${number === 1 ? "" : "s"}`;

/** @param {ContextReport} report */
function byRole({ by_role, tokens }) {
	return tableBlock({
		heading: "By role",
		headings: ["Role", "Tokens", "Share", "Characters", "Messages"],
		rows: by_role.map((one) => [
			barCell(partOfRole(one.role).name, one.tokens / tokens, partOfRole(one.role).property),
			formatCount(one.tokens),
			formatShare(one.tokens / (tokens || 1)),
			formatCount(one.chars),
			formatCount(one.messages),
		]),
		empty: "No messages.",
	});
}

/** @param {ContextReport} report */
function byTool({ by_tool, tokens }) {
	return tableBlock({
		heading: "Tool results by tool",
		headings: ["Tool", "Tokens", "Share", "Results"],
		rows: by_tool.map((one) => [
			barCell(one.tool ?? "unknown", one.tokens / tokens, "--part-results"),
			formatCount(one.tokens),
			formatShare(one.tokens / (tokens || 1)),
			formatCount(one.results),
		]),
		empty: "No tool results.",
	});
}

/** @param {ContextReport} report */
function biggest({ biggest_results, tokens }) {
	const largest = biggest_results[0]?.tokens ?? 1;
	return tableBlock({
		heading: "The biggest tool results",
		note: "Age: tool turns since it came. Used since: an answer took something from it that stood nowhere else; the bars of the others are grey. Stale: what it shows was read again, edited or repeated since.",
		headings: ["Tool", "Tokens", "Age", "Used since", "Stale", "Share", "Message", "Call"],
		rows: biggest_results.map((one) => [
			barCell(one.tool ?? "unknown", one.tokens / largest, one.used_since ? "--part-results" : "--unused", one.target),
			formatCount(one.tokens),
			formatCount(one.age_turns),
			yesOrNo(one.used_since),
			yesOrNo(one.stale),
			formatShare(one.tokens / (tokens || 1)),
			formatCount(one.message),
			element("code", {}, [one.call_id ?? "–"]),
		]),
		empty: "No tool results.",
	});
}

/** @param {ContextReport} report */
function presets({ presets: outcomes, tokens }) {
	return tableBlock({
		heading: "What each preset would free and cost",
		note: noteOf(tokens),
		headings: [
			"Preset",
			"Tokens after",
			"Freed",
			"Share",
			"Fits",
			"Masked",
			"Cut",
			"Dropped",
			"Rewritten",
			"Pays after",
		],
		rows: outcomes.map((one) => [
			barCell(one.preset, one.tokens_after / tokens, "--part-assistant"),
			formatCount(one.tokens_after),
			formatCount(one.freed_tokens),
			formatShare(one.freed_tokens / (tokens || 1)),
			one.fits === null ? "–" : yesOrNo(one.fits, "judged"),
			formatCount(one.masked),
			formatCount(one.truncated),
			formatCount(one.dropped),
			formatCount(one.rewritten_tokens),
			paysAfter(one),
		]),
		empty: "No presets were tried.",
	});
}

/** @param {ContextReport["presets"][number]} outcome */
function paysAfter({ freed_tokens, calls_to_break_even }) {
	if (freed_tokens === 0 && calls_to_break_even === null) return "–";
	if (calls_to_break_even === null) return "never";
	return calls_to_break_even === 0 ? "at once" : counted(calls_to_break_even, "call");
}

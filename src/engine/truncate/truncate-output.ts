import { fillTemplate } from "../../masking/template.ts";
import { shortNotice } from "./assemble-units.ts";
import { chooseStrategy } from "./choose-strategy.ts";
import type { Draft } from "./draft.ts";
import { fitBudget } from "./fit-budget.ts";
import { truncateHeadTail } from "./head-tail.ts";
import { lineStarts, omittedRanges, rangesBeforeStripping } from "./kept-ranges.ts";
import { stripEscapes } from "./strip-escapes.ts";
import type { OutputTruncation, TruncateOutputParameters } from "./truncation-types.ts";

/**
 * Shortens one output to what matters in it, by its structure and by what whoever asked for it is after. A text within
 * its budget is left as it is. The result is within the budget with all its notices, never longer than the text,
 * well-formed, and empty only where the budget has no room for a character; shortening it again changes nothing. It says
 * that something is left out wherever the budget has room for the shortest notice. Takes time in proportion to the text.
 */
export function truncateOutput(parameters: TruncateOutputParameters): OutputTruncation {
	const { text, budget, strategy, exact, stripAnsi, keepAnsi } = parameters;
	if (strategy === "head_tail" && exact) return truncateExactly(parameters, exact);
	const tokens = budget.unit === "tokens" ? budget.countTokens(text) : undefined;
	if ((tokens ?? text.length) <= budget.max) {
		const used = strategy === "auto" ? "head_tail" : strategy;
		return describe({ text, draft: whole(text), strategy: used, tokens, parameters });
	}
	// A lone surrogate is refused by the APIs that the text goes to; its stand-in takes the same room.
	const wellFormed = text.toWellFormed();
	const shown = keepAnsi || !stripAnsi ? wellFormed : stripEscapes(wellFormed, stripAnsi);
	const told = (draft: Draft, used: OutputTruncation["strategy"]): OutputTruncation => {
		const least = leastBudgetOf(parameters, used);
		const described = describe({ text, draft, strategy: used, tokens, parameters });
		return least === undefined ? described : { ...described, leastBudget: least };
	};
	if (shown === "") return told(nothing(parameters), "binary");
	const { strategy: used, shorten } = chooseStrategy(shown, parameters);
	const fits = budget.unit === "chars" ? shown.length <= budget.max : budget.countTokens(shown) <= budget.max;
	const fitted = fits && shown.length < text.length ? whole(shown) : fitBudget(shown, shorten, budget);
	const isMarked = fitted.notices.length > 0 || fitted.text === shown;
	const draft = isMarked ? fitted : (noticeAlone(parameters, used) ?? fitted);
	const moved = shown === wellFormed ? draft : { ...draft, kept: moveRanges(draft, wellFormed, shown) };
	if (draft.text === shown) return describe({ text, draft: moved, strategy: used, tokens, parameters });
	return told(moved, used);
}

function whole(text: string): Draft {
	return { text, kept: text === "" ? [] : [{ start: 0, end: text.length }], notices: [] };
}

/** What stands for a text of escape sequences alone: that they were left out, or a sign that there was something. */
function nothing(parameters: TruncateOutputParameters): Draft {
	const said = noticeAlone(parameters, "binary");
	if (said !== undefined) return said;
	const shown = fitsBudget("…", parameters) ? "…" : "";
	return { text: shown, kept: [], notices: shown === "" ? [] : [shown] };
}

/** The shortest notice and nothing else, as JSON where the text is JSON; `undefined` where it does not fit. */
function noticeAlone(parameters: TruncateOutputParameters, strategy: OutputTruncation["strategy"]): Draft | undefined {
	const { said, forms } = shortestNotice(parameters, strategy);
	const shown = forms.find((one) => fitsBudget(one, parameters));
	return shown === undefined ? undefined : { text: shown, kept: [], notices: [said] };
}

/** The shortest notice, and the forms in which it can stand for the whole text, the shortest of them last. */
function shortestNotice({ text, wording, ref }: TruncateOutputParameters, strategy: OutputTruncation["strategy"]) {
	const said = fillTemplate(shortNotice({ wording, ref }), { omitted_chars: text.length });
	if (strategy !== "json") return { said, forms: [said] };
	// An object stays an object, and a list a list.
	const json = JSON.stringify(said);
	const asObject = `{"_truncated":${json}}`;
	if (/^\s*\{/.test(text)) return { said, forms: [asObject] };
	return { said, forms: /^\s*\[/.test(text) ? [`[${asObject}]`, `[${json}]`] : [json] };
}

function fitsBudget(shown: string, { text, budget }: TruncateOutputParameters): boolean {
	return shown.length < text.length && sizeOf(shown, budget) <= budget.max;
}

function sizeOf(text: string, budget: TruncateOutputParameters["budget"]): number {
	return budget.unit === "chars" ? text.length : budget.countTokens(text);
}

/** The least budget with which a text that was cut says so; `undefined` where the budget is no smaller than that. */
function leastBudgetOf(
	parameters: TruncateOutputParameters,
	strategy: OutputTruncation["strategy"],
): number | undefined {
	const { text, budget } = parameters;
	const shortest = shortestNotice(parameters, strategy).forms.at(-1) as string;
	const whole = sizeOf(text, budget);
	const least = shortest.length < text.length ? Math.min(whole, sizeOf(shortest, budget)) : whole;
	return budget.max < least ? least : undefined;
}

function moveRanges({ kept }: Draft, before: string, after: string) {
	const starts = [lineStarts(before), lineStarts(after)] as const;
	return starts[0].length === starts[1].length ? rangesBeforeStripping(kept, ...starts) : [];
}

function truncateExactly(
	parameters: TruncateOutputParameters,
	{ limits, refOf }: NonNullable<TruncateOutputParameters["exact"]>,
): OutputTruncation {
	const { text } = parameters;
	const { text: cut, omitted } = truncateHeadTail(text, limits, refOf);
	if (!omitted) return describe({ text, draft: whole(text), strategy: "head_tail", tokens: undefined, parameters });
	const kept = [
		{ start: 0, end: omitted.start },
		{ start: omitted.end, end: text.length },
	].filter(({ start, end }) => end > start);
	const marker = cut.slice(omitted.start, cut.length - (text.length - omitted.end));
	const draft = { text: cut, kept, notices: marker === "" ? [] : [marker] };
	return describe({ text, draft, strategy: "head_tail", tokens: undefined, parameters });
}

function describe(given: {
	readonly text: string;
	readonly draft: Draft;
	readonly strategy: OutputTruncation["strategy"];
	readonly tokens: number | undefined;
	readonly parameters: TruncateOutputParameters;
}): OutputTruncation {
	const { text, draft, strategy, tokens, parameters } = given;
	const { budget } = parameters;
	const starts = lineStarts(text);
	const { omitted, omittedLines, omittedCount } = omittedRanges(text, draft.kept, starts);
	const lines = text === "" ? 0 : starts.length - 1 - (text.endsWith("\n") ? 1 : 0);
	const keptChars = draft.kept.reduce((sum, { start, end }) => sum + end - start, 0);
	return {
		text: draft.text,
		truncated: draft.text !== text,
		strategy,
		kept: draft.kept,
		omitted,
		omittedLines,
		lines: { total: lines, kept: Math.max(0, lines - omittedCount) },
		chars: { total: text.length, kept: keptChars, after: draft.text.length },
		...(budget.unit === "tokens" && tokens !== undefined
			? { tokens: { total: tokens, after: budget.countTokens(draft.text) } }
			: {}),
		notices: draft.notices,
	};
}

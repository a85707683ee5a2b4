import { fillTemplate } from "../masking/template.ts";
import { headerChars, scoreDiff } from "./diff.ts";
import {
	type Draft,
	fitBudget,
	lineStarts,
	type Marks,
	type OutputTruncation,
	omittedRanges,
	rangesBeforeStripping,
	type Shorten,
	shortNotice,
	type TruncateOutputParameters,
	type TruncationStrategy,
} from "./draft.ts";
import { byForm, type FailureSource, failureSigns, failuresFirst, jsonFailures } from "./failures.ts";
import { type FocusWords, focusWords } from "./focus.ts";
import { shortenJson } from "./json.ts";
import { jsonSpans } from "./json-spans.ts";
import { endShares, lineFeatures, scoreLines, scoreTable, stripEscapes, textUnits } from "./lines.ts";
import { scoreLog } from "./log.ts";
import { selectUnits } from "./select.ts";
import { describeData, detectShape, isWritten, type Shape, splitJson } from "./shape.ts";

/**
 * Shortens one output to what matters in it, by its structure and by what whoever asked for it is after. A text within
 * its budget is left as it is. The result is within the budget with all its notices, never longer than the text,
 * well-formed, and empty only where the budget has no room for a character; shortening it again changes nothing. It says
 * that something is left out wherever the budget has room for the shortest notice. Takes time in proportion to the text.
 */
export function truncateOutput(parameters: TruncateOutputParameters): OutputTruncation {
	const { text, budget, strategy, stripAnsi, keepAnsi } = parameters;
	const tokens = budget.unit === "tokens" ? budget.countTokens(text) : undefined;
	if ((tokens ?? text.length) <= budget.max) {
		const used = strategy === "auto" ? "head_tail" : strategy;
		return describe(whole(text), used, { tokens, parameters });
	}
	// A lone surrogate is refused by the APIs that the text goes to; its stand-in takes the same room.
	const wellFormed = text.toWellFormed();
	const shown = keepAnsi || !stripAnsi ? wellFormed : stripEscapes(wellFormed, stripAnsi);
	const told = (draft: Draft, used: OutputTruncation["strategy"]): OutputTruncation => {
		const least = leastBudgetOf(parameters, used, shown);
		const described = describe(draft, used, { tokens, parameters });
		return least === undefined ? described : { ...described, leastBudget: least };
	};
	if (shown === "") return told(nothing(parameters), "binary");
	const { strategy: used, shorten } = chooseStrategy(shown, parameters);
	const fits = budget.unit === "chars" ? shown.length <= budget.max : budget.countTokens(shown) <= budget.max;
	const fitted = fits && shown.length < text.length ? whole(shown) : fitBudget(shown, shorten, budget);
	const isMarked = fitted.notices.length > 0 || fitted.text === shown;
	const draft = isMarked ? fitted : (noticeAlone(parameters, used) ?? fitted);
	const moved = shown === wellFormed ? draft : { ...draft, kept: moveRanges(draft, wellFormed, shown) };
	if (draft.text === shown) return describe(moved, used, { tokens, parameters });
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

/**
 * The least budget with which a text that was cut says so, or with which all of it is shown, escape sequences aside;
 * `undefined` where the budget is no smaller than that.
 */
function leastBudgetOf(
	parameters: TruncateOutputParameters,
	strategy: OutputTruncation["strategy"],
	shown: string,
): number | undefined {
	const { text, budget } = parameters;
	const shortest = shortestNotice(parameters, strategy).forms.at(-1) as string;
	const isShorter = shown !== "" && shown.length < text.length;
	const whole = Math.min(sizeOf(text, budget), isShorter ? sizeOf(shown, budget) : Number.POSITIVE_INFINITY);
	const least = shortest.length < text.length ? Math.min(whole, sizeOf(shortest, budget)) : whole;
	return budget.max < least ? least : undefined;
}

function moveRanges({ kept }: Draft, before: string, after: string) {
	const starts = [lineStarts(before), lineStarts(after)] as const;
	return starts[0].length === starts[1].length ? rangesBeforeStripping(kept, ...starts) : [];
}

function describe(
	draft: Draft,
	strategy: OutputTruncation["strategy"],
	{ tokens, parameters }: { readonly tokens: number | undefined; readonly parameters: TruncateOutputParameters },
): OutputTruncation {
	const { text, budget } = parameters;
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

interface ChosenStrategy {
	readonly strategy: OutputTruncation["strategy"];
	readonly shorten: Shorten;
}

type LineStrategy = "head_tail" | "log" | "diff" | "table" | "focus";

function isLineStrategy(one: TruncationStrategy | Shape): one is LineStrategy {
	return one === "head_tail" || one === "log" || one === "diff" || one === "table" || one === "focus";
}

/** What a passing run is shortened to: this share of the room, and at least these characters. */
const passing = { share: 0.25, atLeast: 1_500 };
/** Share of the room that the headers of a diff may take, for them to come before its lines. */
const headersShare = 0.4;

/** Chooses how to shorten a text, by the strategy asked for or by its shape, and looks at it once. */
function chooseStrategy(text: string, parameters: TruncateOutputParameters): ChosenStrategy {
	const { strategy, focus = "", wording, ref, headShare = 0.5, htmlToText, hasFailed = false } = parameters;
	const marks: Marks = { wording, ref };
	const words = focusWords(focus);
	const looksForFailures = strategy !== "head_tail";
	const asText = (used: LineStrategy): ChosenStrategy => ({
		strategy: used,
		shorten: shortenLines(text, used, { marks, words, headShare, hasFailed, looksForFailures }),
	});
	const asJson = (shape: Shape): ChosenStrategy | undefined => {
		const split = shape === "json" || shape === "json_lines" ? { before: "", json: text, behind: "" } : splitJson(text);
		const spans = split && jsonSpans(split.json, { isLines: shape === "json_lines" });
		if (!split || !spans) return undefined;
		const noticeOf = topNotice(text, marks);
		const shorten = shortenJson({ spans, marks, focus: words, failures: jsonFailures(spans), noticeOf });
		return { strategy: "json", shorten: around(split, shorten, () => plain().shorten) };
	};
	const asData = (shape: Shape): ChosenStrategy => {
		const kind = shape === "base64" || shape === "minified" ? shape : "binary";
		const [notice, failures] = [topNotice(text, marks), failuresInData(text, marks)];
		return { strategy: "binary", shorten: describeData(text, kind, { marks, notice, failures }) };
	};
	const asHtml = (): ChosenStrategy | undefined => {
		if (!htmlToText) return undefined;
		let converted: string;
		try {
			converted = htmlToText(text).toWellFormed();
		} catch {
			// What the library cannot read (too deep, broken) can still be cut as text.
			return undefined;
		}
		if (converted.trim() === "") return undefined;
		return {
			strategy: "html",
			shorten: shortenConverted(converted, { marks, words, headShare, hasFailed, looksForFailures: true, whole: text }),
		};
	};
	const plain = () => asText(words.size > 0 ? "focus" : "head_tail");
	if (isLineStrategy(strategy)) return asText(strategy);
	const shape = detectShape(text);
	const way = strategy === "auto" ? shape : strategy;
	if (isLineStrategy(way)) return asText(way);
	if (way === "html") return asHtml() ?? plain();
	if (way === "binary" || way === "base64") return asData(shape);
	// A focus that stands in minified code shows the code around it.
	if (way === "minified")
		return asJson(shape) ?? (words.size > 0 && holdsAny(text, words) ? asText("focus") : asData(shape));
	return asJson(shape) ?? plain();
}

interface LineParameters {
	readonly marks: Marks;
	readonly words: FocusWords;
	readonly headShare: number;
	readonly hasFailed: boolean;
	/** Not where the caller asks for head and tail by name. */
	readonly looksForFailures: boolean;
}

function shortenLines(
	text: string,
	used: LineStrategy,
	{ marks, words, headShare, hasFailed, looksForFailures }: LineParameters,
): Shorten {
	const units = textUnits(text);
	const source = (): FailureSource => {
		if (used === "log") return "log";
		if (hasFailed) return "failed";
		return used === "diff" || isWritten(text) ? "written" : "output";
	};
	const signs = looksForFailures ? failureSigns(units) : new Uint8Array(units.count);
	const first = looksForFailures ? failuresFirst(units, signs, source()) : [];
	const common = { units, first, marks };
	if (used === "head_tail") {
		const priority = new Float32Array(units.count);
		return selectUnits({ ...common, priority, headShare, tailShare: 1 - headShare });
	}
	if (used === "log") {
		const { priority, isFailing, isLike } = scoreLog(units, words, signs);
		const select = selectUnits({ ...common, priority, headShare: 0.06, tailShare: 0.12, isLike });
		return isFailing || hasFailed
			? select
			: (maxChars) => select(Math.min(maxChars, Math.max(passing.atLeast, Math.floor(maxChars * passing.share))));
	}
	const features = words.size > 0 ? lineFeatures(units, words) : undefined;
	if (used === "diff") {
		const read = features ?? lineFeatures(units, words);
		const chars = headerChars(units, marks.wording.gap.length);
		const ways = (["all", "files", "none"] as const).map((headers) => {
			const priority = scoreDiff(units, read, headers);
			return { chars: chars[headers], select: selectUnits({ ...common, priority, headShare: 0.05, tailShare: 0.02 }) };
		});
		return (maxChars) => {
			const way = ways.find((one) => one.chars <= maxChars * headersShare) ?? (ways.at(-1) as (typeof ways)[number]);
			return way.select(maxChars);
		};
	}
	if (used === "table")
		return selectUnits({ ...common, priority: scoreTable(units, features), headShare: 0.25, tailShare: 0.15 });
	const priority = scoreLines(units, features ?? lineFeatures(units, words));
	return selectUnits({ ...common, priority, headShare: endShares.head, tailShare: endShares.tail });
}

/**
 * JSON with text before and behind it, which stays where it is small. Where it is not, it is left out of account, or all of
 * it is shortened as text where it tells of a failure.
 */
function around(
	{ before, behind }: { before: string; behind: string },
	shorten: Shorten,
	asLines: () => Shorten,
): Shorten {
	if (before === "" && behind === "") return shorten;
	let instead: Shorten | undefined;
	return (maxChars) => {
		const room = maxChars - before.length - behind.length;
		if (room < maxChars / 2) {
			instead ??= tellsOfFailure(before) || tellsOfFailure(behind) ? asLines() : shorten;
			return instead(maxChars);
		}
		const { text, kept, notices } = shorten(room);
		const moved = kept.map(({ start, end }) => ({ start: start + before.length, end: end + before.length }));
		return { text: before + text + behind, kept: moved, notices };
	};
}

/** Shows the lines in data that a program wrote between them to tell of a failure; `undefined` where there are none. */
function failuresInData(text: string, marks: Marks): Shorten | undefined {
	const units = textUnits(text);
	const isLine = (unit: number) => {
		const line = text.slice(units.start[unit], units.end[unit]);
		return units.line[unit - 1] !== units.line[unit] && units.line[unit + 1] !== units.line[unit] && isReadable(line);
	};
	const signs = failureSigns(units).map((sign, unit) => (sign === byForm && isLine(unit) ? sign : 0));
	if (!signs.includes(byForm)) return undefined;
	const first = failuresFirst(units, signs, "failed").filter(({ match }) => signs[match] === byForm);
	return selectUnits({ units, priority: new Float32Array(units.count), first, headShare: 0, tailShare: 0, marks });
}

/** Whether a line is words rather than data. */
function isReadable(line: string): boolean {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
	return !/[\u0000-\u0008\u000e-\u001f\u007f\ufffd]/.test(line) && /[a-z\d]/i.test(line);
}

function tellsOfFailure(text: string): boolean {
	return failureSigns(textUnits(text)).includes(byForm);
}

function shortenConverted(
	converted: string,
	{ whole, ...given }: LineParameters & { readonly whole: string },
): Shorten {
	const { marks, words } = given;
	// The label says where the whole is; a notice of its own would say it of the converted text.
	const inner = { ...given, marks: { ...marks, ref: undefined } };
	const select = shortenLines(converted, words.size > 0 ? "focus" : "head_tail", inner);
	const { html, htmlArchived } = marks.wording;
	const said =
		marks.ref === undefined
			? fillTemplate(html, { total_chars: whole.length })
			: fillTemplate(htmlArchived, { total_chars: whole.length, ref: marks.ref });
	return (maxChars): Draft => {
		if (said.length + 1 <= maxChars / 3) {
			const room = maxChars - said.length - 1;
			const { text, notices } = converted.length <= room ? { text: converted, notices: [] } : select(room);
			return { text: `${said}\n${text}`, kept: [], notices: [said, ...notices] };
		}
		// No room for the label: what stays of the page is told to be less than all of it.
		const short = fillTemplate(shortNotice(marks), { omitted_chars: Math.max(0, whole.length - converted.length) });
		const shown = `${short}\n${converted}`;
		if (shown.length <= maxChars) return { text: shown, kept: [], notices: [short] };
		return { ...select(Math.min(maxChars, converted.length - 1)), kept: [] };
	};
}

function topNotice(text: string, { wording, ref }: Marks): (keptChars: number) => string {
	const lines = text.split("\n").length;
	const template = ref === undefined ? wording.whole : wording.wholeArchived;
	const filled = { total_chars: text.length, total_lines: lines, ...(ref === undefined ? {} : { ref }) };
	return (keptChars) => fillTemplate(template, { ...filled, omitted_chars: text.length - keptChars });
}

function holdsAny(text: string, words: FocusWords): boolean {
	const read = text.slice(0, 2_000_000).toLowerCase();
	return [...words].some(([word, weight]) => weight >= 1 && word.length > 3 && read.includes(word));
}

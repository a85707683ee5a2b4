import { once } from "../conversation/lists.ts";
import { fillTemplate } from "../masking/template.ts";
import { outlineOfDiff, readDiff, scoreDiff } from "./diff.ts";
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
import { findEncoded } from "./encoded.ts";
import { byForm, type FailureSource, failureSigns, failuresFirst, jsonFailures, passedFrames } from "./failures.ts";
import { type FocusWords, focusWords } from "./focus.ts";
import { countOf } from "./head-tail.ts";
import { shortenJson } from "./json.ts";
import { jsonSpans } from "./json-spans.ts";
import { endShares, scoreLines, scoreTable } from "./line-worth.ts";
import { lineFeatures, stripEscapes, textUnits } from "./lines.ts";
import { scoreLog } from "./log.ts";
import { selectUnits } from "./select.ts";
import { describeData, detectShape, isWritten, type Shape, splitJson } from "./shape.ts";

/**
 * Shortens one output to its important parts, by its structure and by the focus. The result is within the budget with all
 * its notices, never longer than the text, and well-formed. It is empty only if the budget has no room for a character.
 * Shortening it again changes nothing. It says that text is omitted if the budget has room for the shortest notice.
 */
export function truncateOutput(parameters: TruncateOutputParameters): OutputTruncation {
	const { text, budget, strategy, stripAnsi, keepAnsi } = parameters;
	const size = sizeOf(text, budget);
	if (size <= budget.max)
		return describe(whole(text), strategy === "auto" ? "head_tail" : strategy, { parameters, size });
	// The APIs refuse lone surrogates. Their replacement has the same length.
	const wellFormed = text.toWellFormed();
	const narrow = isWide(wellFormed) ? withoutZeros(wellFormed) : wellFormed;
	const shown = keepAnsi || !stripAnsi ? narrow : stripEscapes(narrow, stripAnsi);
	const finish = (draft: Draft, used: OutputTruncation["strategy"]): OutputTruncation => {
		const leastBudget = leastBudgetOf(parameters, used, { size, shown });
		const described = describe(draft, used, { parameters, size });
		return leastBudget === undefined ? described : { ...described, leastBudget };
	};
	if (shown === "") {
		const ellipsis = sizeOf("…", budget) <= budget.max ? ["…"] : [];
		return finish(
			noticeAlone(parameters, "binary") ?? { text: ellipsis.join(""), kept: [], notices: ellipsis },
			"binary",
		);
	}
	const { strategy: used, shorten } = chooseStrategy(shown, parameters);
	const fits = sizeOf(shown, budget) <= budget.max;
	const fitted = fits ? whole(shown) : fitBudget(shown, shorten, budget);
	const isMarked = fitted.notices.length > 0 || fitted.text === shown;
	const draft = isMarked ? fitted : (noticeAlone(parameters, used) ?? fitted);
	const moved = shown === wellFormed ? draft : { ...draft, kept: moveRanges(draft, wellFormed, shown) };
	return draft.text === shown ? describe(moved, used, { parameters, size }) : finish(moved, used);
}

/** Whether a text is UTF-16 that was read as UTF-8, so that every second character is a NUL. */
function isWide(text: string): boolean {
	const sample = text.slice(0, 4_096);
	if (countOf(sample, "\0") < sample.length * 0.4 || !/^\ufffd{0,2}\0?(?:[^\0]\0){8}/.test(sample)) return false;
	const narrow = sample.replaceAll("\0", "");
	// biome-ignore lint/suspicious/noControlCharactersInRegex: it searches for control characters.
	return new Set(narrow).size > 12 && /\s/.test(narrow) && !/[\u0001-\u0008\u000e-\u001a\u007f]/.test(narrow);
}

/** Lines keep their numbers. */
function withoutZeros(text: string): string {
	return text.replaceAll("\0", "").replace(/^\ufffd{1,2}/, "");
}

function whole(text: string): Draft {
	return { text, kept: text === "" ? [] : [{ start: 0, end: text.length }], notices: [] };
}

function noticeAlone(parameters: TruncateOutputParameters, strategy: OutputTruncation["strategy"]): Draft | undefined {
	const { text, budget } = parameters;
	const { notice, forms } = shortestNotice(parameters, strategy);
	const fitting = forms.find((form) => form.length < text.length && sizeOf(form, budget) <= budget.max);
	return fitting === undefined ? undefined : { text: fitting, kept: [], notices: [notice] };
}

/** The shortest notice, and the texts that can replace the output with it, the shortest last. */
function shortestNotice({ text, wording, ref }: TruncateOutputParameters, strategy: OutputTruncation["strategy"]) {
	const notice = fillTemplate(shortNotice({ wording, ref }), { omitted_chars: text.length });
	if (strategy !== "json") return { notice, forms: [notice] };
	const json = JSON.stringify(notice);
	const asObject = `{"_truncated":${json}}`;
	if (/^\s*\{/.test(text)) return { notice, forms: [asObject] };
	return { notice, forms: /^\s*\[/.test(text) ? [`[${asObject}]`, `[${json}]`] : [json] };
}

function sizeOf(text: string, budget: TruncateOutputParameters["budget"]): number {
	return budget.unit === "chars" ? text.length : budget.countTokens(text);
}

/** The least budget for the shortest notice or for the complete text without escape sequences, if it exceeds the given one. */
function leastBudgetOf(
	parameters: TruncateOutputParameters,
	strategy: OutputTruncation["strategy"],
	{ size, shown }: { readonly size: number; readonly shown: string },
): number | undefined {
	const { text, budget } = parameters;
	const shortest = shortestNotice(parameters, strategy).forms.at(-1) as string;
	const least = Math.min(
		shown !== "" && shown.length < text.length ? sizeOf(shown, budget) : size,
		shortest.length < text.length ? sizeOf(shortest, budget) : size,
	);
	return budget.max < least ? least : undefined;
}

function moveRanges({ kept }: Draft, before: string, after: string) {
	const starts = [lineStarts(before), lineStarts(after)] as const;
	return starts[0].length === starts[1].length ? rangesBeforeStripping(kept, ...starts) : [];
}

function describe(
	draft: Draft,
	strategy: OutputTruncation["strategy"],
	{ parameters, size }: { readonly parameters: TruncateOutputParameters; readonly size: number },
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
		...(budget.unit === "tokens" ? { tokens: { total: size, after: budget.countTokens(draft.text) } } : {}),
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

/** A log without failures gets this share of the room, and at least these characters. */
const passing = { share: 0.25, atLeast: 1_500 };

function chooseStrategy(text: string, parameters: TruncateOutputParameters): ChosenStrategy {
	const { strategy, focus = "", wording, ref, headShare = 0.5, htmlToText, hasFailed = false } = parameters;
	const marks: Marks = { wording, ref };
	const words = focusWords(focus);
	const asText = (used: LineStrategy): ChosenStrategy => ({
		strategy: used,
		shorten: shortenLines(text, used, { marks, words, headShare, hasFailed, findsFailures: strategy !== "head_tail" }),
	});
	const plain = () => asText(words.size > 0 ? "focus" : "head_tail");
	const asJson = (shape: Shape): ChosenStrategy | undefined => {
		const isJson = shape === "json" || shape === "json_lines";
		// JSON begins after a byte order mark.
		const isPlain = isJson && !text.startsWith("\ufeff");
		const split = isPlain
			? undefined
			: isJson
				? { before: text[0] ?? "", json: text.slice(1), behind: "" }
				: splitJson(text);
		const json = isPlain ? text : split?.json;
		const spans = json === undefined ? undefined : jsonSpans(json, { isLines: shape === "json_lines" });
		if (!spans) return undefined;
		const noticeOf = topNotice(text, marks);
		const shorten = shortenJson({ spans, marks, focus: words, failures: jsonFailures(spans), noticeOf });
		return { strategy: "json", shorten: split ? withSurroundings(split, shorten, () => plain().shorten) : shorten };
	};
	const asData = (shape: Shape): ChosenStrategy => {
		const kind = shape === "base64" || shape === "minified" ? shape : "binary";
		const [notice, failures] = [topNotice(text, marks), failuresInData(text, marks)];
		return { strategy: "binary", shorten: describeData(text, kind, { marks, notice, failures }) };
	};
	const asHtml = (): ChosenStrategy | undefined => {
		const converted = htmlToText ? convertHtml(text, htmlToText) : "";
		if (converted.trim() === "") return undefined;
		// The label contains the reference; a notice about the converted text must not.
		const given = { marks: { wording, ref: undefined }, words, headShare, hasFailed, findsFailures: true };
		const select = shortenLines(converted, words.size > 0 ? "focus" : "head_tail", given);
		return { strategy: "html", shorten: shortenConverted({ converted, select, chars: text.length }, marks) };
	};
	if (isLineStrategy(strategy)) return asText(strategy);
	const shape = detectShape(text);
	const way = strategy === "auto" ? shape : strategy;
	if (isLineStrategy(way)) return asText(way);
	if (way === "html") return asHtml() ?? plain();
	if (way === "binary" || way === "base64") return asData(shape);
	if (way === "minified") return asJson(shape) ?? (containsAny(text, words) ? asText("focus") : asData(shape));
	return asJson(shape) ?? plain();
}

/** Converts HTML to text; empty if the library cannot, because it is nested too deeply or broken. */
function convertHtml(html: string, htmlToText: (html: string) => string): string {
	try {
		return htmlToText(html).toWellFormed();
	} catch {
		return "";
	}
}

interface LineParameters {
	readonly marks: Marks;
	readonly words: FocusWords;
	readonly headShare: number;
	readonly hasFailed: boolean;
	/** Not if the caller requests head and tail by name. */
	readonly findsFailures: boolean;
}

function shortenLines(
	text: string,
	used: LineStrategy,
	{ marks, words, headShare, hasFailed, findsFailures }: LineParameters,
): Shorten {
	const units = textUnits(text, 0, false, findEncoded(text));
	const source = (): FailureSource => {
		if (used === "log") return "log";
		if (hasFailed) return "failed";
		return used === "diff" || isWritten(text) ? "written" : "output";
	};
	const signs = findsFailures ? failureSigns(units) : new Uint8Array(units.count);
	const first = findsFailures ? failuresFirst(units, signs, source()) : [];
	const common = { units, first, marks, passed: findsFailures ? passedFrames(units, signs) : undefined };
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
	if (used === "table") {
		const priority = scoreTable(units, words.size > 0 ? lineFeatures(units, words) : undefined);
		return selectUnits({ ...common, priority, headShare: 0.25, tailShare: 0.15 });
	}
	const features = lineFeatures(units, words);
	if (used === "focus") {
		const priority = scoreLines(units, features);
		return selectUnits({ ...common, priority, headShare: endShares.head, tailShare: endShares.tail });
	}
	const diff = readDiff(units);
	const priority = scoreDiff(units, features, diff);
	const outline = outlineOfDiff({ units, diff, priority, wording: marks.wording });
	return selectUnits({ ...common, priority, outline, headShare: 0, tailShare: 0 });
}

/** Shortens JSON between two texts. Large ones are omitted; if they report a failure, all is shortened as text. */
function withSurroundings(
	{ before, behind }: { before: string; behind: string },
	shorten: Shorten,
	asLines: () => Shorten,
): Shorten {
	const instead = once(() => (reportsFailure(before) || reportsFailure(behind) ? asLines() : shorten));
	return (maxChars) => {
		const room = maxChars - before.length - behind.length;
		if (room < maxChars / 2) return instead()(maxChars);
		const { text, kept, notices } = shorten(room);
		const moved = kept.map(({ start, end }) => ({ start: start + before.length, end: end + before.length }));
		return { text: before + text + behind, kept: moved, notices };
	};
}

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

function isReadable(line: string): boolean {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: it searches for control characters.
	return !/[\u0000-\u0008\u000e-\u001f\u007f\ufffd]/.test(line) && /[a-z\d]/i.test(line);
}

function reportsFailure(text: string): boolean {
	return failureSigns(textUnits(text)).includes(byForm);
}

function shortenConverted(
	{ converted, select, chars }: { converted: string; select: Shorten; chars: number },
	marks: Marks,
): Shorten {
	const { ref, wording } = marks;
	const label =
		ref === undefined
			? fillTemplate(wording.html, { total_chars: chars })
			: fillTemplate(wording.htmlArchived, { total_chars: chars, ref });
	return (maxChars): Draft => {
		if (label.length + 1 <= maxChars / 3) {
			const room = maxChars - label.length - 1;
			const { text, notices } = converted.length <= room ? { text: converted, notices: [] } : select(room);
			return { text: `${label}\n${text}`, kept: [], notices: [label, ...notices] };
		}
		// Without room for the label, the short notice says that text is omitted.
		const short = fillTemplate(shortNotice(marks), { omitted_chars: chars - converted.length });
		const shown = `${short}\n${converted}`;
		if (shown.length <= maxChars) return { text: shown, kept: [], notices: [short] };
		return { ...select(Math.min(maxChars, converted.length - 1)), kept: [] };
	};
}

function topNotice(text: string, { wording, ref }: Marks): (keptChars: number) => string {
	const template = ref === undefined ? wording.whole : fillTemplate(wording.wholeArchived, { ref });
	const total_chars = text.length;
	return (keptChars) => fillTemplate(template, { total_chars, omitted_chars: total_chars - keptChars });
}

function containsAny(text: string, words: FocusWords): boolean {
	const read = text.slice(0, 2_000_000).toLowerCase();
	return [...words].some(([word, weight]) => weight >= 1 && word.length > 3 && read.includes(word));
}

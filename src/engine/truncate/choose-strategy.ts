import { fillTemplate } from "../fill-template.ts";
import { describeData } from "./describe-data.ts";
import { detectShape, type Shape } from "./detect-shape.ts";
import type { Draft, Marks, Shorten } from "./draft.ts";
import { type FocusWords, focusWords } from "./focus-words.ts";
import { jsonSpans } from "./json-spans.ts";
import { lineFeatures } from "./line-features.ts";
import { headerChars, scoreDiff } from "./score-diff.ts";
import { endShares, scoreLines } from "./score-lines.ts";
import { scoreLog } from "./score-log.ts";
import { scoreTable } from "./score-table.ts";
import { selectUnits } from "./select-units.ts";
import { shortenJson } from "./shorten-json.ts";
import { splitJson } from "./split-json.ts";
import { textUnits } from "./text-units.ts";
import type { TruncateOutputParameters, TruncationStrategy } from "./truncation-types.ts";

type Used = Exclude<TruncationStrategy, "auto">;

/** A way to shorten a text, and what it is called. */
export interface ChosenStrategy {
	readonly strategy: Used;
	readonly shorten: Shorten;
}

/** What a passing run is shortened to: this share of the room, and at least these characters. */
const passing = { share: 0.25, atLeast: 1_500 };
/** Share of the room that the headers of a diff may take, for them to come before its lines. */
const headersShare = 0.4;
const dataShapes = ["binary", "base64", "minified"] as const;

/** Chooses how to shorten a text, by the strategy asked for or by its shape, and looks at it once. */
export function chooseStrategy(text: string, parameters: TruncateOutputParameters): ChosenStrategy {
	const { strategy, focus = "", wording, ref, headShare = 0.5, htmlToText } = parameters;
	const marks: Marks = { wording, ref };
	const words = focusWords(focus);
	const asText = (used: "head_tail" | "log" | "diff" | "table" | "focus"): ChosenStrategy => ({
		strategy: used,
		shorten: shortenLines(text, used, { marks, words, headShare }),
	});
	const asJson = (shape: Shape): ChosenStrategy | undefined => {
		const split = shape === "json" || shape === "json_lines" ? { before: "", json: text, behind: "" } : splitJson(text);
		const spans = split && jsonSpans(split.json, { isLines: shape === "json_lines" });
		if (!split || !spans) return undefined;
		const noticeOf = topNotice(text, marks);
		const shorten = shortenJson({ spans, marks, focus: words, noticeOf });
		return { strategy: "json", shorten: around(split, shorten) };
	};
	const asData = (shape: Shape): ChosenStrategy => {
		const kind = dataShapes.find((one) => one === shape) ?? "binary";
		return { strategy: "binary", shorten: describeData(text, kind, { marks, notice: topNotice(text, marks) }) };
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
		return { strategy: "html", shorten: shortenConverted(converted, { marks, words, headShare, whole: text }) };
	};
	const plain = () => asText(words.size > 0 ? "focus" : "head_tail");
	if (
		strategy === "head_tail" ||
		strategy === "log" ||
		strategy === "diff" ||
		strategy === "table" ||
		strategy === "focus"
	) {
		return asText(strategy);
	}
	const shape = detectShape(text);
	if (strategy === "json") return asJson(shape) ?? plain();
	if (strategy === "html") return asHtml() ?? plain();
	if (strategy === "binary") return asData(shape);
	if (shape === "json" || shape === "json_lines") return asJson(shape) ?? plain();
	if (shape === "html") return asHtml() ?? plain();
	if (shape === "binary" || shape === "base64") return asData(shape);
	// Whoever looks for words in minified code is shown what stands around them.
	if (shape === "minified")
		return asJson(shape) ?? (words.size > 0 && holdsAny(text, words) ? asText("focus") : asData(shape));
	if (shape === "log" || shape === "diff" || shape === "table") return asText(shape);
	return asJson(shape) ?? plain();
}

interface LineParameters {
	readonly marks: Marks;
	readonly words: FocusWords;
	readonly headShare: number;
}

function shortenLines(
	text: string,
	used: "head_tail" | "log" | "diff" | "table" | "focus",
	{ marks, words, headShare }: LineParameters,
): Shorten {
	const units = textUnits(text);
	if (used === "head_tail") {
		const priority = new Float32Array(units.count);
		return selectUnits({ units, priority, headShare, tailShare: 1 - headShare, marks });
	}
	if (used === "log") {
		const { priority, isFailing, isLike } = scoreLog(units, words);
		const select = selectUnits({ units, priority, headShare: 0.06, tailShare: 0.12, marks, isLike });
		return isFailing
			? select
			: (maxChars) => select(Math.min(maxChars, Math.max(passing.atLeast, Math.floor(maxChars * passing.share))));
	}
	const features = words.size > 0 ? lineFeatures(units, words) : undefined;
	if (used === "diff") {
		const read = features ?? lineFeatures(units, words);
		const chars = headerChars(units, marks.wording.gap.length);
		const ways = (["all", "files", "none"] as const).map((headers) => {
			const priority = scoreDiff(units, read, headers);
			return {
				chars: chars[headers],
				select: selectUnits({ units, priority, headShare: 0.05, tailShare: 0.02, marks }),
			};
		});
		return (maxChars) => {
			const way = ways.find((one) => one.chars <= maxChars * headersShare) ?? (ways.at(-1) as (typeof ways)[number]);
			return way.select(maxChars);
		};
	}
	if (used === "table")
		return selectUnits({ units, priority: scoreTable(units, features), headShare: 0.25, tailShare: 0.15, marks });
	const priority = scoreLines(units, features ?? lineFeatures(units, words));
	return selectUnits({ units, priority, headShare: endShares.head, tailShare: endShares.tail, marks });
}

/** JSON with text before and behind it, which stays where it is small; else the whole is left out of account. */
function around({ before, behind }: { before: string; behind: string }, shorten: Shorten): Shorten {
	if (before === "" && behind === "") return shorten;
	return (maxChars) => {
		const room = maxChars - before.length - behind.length;
		if (room < maxChars / 2) return shorten(maxChars);
		const { text, kept, notices } = shorten(room);
		const moved = kept.map(({ start, end }) => ({ start: start + before.length, end: end + before.length }));
		return { text: before + text + behind, kept: moved, notices };
	};
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
	const values = { total_chars: whole.length, ...(marks.ref === undefined ? {} : { ref: marks.ref }) };
	const said = fillTemplate(marks.ref === undefined ? html : htmlArchived, values);
	return (maxChars): Draft => {
		const hasLabel = said.length + 1 <= maxChars / 3;
		const room = hasLabel ? maxChars - said.length - 1 : maxChars;
		const { text, notices } = converted.length <= room ? { text: converted, notices: [] } : select(room);
		if (!hasLabel) return { text, kept: [], notices };
		return { text: `${said}\n${text}`, kept: [], notices: [said, ...notices] };
	};
}

function topNotice(text: string, { wording, ref }: Marks): (keptChars: number) => string {
	const lines = text.split("\n").length;
	const template = ref === undefined ? wording.whole : wording.wholeArchived;
	return (keptChars) =>
		fillTemplate(template, {
			omitted_chars: text.length - keptChars,
			total_chars: text.length,
			total_lines: lines,
			...(ref === undefined ? {} : { ref }),
		});
}

function holdsAny(text: string, words: FocusWords): boolean {
	const read = text.slice(0, 2_000_000).toLowerCase();
	return [...words].some(([word, weight]) => weight >= 1 && word.length > 3 && read.includes(word));
}

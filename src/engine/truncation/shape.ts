import { fillTemplate } from "../masking/template.ts";
import { type Draft, type Marks, type Shorten, shortNotice } from "./draft.ts";
import { failureSign, isSummaryLine } from "./failure-signs.ts";
import { characterEdge } from "./head-tail.ts";

export type Shape =
	| "json"
	| "json_lines"
	| "diff"
	| "log"
	| "table"
	| "html"
	| "binary"
	| "base64"
	| "minified"
	| "text";

const sampled = { edge: 80, between: 120 };
/** Most characters that are read of a line, and of the text for characters that no text has. */
const longestRead = 400;
const longestProbe = 65_536;
const longestPreamble = 3_000;
const longestJson = 64 * 1024 * 1024;

const logLine =
	/^\s*(?:(?:\S.{0,50}\s)?.{0,3}\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\[?(?:INFO|DEBUG|TRACE|WARN(?:ING)?|ERROR|FATAL|NOTICE)\b|\d+ (?:silly|verbose|info|http|warn|error|timing) |npm (?:warn|error|notice|http|ERR!|WARN)|(?:✓|✔|✗|✘|×|✖|√|❯|●)\s|(?:ok|not ok) \d|(?:PASS|FAIL|RUNS?)\s|# Subtest: |\s+(?:---|\.\.\.|duration_ms: .*|type: '\w+')$|=== |--- (?:PASS|FAIL|SKIP)|\S+ \.\.\. (?:ok|FAIL|ERROR|skipped)|test \S+ \.\.\. |\S+::\S+ (?:PASSED|FAILED|SKIPPED|ERROR)|(?:PASSED|FAILED|ERROR|SKIPPED) \S|(?:Compiling|Downloading|Downloaded|Installing|Building|Linking|Checking|Fetching|Collecting|Requirement|Unpacking|Resolving|Extracting|Running|Get:\d+|Hit:\d+) |\[\s*\d+(?:%|\/\d+)|(?:g?cc|g\+\+|clang|c\+\+|make|cmake|ld|ar|javac|mvn|gradle)\b|\S+:\d+:\d+: (?:warning|error|note)|##\[|::(?:group|error|warning)|E {3}|>> |#\d+ )/;
const codeLine =
	/[;{}(,]\s*$|^\s*(?:import|from|export|const|let|var|def|class|func|fn|function|return|if|for|while|public|private|use|pub|package)\b|^\s*(?:\/\/|\/\*|\*\s|#include|@\w+)/;
const diffLine =
	/^(?:\s*\d+[→\t:|])?(?:[-+ @]|diff --git |index |commit |[A-Z][A-Za-z-]{2,20}: |From |new file|deleted file|rename |similarity|Binary)/;
const numberedLine = /^\s{0,8}\d{1,7}(?:→|\t|: |\| )/;

/** Detects the shape of a text: JSON by parsing it, other shapes by a sample of its lines. */
export function detectShape(text: string): Shape {
	if (shareOfOddCharacters(text) > 0.05) return "binary";
	const json = jsonShape(text);
	if (json !== undefined) return json;
	const lines = sampleLines(text);
	const share = (form: RegExp) => shareOf(lines, (line) => form.test(line));
	if (isBase64(text, lines)) return "base64";
	if (/^\s*(?:<!doctype html|<html[\s>])/i.test(text) || (tagsIn(text) > 40 && !isMarkdown(lines))) return "html";
	const hunks = share(/^(?:\s*\d+[→\t:|])?@@ -\d+(?:,\d+)? \+\d/);
	const hasFile = /^(?:\s*\d+[→\t:|])?(?:diff --git |\+\+\+ )/m.test(text.slice(0, longestPreamble));
	const isPatch = share(/^\*\*\* Begin Patch/) > 0 && share(/^\*\*\* (?:Add|Update|Delete) File/) > 0;
	// A shell writes a plus before each command that it shows (`set -x`).
	const isTraced = /^\++ \w/.test(text);
	if ((hasFile && !isTraced && hunks > 0 && share(diffLine) > 0.8) || isPatch) return "diff";
	if (text.length > 3_000 && isMinified(text, lines)) return "minified";
	if (hasFields(lines, [",", ";", "|"])) return "table";
	const isNumbered = share(numberedLine) > 0.5;
	const isCode = isNumbered || share(codeLine) > 0.4;
	if (!isCode && share(logLine) > 0.3) return "log";
	if (hasFields(lines, ["\t"]) || hasColumns(lines)) return "table";
	if (isNumbered) return "text";
	return tellsOfRun(text, lines, isCode) ? "log" : "text";
}

/** Text that only the output of a failed program contains. */
const unmistakable =
	/^(?:.{0,60}\s)?(?:FATAL\b|panic: |Traceback \(most recent call last\)|npm ERR! |fatal: |Segmentation fault|make(?:\[\d+\])?: \*\*\*|\S+\(\d+,\d+\): error TS\d|thread '.{1,80}' panicked at |error\[E\d{4}\]: |Exception in thread "|Unhandled exception\. |goroutine \d+ \[running\]|--- FAIL: |FAILURE: Build |CMake Error |ERROR: failed to solve: |PHP Fatal error: |\[signal SIG|collect2: error: )|^(?:Uncaught )?[\w.]{0,80}(?:Error|Exception)\b.{0,300}\n(?:.{0,300}\n){0,3}?\s{1,8}at /m;

function tellsOfRun(text: string, lines: readonly string[], isCode: boolean): boolean {
	if (shareOf(lines.slice(0, 40), (line) => codeLine.test(line)) > 0.4 || isMarkdown(lines)) return false;
	const results = lines.slice(-40).filter((line) => isSummaryLine(line) || failureSign(line) === "sure");
	return results.length >= 2 || (!isCode && unmistakable.test(text));
}

/** Whether a text is code or prose, where words such as "error" report no failure. */
export function isWritten(text: string): boolean {
	const lines = sampleLines(text);
	// The end of a long line is not in the sample.
	const isCode = (line: string) => (line.length < longestRead && codeLine.test(line)) || numberedLine.test(line);
	const isSentence = (line: string) => line.length > 60 && /[a-z,] [a-z].{20,}[.!?:]["')*]*\s*$/.test(line);
	return shareOf(lines, isCode) > 0.25 || shareOf(lines, isSentence) > 0.25 || isMarkdown(lines);
}

function isMarkdown(lines: readonly string[]): boolean {
	return shareOf(lines, (line) => /^#{1,6} \S|^```|^[-*] \S/.test(line)) > 0.08;
}

function shareOf(lines: readonly string[], has: (line: string) => boolean): number {
	return lines.filter(has).length / lines.length;
}

function shareOfOddCharacters(text: string): number {
	const probe = text.length <= longestProbe ? text : text.slice(0, longestProbe) + text.slice(-longestProbe);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: it searches for control characters.
	const odd = probe.match(/[\u0000-\u0007\u000e-\u001a\u001c-\u001f\u007f\ufffd]/g)?.length ?? 0;
	return odd / Math.max(1, probe.length);
}

function jsonShape(marked: string): "json" | "json_lines" | undefined {
	if (!/^\s*[[{"]/.test(marked) || marked.length > longestJson) return undefined;
	const text = marked.replace(/^\ufeff/, "");
	if (isJson(text)) return "json";
	const lines = text.split("\n").filter((line) => line.trim() !== "");
	return lines.every((line) => /^\s*[[{]/.test(line) && isJson(line)) ? "json_lines" : undefined;
}

function isJson(text: string): boolean {
	let isValid = true;
	try {
		JSON.parse(text);
	} catch {
		isValid = false;
	}
	return isValid;
}

function sampleLines(text: string): string[] {
	const lines: string[] = [];
	const take = (start: number) => {
		const newline = text.indexOf("\n", start);
		const end = newline === -1 ? text.length : newline;
		lines.push(text.slice(start, Math.min(end, start + longestRead)));
		return end + 1;
	};
	let start = 0;
	while (lines.length < sampled.edge && start < text.length) start = take(start);
	if (start < text.length) {
		const tail = Math.max(start, text.length - 16_384);
		for (let step = 0; step < sampled.between; step += 1) {
			const near = start + Math.floor(((tail - start) * step) / sampled.between);
			const newline = text.indexOf("\n", near);
			if (newline !== -1 && newline < tail) take(newline + 1);
		}
		const last = text.slice(tail).split("\n").slice(1).slice(-sampled.edge);
		lines.push(...last.map((line) => line.slice(0, longestRead)));
	}
	return lines.filter((line) => line.trim() !== "");
}

function isBase64(text: string, lines: readonly string[]): boolean {
	if (text.length < 1_000) return false;
	const encoded = shareOf(lines, (line) => /^(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/_-]{40,}={0,2}\s*$/.test(line));
	const probe = text.slice(0, 4_000);
	return encoded > 0.9 && new Set(probe).size > 24 && [/[a-z]/, /[A-Z]/, /\d/].every((form) => form.test(probe));
}

function tagsIn(text: string): number {
	const probe = text.slice(0, 8_000);
	return /^\s*</.test(probe)
		? (probe.match(/<\/?(?:div|p|span|a|table|tr|td|li|ul|body|head|script|meta|h[1-6]|br|img)\b/gi)?.length ?? 0)
		: 0;
}

function isMinified(text: string, lines: readonly string[]): boolean {
	if (lines.length >= 200 || text.length / lines.length <= 1_500) return false;
	const probe = text.slice(0, longestProbe);
	const marks = probe.match(/[{}();:=,]/g)?.length ?? 0;
	const blanks = probe.match(/\s/g)?.length ?? 0;
	return marks / probe.length > 0.08 && blanks / probe.length < 0.12;
}

function hasFields(lines: readonly string[], marks: readonly string[]): boolean {
	if (lines.length < 5) return false;
	return marks.some((mark) => {
		const fieldsIn = (line: string) => line.replace(/"(?:[^"]|"")*(?:"|$)/g, "").split(mark).length;
		const columns = fieldsIn(lines[0] as string);
		if (columns < 3 || codeLine.test(lines[0] as string)) return false;
		// The end of a long line is not in the sample.
		const isRow = (line: string) => (line.length < longestRead ? fieldsIn(line) === columns : fieldsIn(line) >= 3);
		return shareOf(lines, isRow) > 0.85;
	});
}

function hasColumns(lines: readonly string[]): boolean {
	if (lines.length < 5 || !/^[A-Z][A-Z0-9 _%#/()-]+$/.test(lines[0] as string)) return false;
	const cellsIn = (line: string) => line.trim().split(/ {2,}|\t/).length;
	const columns = cellsIn(lines[0] as string);
	return columns >= 3 && shareOf(lines, (line) => Math.abs(cellsIn(line) - columns) <= 1) > 0.85;
}

/** The least share of JSON in a text, and the most lines before it. */
const [leastShare, mostLinesBefore] = [0.6, 40];

/** Finds the JSON object or list that makes up most of a text, and the text before and after it. */
export function splitJson(text: string) {
	const start = startOfJson(text);
	if (start === -1) return undefined;
	const close = text[start] === "{" ? "}" : "]";
	// The text after it may contain such a bracket, so the last two are tried.
	let end = text.lastIndexOf(close) + 1;
	for (let attempt = 0; attempt < 2 && end - start > text.length * leastShare; attempt += 1) {
		const json = text.slice(start, end);
		if (isJson(json)) return { before: text.slice(0, start), json, behind: text.slice(end) };
		end = text.lastIndexOf(close, end - 2) + 1;
	}
	return undefined;
}

function startOfJson(text: string): number {
	let at = 0;
	for (let line = 0; line < mostLinesBefore; line += 1) {
		if (text[at] === "{" || /^\[\s*(?:[[{"\d]|$)/.test(text.slice(at, at + 50))) return at;
		const newline = text.indexOf("\n", at);
		if (newline === -1) return -1;
		at = newline + 1;
	}
	return -1;
}

/** Most characters of a sample of data, and of the search for its start. */
const [longestSample, longestSearch] = [120, 4_096];

interface DescribeDataParameters {
	readonly marks: Marks;
	readonly notice: (keptChars: number) => string;
	readonly failures: Shorten | undefined;
}

/** Shortens data that no model can read to a description, and its failures or else its first readable characters. */
export function describeData(
	text: string,
	kind: "binary" | "base64" | "minified",
	{ marks, notice, failures }: DescribeDataParameters,
): Shorten {
	const { wording } = marks;
	const [total_chars, total_lines] = [text.length, text.split("\n").length];
	const description = fillTemplate(wording.data, { kind: wording.kinds[kind], total_chars, total_lines });
	const readable = /[\p{L}\p{N}\p{P}\p{S} ]{6,}/u.exec(text.slice(0, longestSearch));
	return (maxChars): Draft => {
		if (failures !== undefined) {
			const room = maxChars - description.length - 1;
			if (room < 2 * description.length) return failures(maxChars);
			const { text: lines, kept, notices } = failures(room);
			return { text: `${description}\n${lines}`, kept, notices: [description, ...notices] };
		}
		const short = fillTemplate(shortNotice(marks), { omitted_chars: text.length });
		// A description has no reference, so the short notice comes before it if the original is archived.
		const choices = [
			[notice(0), description],
			...(marks.ref === undefined ? [[description], [short]] : [[short], [description]]),
		];
		const notices = choices.find((lines, index) => lines.join("\n").length <= maxChars - (index === 0 ? 20 : 0)) ?? [];
		const shown = notices.join("\n");
		const start = readable?.index ?? 0;
		const room = shown === "" ? maxChars : Math.min(longestSample, maxChars - shown.length - 1);
		if (room < 6 && shown !== "") return { text: shown, kept: [], notices };
		const mostEnd = shown === "" || !readable ? text.length : start + readable[0].length;
		const end = characterEdge(text, start, Math.min(start + room, mostEnd));
		const sample = text.slice(start, end);
		if (sample === "") return { text: "…".slice(0, maxChars), kept: [], notices };
		return { text: [...notices, sample].join("\n"), kept: [{ start, end }], notices };
	};
}

import { fillTemplate } from "../masking/template.ts";
import { type Draft, type Marks, type Shorten, shortNotice } from "./draft.ts";
import { failureSign, isSummaryLine } from "./failure-signs.ts";
import { characterEdge } from "./head-tail.ts";

/** What a text is, as far as its form tells. */
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

/** Lines that are looked at from the start, from the end and from between. */
const sampled = { edge: 80, between: 120 };
/** Characters of each that are looked at, and of the whole for characters that no text has. */
const longestRead = 400;
const longestProbe = 65_536;
/** Characters within which a diff begins, behind the message of its commit. */
const longestPreamble = 3_000;
/** Longest text in which JSON is looked for, in characters. */
const longestJson = 64 * 1024 * 1024;

const logLine =
	/^\s*(?:(?:\S.{0,50}\s)?.{0,3}\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\[?(?:INFO|DEBUG|TRACE|WARN(?:ING)?|ERROR|FATAL|NOTICE)\b|\d+ (?:silly|verbose|info|http|warn|error|timing) |npm (?:warn|error|notice|http|ERR!|WARN)|(?:✓|✔|✗|✘|×|✖|√|❯|●)\s|(?:ok|not ok) \d|(?:PASS|FAIL|RUNS?)\s|# Subtest: |\s+(?:---|\.\.\.|duration_ms: .*|type: '\w+')$|=== |--- (?:PASS|FAIL|SKIP)|\S+ \.\.\. (?:ok|FAIL|ERROR|skipped)|test \S+ \.\.\. |\S+::\S+ (?:PASSED|FAILED|SKIPPED|ERROR)|(?:PASSED|FAILED|ERROR|SKIPPED) \S+|(?:Compiling|Downloading|Downloaded|Installing|Building|Linking|Checking|Fetching|Collecting|Requirement|Unpacking|Resolving|Extracting|Running|Get:\d+|Hit:\d+) |\[\s*\d+(?:%|\/\d+)|(?:g?cc|g\+\+|clang|c\+\+|make|cmake|ld|ar|javac|mvn|gradle)\b|\S+:\d+:\d+: (?:warning|error|note)|##\[|::(?:group|error|warning)|E {3}|>> |#\d+ )/;
const codeLine =
	/[;{}(,]\s*$|^\s*(?:import|from|export|const|let|var|def|class|func|fn|function|return|if|for|while|public|private|use|pub|package)\b|^\s*(?:\/\/|\/\*|\*\s|#include|@\w+)/;
const diffLine =
	/^(?:\s*\d+[→\t:|])?(?:[-+ @]|diff --git |index |commit |[A-Z][A-Za-z-]{2,20}: |From |new file|deleted file|rename |similarity|Binary)/;
const numberedLine = /^\s{0,8}\d{1,7}(?:→|\t|: |\| )/;

/** Reads the shape of a text. Takes time in proportion to the text at most; apart from JSON, to a sample of its lines. */
export function detectShape(text: string): Shape {
	const odd = shareOfOddCharacters(text);
	if (odd > 0.05) return "binary";
	const json = jsonShape(text);
	if (json !== undefined) return json;
	const lines = sampleLines(text).filter((line) => line.trim() !== "");
	if (lines.length === 0) return "text";
	const share = (has: (line: string) => boolean) => lines.filter(has).length / lines.length;
	if (isBase64(text, lines)) return "base64";
	if (/^\s*(?:<!doctype html|<html[\s>])/i.test(text.slice(0, 1_000)) || (tagsIn(text) > 40 && !isMarkdown(lines)))
		return "html";
	const hunks = lines.filter((line) => /^(?:\s*\d+[→\t:|])?@@ -\d+(?:,\d+)? \+\d+/.test(line)).length;
	const ofDiff = share((line) => diffLine.test(line));
	const hasFile = /^(?:\s*\d+[→\t:|])?(?:diff --git |\+\+\+ )/m.test(text.slice(0, longestPreamble));
	const isPatch = [/^\*\*\* Begin Patch/, /^\*\*\* (?:Add|Update|Delete) File/].every((form) =>
		lines.some((line) => form.test(line)),
	);
	// A shell that shows its commands (`set -x`) writes a plus before each.
	const isTraced = /^\++ \w/.test(text);
	if ((hasFile && !isTraced && hunks > 0 && ofDiff > 0.8) || isPatch) return "diff";
	if (text.length > 3_000 && isMinified(text, lines)) return "minified";
	if (hasFields(lines, [",", ";", "|"])) return "table";
	const isNumbered = share((line) => numberedLine.test(line)) > 0.5;
	const isCode = isNumbered || share((line) => codeLine.test(line)) > 0.4;
	const logged = share((line) => logLine.test(line));
	if (logged > 0.3 && !isCode) return "log";
	if (hasFields(lines, ["\t"]) || hasColumns(lines)) return "table";
	if (isNumbered) return "text";
	return tellsOfRun(text, lines, isCode) ? "log" : "text";
}

/** What stands in no text but the output of something that failed. */
const unmistakable =
	/^(?:.{0,60}\s)?(?:FATAL\b|panic: |Traceback \(most recent call last\)|npm ERR! |fatal: |Segmentation fault|make(?:\[\d+\])?: \*\*\*|\S+\(\d+,\d+\): error TS\d|thread '.{1,80}' panicked at |error\[E\d{4}\]: |Exception in thread "|Unhandled exception\. |goroutine \d+ \[running\]|--- FAIL: |FAILURE: Build |CMake Error |ERROR: failed to solve: |PHP Fatal error: |\[signal SIG|collect2: error: )|^(?:Uncaught )?[\w.]{0,80}(?:Error|Exception)\b.{0,300}\n(?:.{0,300}\n){0,3}?\s{1,8}at /m;

/** Whether a text starts and ends as the output of a run does, or tells of a failure unmistakably. */
function tellsOfRun(text: string, lines: readonly string[], isCode: boolean): boolean {
	const [head, tail] = [lines.slice(0, 40), lines.slice(-40)];
	const ofCode = (some: readonly string[]) => some.filter((line) => codeLine.test(line)).length / some.length;
	if (ofCode(head) > 0.4 || isMarkdown(lines)) return false;
	const telling = tail.filter((line) => isSummaryLine(line) || failureSign(line) === "sure").length;
	return telling >= 2 || (!isCode && unmistakable.test(text));
}

/** Whether a text is code or prose, in which words such as "error" tell of no failure of its own. */
export function isWritten(text: string): boolean {
	const lines = sampleLines(text).filter((line) => line.trim() !== "");
	if (lines.length === 0) return false;
	const share = (has: (line: string) => boolean) => lines.filter(has).length / lines.length;
	const isSentence = (line: string) => line.length > 60 && /[a-z,] [a-z].{20,}[.!?:]["')*]*\s*$/.test(line);
	return (
		// Of a long line the start alone was read.
		share((line) => (line.length < longestRead && codeLine.test(line)) || numberedLine.test(line)) > 0.25 ||
		share(isSentence) > 0.25 ||
		isMarkdown(lines)
	);
}

function isMarkdown(lines: readonly string[]): boolean {
	return lines.filter((line) => /^#{1,6} \S|^```|^[-*] \S/.test(line)).length / lines.length > 0.08;
}

function shareOfOddCharacters(text: string): number {
	const probe = text.length <= 2 * longestProbe ? text : text.slice(0, longestProbe) + text.slice(-longestProbe);
	if (probe === "") return 0;
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
	const odd = probe.match(/[\u0000-\u0007\u000e-\u001a\u001c-\u001f\u007f\ufffd]/g)?.length ?? 0;
	return odd / probe.length;
}

function jsonShape(text: string): "json" | "json_lines" | undefined {
	const opening = /^\s*[[{"]/.test(text.slice(0, 200));
	if (!opening || text.length > longestJson) return undefined;
	if (/[\]}"]\s*$/.test(text.slice(-200)) && isJson(text)) return "json";
	const lines = text.split("\n").filter((line) => line.trim() !== "");
	if (lines.length < 2 || !/^\s*[[{]/.test(lines[0] as string)) return undefined;
	return lines.every((line) => /^\s*[[{]/.test(line.slice(0, 20)) && isJson(line)) ? "json_lines" : undefined;
}

function isJson(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}

function sampleLines(text: string): string[] {
	const lines: string[] = [];
	const take = (from: number, most: number) => {
		let at = from;
		for (let taken = 0; taken < most && at < text.length; taken += 1) {
			const end = text.indexOf("\n", at);
			const to = end === -1 ? text.length : end;
			lines.push(text.slice(at, Math.min(to, at + longestRead)));
			at = to + 1;
		}
		return at;
	};
	const behind = take(0, sampled.edge);
	if (behind >= text.length) return lines;
	const tail = Math.max(behind, text.length - 16_384);
	for (let step = 0; step < sampled.between; step += 1) {
		const near = behind + Math.floor(((tail - behind) * step) / sampled.between);
		const start = text.indexOf("\n", near);
		if (start !== -1 && start < tail) take(start + 1, 1);
	}
	lines.push(
		...text
			.slice(tail)
			.split("\n")
			.slice(1)
			.slice(-sampled.edge)
			.map((line) => line.slice(0, longestRead)),
	);
	return lines;
}

function isBase64(text: string, lines: readonly string[]): boolean {
	if (text.length < 1_000) return false;
	const encoded = lines.filter((line) =>
		/^(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/_-]{40,}={0,2}\s*$/.test(line),
	).length;
	const probe = text.slice(0, 4_000);
	return (
		encoded / lines.length > 0.9 &&
		new Set(probe).size > 24 &&
		/[a-z]/.test(probe) &&
		/[A-Z]/.test(probe) &&
		/\d/.test(probe)
	);
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

/** Whether the lines are rows of as many fields as the first, split by one of the marks. */
function hasFields(lines: readonly string[], marks: readonly string[]): boolean {
	if (lines.length < 5) return false;
	return marks.some((mark) => {
		const fieldsIn = (line: string) => line.replace(/"(?:[^"]|"")*(?:"|$)/g, "").split(mark).length;
		const columns = fieldsIn(lines[0] as string);
		if (columns < 3 || codeLine.test(lines[0] as string)) return false;
		// Of a long line the start alone was read.
		const asMany = lines.filter((line) =>
			line.length < longestRead ? fieldsIn(line) === columns : fieldsIn(line) >= 3,
		);
		return asMany.length / lines.length > 0.85;
	});
}

/** Whether the lines are columns set apart by blanks under a heading in capitals. */
function hasColumns(lines: readonly string[]): boolean {
	if (lines.length < 5 || !/^[A-Z][A-Z0-9 _%#/()-]+$/.test(lines[0] as string)) return false;
	const cells = lines.map((line) => line.trim().split(/ {2,}|\t/).length);
	const columns = cells[0] as number;
	return columns >= 3 && cells.filter((one) => Math.abs(one - columns) <= 1).length / lines.length > 0.85;
}

/** Share of a text that JSON inside it must make up. */
const leastShare = 0.6;
/** Lines from the start among which it may begin. */
const mostLinesBefore = 40;

/**
 * Finds the JSON object or list that makes up most of a text, such as behind the heading of a command's output, and the text
 * before and behind it.
 */
export function splitJson(text: string) {
	const start = startOfJson(text);
	if (start === -1) return undefined;
	const close = text[start] === "{" ? "}" : "]";
	// Behind it may stand a line or two that hold no such bracket, or that do: the last two places are tried.
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
	for (let line = 0; line < mostLinesBefore && at < text.length; line += 1) {
		const first = text[at];
		if (first === "{" || (first === "[" && /^\[\s*(?:[[{"\d]|$)/.test(text.slice(at, at + 50)))) return at;
		const newline = text.indexOf("\n", at);
		if (newline === -1) return -1;
		at = newline + 1;
	}
	return -1;
}

/** Longest sample that tells what data it is, in characters. */
const longestSample = 120;
const longestSearch = 4_096;

interface DescribeDataParameters {
	readonly marks: Marks;
	readonly notice: (keptChars: number) => string;
	/** Shows the lines in it that tell of failures; `undefined` where there are none. */
	readonly failures?: Shorten | undefined;
}

/**
 * Data that no model reads: what is said of it, and the lines in it that tell of failures or else the first characters that
 * can be read.
 */
export function describeData(
	text: string,
	kind: "binary" | "base64" | "minified",
	{ marks, notice, failures }: DescribeDataParameters,
): Shorten {
	const { wording } = marks;
	const [total_chars, total_lines] = [text.length, text.split("\n").length];
	const said = fillTemplate(wording.data, { kind: wording.kinds[kind], total_chars, total_lines });
	const readable = /[\p{L}\p{N}\p{P}\p{S} ]{6,}/u.exec(text.slice(0, longestSearch));
	return (maxChars): Draft => {
		if (failures !== undefined) {
			const room = maxChars - said.length - 1;
			if (room < 2 * said.length) return failures(maxChars);
			const { text: lines, kept, notices } = failures(room);
			return { text: `${said}\n${lines}`, kept, notices: [said, ...notices] };
		}
		const top = notice(0);
		const hasTop = said.length + top.length + 1 <= maxChars - 20;
		const short = fillTemplate(shortNotice(marks), { omitted_chars: text.length });
		// A description names no reference, so that the short notice goes before it where the whole is archived.
		const heading = said.length <= maxChars && (marks.ref === undefined || short.length > maxChars) ? said : short;
		const shown = hasTop ? `${top}\n${said}` : heading.length <= maxChars ? heading : "";
		const room = Math.min(longestSample, maxChars - shown.length - 1);
		const start = readable?.index ?? 0;
		const end = characterEdge(text, start, Math.min(start + room, readable ? start + readable[0].length : text.length));
		const notices = hasTop ? [top, said] : shown === "" ? [] : [shown];
		if (room < 6 && shown !== "") return { text: shown, kept: [], notices };
		const sample =
			shown === "" ? text.slice(start, characterEdge(text, start, start + maxChars)) : text.slice(start, end);
		const kept = sample === "" ? [] : [{ start, end: start + sample.length }];
		if (shown === "" && sample === "") return { text: "…".slice(0, maxChars), kept, notices };
		return { text: shown === "" ? sample : `${shown}\n${sample}`, kept, notices };
	};
}

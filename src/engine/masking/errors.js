import { parseJsonObject } from "../conversation/json.js";
import { resultText, withoutReminders } from "../conversation/transcript.js";
/** The first rule by which a text looks like an error (docs/strategies.md#errors-stay). */
export function detectError(text) {
	for (const one of wordRules) {
		if (text.includes(one.word) && (!("pattern" in one) || one.pattern.test(text))) return one.rule;
	}
	if (anyCaseWords.test(text)) return anyCaseRules.find(({ pattern }) => pattern.test(text))?.rule;
	// The words above find the key and the status unless letters of them are escaped.
	const value = text.includes("\\u") ? parseJsonObject(text) : undefined;
	if (!value) return undefined;
	if (Object.hasOwn(value, "error")) return "json_error_key";
	return value.status === "error" ? "json_error_status" : undefined;
}
/** The rules in the order of the spec; the pattern is tried only if the text has the word. */
const wordRules = [
	{ rule: "traceback", word: "Traceback" },
	{ rule: "exception", word: "Exception" },
	{ rule: "error_line", word: "Error", pattern: /^Error/m },
	{ rule: "error_key_text", word: '"error"' },
];
const anyCaseRules = [
	{ rule: "timeout", pattern: /timeout/i },
	{ rule: "connect_error", pattern: /connect_error/i },
	{ rule: "connection_refused", pattern: /connection refused/i },
];
// Most results have none of them, and one search takes half as long as three.
const anyCaseWords = /timeout|connect_error|connection refused/i;
/**
 * The rule by which a result is an error. The format's flag or the exit code decides. In a text that was read, listed
 * or searched, words of errors mean nothing unless it is short; the output of a run is judged by its end.
 */
export function structuralError({ result, target }) {
	if (result.isError === true) return "flag";
	const text = resultText(result);
	const rule = errorInText(text, target.kind);
	return result.isError === false && rule !== "exit_code" ? undefined : rule;
}
function errorInText(whole, kind) {
	const code = exitCodeIn(whole);
	if (code !== undefined) return code === 0 ? undefined : "exit_code";
	const text = unwrap(whole);
	if (/^<(?:tool_use_error|error|tool_error)>/.test(text)) return "error_tag";
	if (kind === "search" || kind === "list") return isRefusal(text) ? "error_message" : undefined;
	if (kind === "other" && isJsonError(text)) return "json_error";
	if (kind === "read" ? isReadRefusal(text) : isErrorMessage(text)) return "error_message";
	// A refused edit may go on to show the file.
	if (kind === "write" && /^Error: /.test(text)) return "error_message";
	if (kind === "read" || kind === "write") return undefined;
	if (endsWithTraceback(text)) return "traceback";
	return kind === "run" && endsInFailure(text) ? "failed_run" : undefined;
}
function unwrap(text) {
	const start = wrappings.before.exec(text)?.[0].length ?? 0;
	const end = text.length - (wrappings.behind.exec(text.slice(-200))?.[0].length ?? 0);
	const inner = withoutReminders(text.slice(start, Math.max(start, end))).trim();
	return inner.includes(colourStart) ? inner.slice(-longestColoured).replace(colour, "") : inner;
}
const wrappings = {
	before: /^\s{0,20}(?:<(?:observation|output|result|stdout|stderr|system)>|Wall time: [^\n]{1,60}\nOutput:\n)\s{0,20}/,
	behind: /\s{0,20}<\/(?:observation|output|result|stdout|stderr|system)>\s{0,20}$/,
};
const colourStart = `${String.fromCharCode(27)}[`;
const colour = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]{0,20}[A-Za-z]`, "g");
/** Characters at the end of a coloured text from which colours are removed. */
const longestColoured = 20_000;
function isJsonError(text) {
	const value = text.length <= longestJson ? parseJsonObject(text) : undefined;
	if (!value) return false;
	const { error, isError, is_error, success, ok, status, statusCode, status_code } = value;
	if (error || isError === true || is_error === true || success === false || ok === false) return true;
	if (typeof status === "string" && /^(?:error|failed|failure)$/i.test(status)) return true;
	return [status, statusCode, status_code].some((one) => Number(one) >= 400 && Number(one) < 600);
}
const longestJson = 100_000;
function isErrorMessage(text) {
	if (text.length > longestMessage || /^(?:\{|\[["{[])/.test(text)) return false;
	const line = firstLineOf(text).slice(0, longestLine);
	return opensError.test(line) || saysError.test(line);
}
/** A message instead of a file, rather than a line of a program. */
function isReadRefusal(text) {
	return isErrorMessage(text) && !/[;"{}=]/.test(firstLineOf(text));
}
function firstLineOf(text) {
	return text.slice(0, text.search(/\n|$/));
}
/** A message instead of a listing or search results: of a tool, or of a program about a path. */
function isRefusal(text) {
	if (text.length > longestMessage) return false;
	if (/^(?:Error|ERROR|error|fatal|Unknown tool\b[^\n:]{0,20}): /.test(text)) return true;
	const lines = text.split("\n").filter((line) => line.trim() !== "");
	return lines.length > 0 && lines.every((line) => saysOfPath.test(line));
}
/** Longest answer that is a message rather than content, in characters. */
const longestMessage = 1_000;
const opensError =
	/^\W{0,4}(?:(?:fatal|error|failed|failure|panic|unable to|cannot|can't|could not|invalid|unknown (?:tool|command|skill|option)|no such (?:file|tool|command)|permission denied|access denied|unauthori[sz]ed|forbidden|bad request|aborted|cancell?ed|timed out|timeout)\b|[A-Za-z]{1,40}(?:Error|Exception)\b|E[A-Z]{3,14}: |\[Operation Cancelled\]|MCP error -?\d|The tool execution failed\b|\d{1,3} validation errors?\b|(?:Tool|Command|Operation|Request) (?:failed|aborted|cancell?ed|rejected|denied|timed out)\b)/i;
const saysError =
	/\b(?:does(?: not|n't) exist|(?:was|were|is|are|file|path|user|tool|item|resource|record) not found|no such file or directory|command not found|not found in file|permission denied|access denied|is not a (?:file|directory)|exceeds (?:the )?maximum|must be within|tool use was rejected|^File \S{1,300} not found|file already exists at|edit has introduced new syntax error|doesn't want to proceed|has not been read|(?:been|was) (?:rejected|denied|cancell?ed|aborted)|cannot be (?:executed|found|read|opened)|matches of the string to replace, but)\b/i;
const saysOfPath =
	/^[\w./-]{1,60}: [^\n]{1,300}: (?:No such file or directory|Permission denied|Is a directory|Not a directory)$/i;
function endsWithTraceback(text) {
	const tail = text.slice(-reach);
	if (!/^\s{0,8}Traceback \(most recent call last\):/m.test(tail)) return false;
	return linesAtEnd(tail)
		.slice(-5)
		.some((line) => pythonFailure.test(line));
}
const pythonFailure = /^(?:[\w.]{1,200}\.)?[A-Za-z]{0,80}(?:Error|Exception|Interrupt|Exit|Failure|Invalid)\b/;
function endsInFailure(text) {
	for (const line of linesAtEnd(text.slice(-reach)).reverse()) {
		if (failedRun.some((pattern) => pattern.test(line))) return true;
		if (passedRun.some((pattern) => pattern.test(line))) return false;
	}
	return false;
}
/** Last lines of runs that failed: of npm, Go, Python, make, TypeScript, Rust, Biome, git and shells. */
const failedRun = [
	/^npm (?:ERR!|error) /,
	/^(?:FAIL|FAILED)(?:\s|$)/,
	/^FAILED \((?:failures|errors)=/,
	/^make(?:\[\d{1,3}\])?: \*\*\* /,
	/^(?:BUILD FAILED|BUILD FAILURE|Build failed\b)/,
	/: error TS\d{3,5}: |^error TS\d{3,5}: /,
	/^\W{0,8}(?:Tests?|Test Suites|Test Files):?\s(?:[^\n]{0,40}\s)?[1-9]\d{0,6} failed\b/,
	/^=+ (?:[^\n]{0,40}\s)?[1-9]\d{0,6} (?:failed|errors?)\b/,
	/\bERROR task failed$/,
	/^Found [1-9]\d{0,6} errors?\b/,
	/^✖ \d{1,7} problems? \([1-9]\d{0,6} errors?/,
	/^panic: |^\S{0,60}Segmentation fault/,
	/^(?:fatal|error|ERROR): /,
	/: command not found$|: not found$/,
	/ELIFECYCLE/,
	/^\s{0,8}[1-9]\d{0,6} (?:failing|fail)$|^# fail [1-9]/,
	/^Command (?:aborted|timed out)\b/,
];
/** Last lines of runs that passed. The later of both counts: a check after the tests may still have failed. */
const passedRun = [
	/^\s{0,8}0 (?:fail(?:ed|ing|ures)?|errors?)$|^# fail 0$/,
	/^=+ [1-9]\d{0,6} passed(?:, \d{1,7} (?:skipped|warnings?|deselected|xfailed|xpassed)){0,4}[^\n]{0,40}=$/,
	/^\W{0,8}(?:Tests?|Test Suites|Test Files):?\s{1,8}[1-9]\d{0,6} passed\b/,
	/^test result: ok\./,
];
function linesAtEnd(tail) {
	return tail
		.split("\n")
		.map((line) => line.slice(0, longestLine).trimEnd())
		.filter((line) => line !== "")
		.slice(-lastLines);
}
/** Characters of the end of an output, and of each line, in which a run says its outcome; and its last lines. */
const reach = 6_000;
const longestLine = 400;
const lastLines = 15;
/** The outcome of a command in few words: exit code, counts (`1 failed`), the error at its end. Looks at both ends only. */
export function outcomeOf(text) {
	const facts = new Set();
	const code = exitCodeIn(text);
	if (code !== undefined && code !== 0) facts.add(`exit ${code}`);
	const tail = text.slice(-outcomeReach);
	for (const line of tail.split("\n").slice(-8)) {
		const found = pythonError.exec(line);
		if (found) facts.add(found[1]);
	}
	for (const pattern of counts) {
		// The last count of a kind is the total.
		const last = new Map();
		for (const [whole, , kind] of tail.matchAll(pattern)) last.set(kind.toLowerCase(), whole);
		for (const fact of last.values()) if (!fact.startsWith("0 ") || /fail|error/i.test(fact)) facts.add(fact);
	}
	return [...facts].slice(0, mostFacts);
}
/** Characters at the end of an output that are searched for counts. */
const outcomeReach = 3_000;
const mostFacts = 4;
const counts = [
	/(?<![\w.,:/-])(\d{1,7}) (passed|failed|failing|passing|pass|fail|errors?|failures?|warnings?|skipped|problems?)\b/gi,
	/(?<![\w.,:/-])(\d{1,7}) (tests?|matches|files? changed|issues|entries|insertions|deletions)\b/gi,
];
const pythonError = /^(?:[\w.]{1,120}\.)?([A-Z][A-Za-z]{1,60}(?:Error|Exception|Interrupt|Exit))(?::|$)/;
/** The exit code that the agent program writes at the very start or end of an output. Codes elsewhere are output. */
function exitCodeIn(text) {
	const head = text.slice(0, exitCodeReach);
	const tail = text.slice(-exitCodeReach);
	if (succeeded.test(head)) return 0;
	let found = before.exec(head) ?? sentenceBefore.exec(head);
	for (const pattern of behind) found ??= pattern.exec(tail);
	if (head.startsWith("{")) found ??= inJson.exec(head) ?? inJson.exec(tail);
	return found ? Number(found[1]) : undefined;
}
const exitCodeReach = 400;
const succeeded = /^<system>Command executed successfully/;
/** The lines before the output of a command. Sources: Claude Code, Codex, mini-SWE-agent, Kimi CLI. */
const before =
	/^(?:Chunk ID: \S{1,40}\n)?(?:Wall time: [^\n]{1,60}\n)?(?:<returncode>|<system>(?:ERROR: )?Command failed with exit code:? |(?:Process exited with code|Exit [Cc]ode):? )(-?\d{1,10})\b/;
/** `Command failed with exit code 1`, `[Command finished with exit code 1]`: many programs write it at either end. */
const sentence =
	"[[(<]?(?:The )?(?:Command|Process)\\b[^\\n]{0,100}\\b(?:exited|failed|completed|finished) with (?:exit )?(?:code|status):? (-?\\d{1,10})\\b";
const sentenceBefore = new RegExp(`^${sentence}`, "i");
/** The lines after it. Sources: pi, OpenHands, Copilot CLI, Gemini CLI, and shells that show the code in brackets. */
const behind = [
	new RegExp(`(?:^|\\n)${sentence}[.\\])>]{0,3}\\s{0,9}$`, "i"),
	/(?:^|\n)<[^<>\n]{0,60}\bexit(?:ed)?(?: with)?(?: exit)? code:? (-?\d{1,10})>\s{0,9}$/,
	/(?:^|\n)Exit Code: (-?\d{1,10})\n(?:[A-Z][A-Za-z ]{1,30}: [^\n]{0,60}(?:\n|$)){0,4}\s{0,9}$/,
	/(?:^|\n)[[(](?:process )?exit(?:ed)?(?: with)?(?: code| status)?:? (-?\d{1,10})[\])]\s{0,9}$/i,
	/(?:^|\n)exit status (-?\d{1,10})\s{0,9}$/,
];
const inJson = /"(?:exit_?code|return_?code)"\s{0,4}:\s{0,4}(-?\d{1,10})\b/i;

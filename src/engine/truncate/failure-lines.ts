import { failureForms } from "./failure-forms.ts";

/** How surely a line tells of a failure: by its form, by a word, or not at all. */
export type FailureSign = "sure" | "likely" | "none";

const likely =
	/\b(?:error|errors|fail(?:ed|ure|ures|s|ing)?|fatal|exception|panic|traceback|assert(?:ion)?|invalid|denied|refused|cannot|could not|unable to|timed? ?out|conflict|abort(?:ed)?|missing|unexpected|undefined|not found)\b/i;
/** What stands in every line of a failure form, so that most lines are told by one look. */
const anyForm =
	/error|exception|interrupt|fail|fatal|panic|traceback|abort|assert|fault|denied|not found|undefined|unresolved|cannot|killed|oom|memory|no such|directory|refused|busy|space left|open files|read-only|permitted|not recognized|rejected|conflict|errno|exit|non-zero|critical|severe|emerg|goroutine|race|sanitizer|double free|smashing|corruption|terminate called|what\(\)|unbound|syntax|signal sig|core dumped|backoff|errimage|elifecycle|err|yn\d{4}|reference|symbol|timeout|not run|incomplete|went wrong|bug:|unhandled|docker daemon|\*\*\*|lua|not ok|rspec|curl:|eai_|enotfound|etimedout|enoent|eacces|eperm|\b5\d\d\b|[✗✘×✖✕❌●⨯]|^e {2}|^e: |^\s*\d+\) |^[ef]\d{4} |:\d+:\d+: |^\*\* \(/i;
/** A test that passed, whatever its name says. */
const passed =
	/^\s*(?:✓|✔|√|ok\b|PASS\b|--- (?:PASS|SKIP))|\.\.\. (?:ok|skipped|ignored)\b|\b(?:PASSED|SKIPPED|XFAIL)\b\s*(?:\[|\(|$)|\s(?:ok|OK)\s*(?:\[|\(|$)/;
/** Counts of failures: some, and none. */
const some =
	/\b[1-9]\d* (?:tests? |suites? )?(?:failed|failures?|failing|errors?|problems?)\b(?![-\w/.]*\.\w)|(?:^|\s|[(#,;|])(?:fail(?:ed|ures?|ing)?|errors?)(?:\s?[:=]\s?|\s)[1-9]\d*(?=\s*(?:$|[,;.)|]))/i;
const none =
	/\b(?:0|no) (?:errors?|error\(s\)|failures?|failed|failing|problems?|conflicts?)(?!\w)|\b(?:errors?|failures?|failed)(?:\s?[:=]\s?|\s)0\b/i;
/** Longest part of a line that is looked at, in characters, from its start and from its end. */
const longestRead = 600;

/** Reads whether a line tells of a failure. */
export function failureSign(line: string): FailureSign {
	const read = line.length <= 2 * longestRead ? line : `${line.slice(0, longestRead)} ${line.slice(-longestRead)}`;
	if (!anyForm.test(read) && !likely.test(read)) return "none";
	if (passed.test(read)) return "none";
	if (some.test(read)) return "sure";
	if (none.test(read)) return "none";
	if (failureForms.some((form) => form.test(read))) return "sure";
	return likely.test(read) ? "likely" : "none";
}

/** Whether a line sums up a run: counts of tests, of errors, the time that it took. */
export function isSummaryLine(line: string): boolean {
	return summary.test(line.length > longestRead ? line.slice(0, longestRead) : line);
}

const summary =
	/^\s*(?:=+ .{0,200}\b(?:passed|failed|errors?|skipped|warnings?|no tests ran)\b.{0,200}=+|(?:Tests?|Test Suites|Test Files|Snapshots|Suites|Type Errors|Duration|Time)[: ]\s*\S|Ran \d+ tests?|FAILED \(|OK(?: \(.*\))?$|BUILD (?:SUCCESS|FAIL)\w*|test result:|Found \d+ (?:errors?|problems?)|# (?:tests|pass|fail|suites|cancelled|skipped|todo|duration_ms)\b|\d+ (?:passing|failing|pending)|✖ \d+ problems?|(?:added|removed|changed|audited) \d+ packages?|\d+ vulnerabilit|Finished\b|Done in|Process exited|Exit code|exit code|real\s+\d|make: |error: could not compile|error: aborting|Successfully |Build (?:succeeded|failed)|\d+ examples?, |Tests run: |Passed! |Failed! |100% tests passed|\d+% tests passed)|\b\d+ (?:passed|failed|failures?|errors?)\b.{0,40}(?:,|in \d|$)/;

/** How surely a line tells of a failure: by its form, by a word, or not at all. */
export type FailureSign = "sure" | "likely" | "none";

/** Forms in which test runners, compilers, package managers, shells and runtimes tell of a failure. */
const sure = [
	// Test runners: pytest, unittest, vitest, jest, mocha, node, TAP, go, cargo, JUnit, ctest, PHPUnit, RSpec.
	/^\s*(?:FAIL(?:ED)?|ERROR)\b(?![:=]?\s*0\b)/,
	/^E {2,}\S/,
	/\b(?:FAILED|ERRORED)\b(?!\s*[:=]?\s*0\b)/,
	/^\s*(?:✗|✘|×|✖|✕|❌|●|⨯)\s/,
	/^\s*not ok \d/,
	/^\s*--- FAIL:/,
	/^\s*\d+\) \S/,
	/<<< (?:FAILURE|ERROR)!/,
	// Compilers and linters.
	/^\s*error(?:\[\w+\])?:/i,
	/: (?:fatal )?error(?:\s+[A-Z]+\d+)?:/i,
	/\bundefined reference to\b|\bunresolved external\b/,
	// Package managers, build tools, version control and shells.
	/^\s*npm (?:ERR!|error)(?!\s*$)/,
	/^(?:fatal|error|remote: error|CONFLICT)\b.{0,40}:/,
	/^make(?:\[\d+\])?: \*\*\*/,
	/^\S{1,40}: (?:line \d+: )?.{1,200}: (?:command not found|No such file or directory|Permission denied|not found)$/,
	/^CMake Error|^FAILURE: |^BUILD FAILED|\[ERROR\]|##\[error\]|^::error/,
	/\b(?:exit(?:ed with)? (?:code|status)|returned non-zero exit status|exit code:?)[ :=]*[1-9]/i,
	// Runtimes: Python, JavaScript, Java, Go, Rust, Ruby, .NET, C.
	/^Traceback \(most recent call last\)/,
	/^(?:\s*|.{0,80}\s)(?:Uncaught |Unhandled |Caused by: )?[\w.$]*(?:Error|Exception|Warning: Unhandled)(?: \[\w+\])?: \S/,
	/^\s*(?:panic|fatal error|goroutine \d+ \[running\])\b/,
	/\bpanicked at\b|\bSegmentation fault\b|\bcore dumped\b|\bAborted\b|\bOut of memory\b|\bOOMKilled\b/,
	/\b(?:FATAL|CRITICAL|SEVERE|EMERG(?:ENCY)?|PANIC)\b/,
	/(?:^|[\s[|])(?:ERROR|ERR)(?:[\s\]|:]|$)(?!\s*0\b)/,
	/"?level"?\s*[=:]\s*"?(?:error|fatal|critical)\b/i,
];
const likely =
	/\b(?:error|errors|fail(?:ed|ure|ures|s|ing)?|fatal|exception|panic|traceback|assert(?:ion)?|invalid|denied|refused|cannot|could not|unable to|timed? ?out|conflict|abort(?:ed)?|missing|unexpected|undefined|not found)\b/i;
/** What takes the words above back: a passing test named for an error, a count of none. */
const passing =
	/\b(?:PASS(?:ED)?|ok|OK|passed|skipped|SKIP(?:PED)?|xfail(?:ed)?|XFAIL)\s*(?:\[|\(|$)|\.\.\. (?:ok|skipped)|^\s*(?:✓|✔|√|ok \d|PASS\b|--- PASS|--- SKIP)|\b(?:0|no) (?:errors?|failures?|failed|failing|problems?|conflicts?)\b(?!.*\b[1-9]\d* (?:errors?|failures?|failed))|\b(?:errors?|failures?|failed)[:=]? ?0\b(?!.*\b[1-9]\d* (?:errors?|failures?|failed))/;
/** Longest part of a line that is looked at, in characters, from its start and from its end. */
const longestRead = 600;

/** Reads whether a line tells of a failure. */
export function failureSign(line: string): FailureSign {
	const read = line.length <= 2 * longestRead ? line : `${line.slice(0, longestRead)} ${line.slice(-longestRead)}`;
	const isLikely = likely.test(read);
	if (!isLikely && !/[A-Z]{3}|^E |[✗✘×✖✕❌●⨯]|^\s*\d+\) |Error|not ok|reference|exit|fault|dumped/.test(read))
		return "none";
	if (passing.test(read)) return "none";
	if (sure.some((form) => form.test(read))) return "sure";
	return isLikely ? "likely" : "none";
}

/** Whether a line sums up a run: counts of tests, of errors, the time that it took. */
export function isSummaryLine(line: string): boolean {
	return summary.test(line.length > longestRead ? line.slice(0, longestRead) : line);
}

const summary =
	/^\s*(?:=+ .{0,200}\b(?:passed|failed|errors?|skipped|warnings?|no tests ran)\b.{0,200}=+|(?:Tests?|Test Suites|Test Files|Snapshots|Suites|Type Errors|Duration|Time)[: ]\s*\S|Ran \d+ tests?|FAILED \(|OK(?: \(.*\))?$|BUILD (?:SUCCESS|FAIL)\w*|test result:|Found \d+ (?:errors?|problems?)|# (?:tests|pass|fail|suites|cancelled|skipped|todo|duration_ms)\b|\d+ (?:passing|failing|pending)|✖ \d+ problems?|(?:added|removed|changed|audited) \d+ packages?|\d+ vulnerabilit|Finished\b|Done in|Process exited|Exit code|exit code|real\s+\d|make: |error: could not compile|error: aborting|Successfully |Build (?:succeeded|failed))|\b\d+ (?:passed|failed|failures?|errors?)\b.{0,40}(?:,|in \d|$)/;

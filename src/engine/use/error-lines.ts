/** Characters of the end of an output that are looked at, and of each of its lines. */
const reach = 6_000;
const longestLine = 400;
/** Lines at the end of an output among which a run tells how it went. */
const lastLines = 15;
/** Longest answer that is a message and no content, in characters. */
const longestMessage = 1_000;

/** How messages of errors begin. */
const opensError =
	/^\W{0,4}(?:(?:fatal|error|failed|failure|panic|unable to|cannot|can't|could not|invalid|unknown (?:tool|command|skill|option)|no such (?:file|tool|command)|permission denied|access denied|unauthori[sz]ed|forbidden|bad request|aborted|cancell?ed|timed out|timeout)\b|[A-Za-z]{1,40}(?:Error|Exception)\b|E[A-Z]{3,14}: |\[Operation Cancelled\]|MCP error -?\d|The tool execution failed\b|\d{1,3} validation errors?\b|(?:Tool|Command|Operation|Request) (?:failed|aborted|cancell?ed|rejected|denied|timed out)\b)/i;
/** What messages of errors say. */
const saysError =
	/\b(?:does(?: not|n't) exist|(?:was|were|is|are|file|path|user|tool|item|resource|record) not found|no such file or directory|command not found|not found in file|permission denied|access denied|is not a (?:file|directory)|exceeds (?:the )?maximum|must be within|tool use was rejected|^File \S{1,300} not found|file already exists at|edit has introduced new syntax error|doesn't want to proceed|has not been read|(?:been|was) (?:rejected|denied|cancell?ed|aborted)|cannot be (?:executed|found|read|opened)|matches of the string to replace, but)\b/i;
/** What the programs that an agent ran say of a path. */
const saysOfPath =
	/^[\w./-]{1,60}: [^\n]{1,300}: (?:No such file or directory|Permission denied|Is a directory|Not a directory)$/i;

/** How the end of a run's output says that it failed: of npm, Go, Python, make, TypeScript, Rust, Biome, git and shells. */
const failedRun: readonly RegExp[] = [
	/^npm (?:ERR!|error) /,
	/^(?:FAIL|FAILED)(?:\s|$)/,
	/^FAILED \((?:failures|errors)=/,
	/^make(?:\[\d{1,3}\])?: \*\*\* /,
	/^error: could not compile /,
	/^(?:BUILD FAILED|BUILD FAILURE|Build failed\b)/,
	/: error TS\d{3,5}: |^error TS\d{3,5}: /,
	/^\W{0,8}(?:Tests?|Test Suites|Test Files):?\s{1,8}(?:[^\n]{0,40}\s)?[1-9]\d{0,6} failed\b/,
	/^=+ (?:[^\n]{0,40}\s)?[1-9]\d{0,6} (?:failed|errors?)\b/,
	/\bERROR task failed$/,
	/^error: script "[^"\n]{1,80}" exited with code [1-9]/,
	/^Found [1-9]\d{0,6} errors?\b/,
	/^✖ \d{1,7} problems? \([1-9]\d{0,6} errors?/,
	/^panic: |^\S{0,60}Segmentation fault/,
	/^(?:fatal|error|ERROR): /,
	/: command not found$|: not found$/,
	/ELIFECYCLE/,
	/^\s{0,8}[1-9]\d{0,6} (?:failing|fail)$|^# fail [1-9]/,
	/^Command (?:aborted|timed out)\b/,
];

/** How it says that nothing did. Of both, what stands last counts: a check behind the tests may still have failed. */
const passedRun: readonly RegExp[] = [
	/^\s{0,8}0 (?:fail(?:ed|ing|ures)?|errors?)$|^# fail 0$/,
	/^=+ [1-9]\d{0,6} passed(?:, \d{1,7} (?:skipped|warnings?|deselected|xfailed|xpassed)){0,4}[^\n]{0,40}=+$/,
	/^\W{0,8}(?:Tests?|Test Suites|Test Files):?\s{1,8}[1-9]\d{0,6} passed\b/,
	/^test result: ok\./,
];
const pythonFailure = /^(?:[\w.]{1,200}\.)?[A-Za-z]{0,80}(?:Error|Exception|Interrupt|Exit|Failure|Invalid)\b/;

/** Whether a short text is the message of an error, such as a tool gives in the place of a content. */
export function isErrorMessage(text: string): boolean {
	// JSON is no message, whatever its keys.
	if (text.length > longestMessage || /^(?:\{|\[["{[])/.test(text)) return false;
	const [first = ""] = text.split("\n", 1);
	const line = first.slice(0, longestLine);
	return opensError.test(line) || saysError.test(line);
}

/** Whether a short text in the place of a file is a message, and no line of a program. */
export function isReadRefusal(text: string): boolean {
	return isErrorMessage(text) && !/[;"{}=]/.test(text.split("\n", 1)[0] ?? "");
}

/** Whether a text in the place of what was listed or found is a message: of a tool, or of a program about a path. */
export function isRefusal(text: string): boolean {
	if (text.length > longestMessage) return false;
	if (/^(?:Error|ERROR|error|fatal|Unknown tool\b[^\n:]{0,20}): /.test(text)) return true;
	const lines = text.split("\n").filter((line) => line.trim() !== "");
	return lines.length > 0 && lines.every((line) => saysOfPath.test(line.slice(0, longestLine)));
}

/** Whether an output ends with a traceback of Python. */
export function endsWithTraceback(text: string): boolean {
	const tail = text.slice(-reach);
	if (!/^\s{0,8}Traceback \(most recent call last\):/m.test(tail)) return false;
	return linesAtEnd(tail)
		.slice(-5)
		.some((line) => pythonFailure.test(line));
}

/** Whether the last lines of an output say that the run failed. */
export function endsInFailure(text: string): boolean {
	for (const line of linesAtEnd(text.slice(-reach)).reverse()) {
		if (failedRun.some((pattern) => pattern.test(line))) return true;
		if (passedRun.some((pattern) => pattern.test(line))) return false;
	}
	return false;
}

function linesAtEnd(tail: string): string[] {
	return tail
		.split("\n")
		.map((line) => line.slice(0, longestLine).trimEnd())
		.filter((line) => line !== "")
		.slice(-lastLines);
}

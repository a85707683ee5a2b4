import { failureForms } from "./failure-forms.ts";

/** How surely a line tells of a failure: by its form, by a word, or not at all. */
export type FailureSign = "sure" | "likely" | "none";

const likely =
	/\b(?:error|errors|err|fail(?:ed|ure|ures|s|ing)?|fatal|exception|panic|traceback|assert(?:ion)?|invalid|denied|refused|cannot|can't|could not|couldn't|unable to|timed? ?out|conflict|abort(?:ed|ing)?|missing|unexpected|undefined|undeclared|not found|unknown|unauthorized|forbidden|mismatch|corrupt(?:ed)?|crash(?:ed)?|killed|rejected|unreachable|unavailable|unhealthy|died|rolled back|exceeded|expired|already exists|overflow|violat(?:es|ion)|halted|malformed|illegal|not permitted|not allowed|does not exist|doesn't exist|lost|broken|\w+(?:Error|Exception))\b/i;
/** Every failure form holds one of these words or signs, so that one look passes over most lines. */
const holdsWord = wordFinder(
	`err exception interrupt fault fail fatal fata[ pani traceback abort assert denied not undefined unresolved cannot can't
	could unable killed oom memory bad_alloc directory refused reset busy space open read-only permi reject conflict exit rc=
	rc: code nonzero non-zero crit severe alert emerg goroutine race sanitizer free smashing corrupt terminat what() unbound
	syntax parse signal core back-off backoff evicted deadline elifecycle yn0 symbol definition dyld timeout time-out timed wrong
	bug: oops protection unhandled uncaught manifest toomany *** lua: lua5 .pl .pm .t~line rspec curl: x509 certificate upstream unknown
	network pipe quota unavailable invalid illegal unrecognized unexpected missing mismatch flag already lost broken died
	crash rollback rolling unauthorized forbidden requests status state verdict outcome conclusion result "ok" "type" "event"
	"kind" "success" "succeeded" hresult 0xc 0x8 violat ora- pls- tns- sp2- db2 sql- sqlstate msg e11000 deadlock duplicate
	exist model level lvl currently undeclared expected mapping overflow null halted report locate credentials signature gzip
	nan ** == <-- categoryinfo wrongtype noauth no~ eai_ hang`
		.split(/\s+/)
		.map((one) => one.replace("~", " ")),
);
const holdsSign =
	/[✗✘×✖✕❌●⨯‼🔴💥]|\d\) |:\d+:\d+: |char:|\b[45]\d\d\b|^(?:[Ee]: |! |\[!|<\d|- ?ERR|[EF]\d{4} |\s*E {2})|\bE[A-Z]{4,11}\b|\bERR_|(?:^| )[EF] |[EF]\/|\[E\]|\bSIG[A-Z]|[EF]: /u;
/** A test that passed, whatever its name says. */
const passed =
	/^\s*(?:✓|✔|√|ok\b|PASS\b|--- (?:PASS|SKIP))|\.\.\. (?:ok|skipped|ignored)\b|\b(?:PASSED|SKIPPED|XFAIL)\b\s*(?:\[|\(|$)|(?<!\bnot)\s(?:ok|OK)\s*(?:\[|\(|$)/;
/** Counts of failures: some, and none. */
const some =
	/\b[1-9]\d* (?:tests? |suites? )?(?:failed|failures?|failing|errors?|problems?)\b(?![-\w/.]*\.\w)|(?:^|\s|[(#,;|])(?:fail(?:ed|ures?|ing)?|errors?)(?:\s?[:=]\s{0,9}|\s)[1-9]\d*(?=\s*(?:$|[,;.)|]))|(?:^|\s)(?:fail(?:ed|ures?)?|errors?|unreachable)=[1-9]\d*\b/i;
const none =
	/(?<![\d.])\b(?:0|no) (?:errors?|error\(s\)|failures?|failed|failing|problems?|conflicts?)(?!\w|\s?[:=]\s?[1-9])|\b(?:errors?|failures?|failed)(?:\s?[:=]\s?|\s)0\b/i;
/** Longest part of a line that is looked at, in characters, from its start and from its end. */
const longestRead = 600;
/** Colours stand between words and what tells that they are words. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape character begins a colour
const colours = /\u001b\[[0-9;:]*[A-Za-z]/g;
/** What loggers put before a line, at most four of them: a time, a level, a process, a step, a service. */
const prefix =
	/^\s{0,8}(?:(?:\[[^\]\n]{1,60}\]|\([\w-]{1,30}\)|[\w./-]{1,40}\s{0,20}\||#\d{1,4}(?: \d{1,6}\.\d{1,3})?|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d[\d.,]*(?: ?(?:Z|[+-]\d\d:?\d\d))?|\d\d:\d\d:\d\d[\d.,]*|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: \S{1,80}:)?|\d{1,7}\.\d{1,6}|\d{1,3}%|[\w.@/-]{1,40}(?:\[\d{1,8}\])?:|[>»|│┃╎+*-])\s+){1,4}/;

/** A line that says itself that it is of a lesser level, whatever stands behind the level. */
const lesser = /^[\W\d]{0,40}(?:warn(?:ing)?|info|information|debug|trace|note|notice|verbose|hint)\b/i;

/** The forms that look at the start of a line: with what stands before it taken away, only these can tell more. */
const anchored = failureForms.filter(({ source }) => /(?:^|[(|])\^/.test(source));

/** Reads whether a line tells of a failure. */
export function failureSign(line: string): FailureSign {
	const read = partRead(line);
	return mayTell(read) ? judge(read) : "none";
}

/** Most judgements that are remembered, and the longest line of which one is. */
const [mostJudged, longestJudged] = [2_000, 300];

/**
 * Reads line after line of one text. Lines that differ in numbers alone are judged once: most lines of a log repeat a few
 * forms, and a judgement takes ten times as long as remembering it.
 */
export function failureReader(): (line: string) => FailureSign {
	const judged = new Map<string, FailureSign>();
	return (line) => {
		const read = partRead(line);
		if (!mayTell(read)) return "none";
		if (read.length > longestJudged) return judge(read);
		const key = read.replace(/\d+/g, kindOfNumber);
		const known = judged.get(key);
		if (known !== undefined) return known;
		const sign = judge(read);
		if (judged.size >= mostJudged) judged.clear();
		judged.set(key, sign);
		return sign;
	};
}

/** What forms tell apart in numbers: none at all, a status of HTTP, a level, the count of digits. */
function kindOfNumber(digits: string): string {
	if (/^(?:0+|[45]\d\d|[56]0)$/.test(digits)) return digits;
	return "1".repeat(digits.length);
}

function partRead(line: string): string {
	return line.length <= 2 * longestRead ? line : `${line.slice(0, longestRead)} ${line.slice(-longestRead)}`;
}

function mayTell(read: string): boolean {
	return holdsWord(read) || holdsSign.test(read);
}

function judge(read: string): FailureSign {
	const plain = (read.includes("\u001b") ? read.replace(colours, "") : read).trimEnd();
	if (passed.test(plain)) return "none";
	if (some.test(plain)) return "sure";
	if (none.test(plain)) return "none";
	if (failureForms.some((form) => form.test(plain))) return "sure";
	const body = lesser.test(plain) ? plain : plain.replace(prefix, "");
	if (body.length < plain.length && anchored.some((form) => form.test(body))) return "sure";
	return likely.test(plain) ? "likely" : "none";
}

/** Finds whether a text holds any of some words, in capitals or not, in one pass over it. */
function wordFinder(words: readonly string[]): (text: string) => boolean {
	const letters = 128;
	const longest = words.reduce((sum, one) => sum + one.length, 1);
	/** For each state and letter the state behind it, 0 for none; a word ends where `ends` is 1. */
	const behind = new Uint16Array(longest * letters);
	const ends = new Uint8Array(longest);
	let states = 1;
	for (const one of words) {
		let state = 0;
		for (let at = 0; at < one.length; at += 1) {
			const place = state * letters + one.charCodeAt(at);
			if (behind[place] === 0) {
				behind[place] = states;
				states += 1;
			}
			state = behind[place] as number;
		}
		ends[state] = 1;
	}
	return (text) => {
		for (let start = 0; start < text.length; start += 1) {
			let state = 0;
			for (let at = start; at < text.length; at += 1) {
				const unit = text.charCodeAt(at);
				if (unit >= letters) break;
				state = behind[state * letters + (unit >= 65 && unit <= 90 ? unit + 32 : unit)] as number;
				if (state === 0) break;
				if (ends[state] === 1) return true;
			}
		}
		return false;
	};
}

/** Whether a line sums up a run: counts of tests, of errors, the time that it took. */
export function isSummaryLine(line: string): boolean {
	return summary.test(line.length > longestRead ? line.slice(0, longestRead) : line);
}

const summary =
	/^\s*(?:=+ .{0,200}\b(?:passed|failed|errors?|skipped|warnings?|no tests ran)\b.{0,200}=+|(?:Tests?|Test Suites|Test Files|Snapshots|Suites|Type Errors|Duration|Time)[: ]\s*\S|Ran \d+ tests?|FAILED \(|OK(?: \(.*\))?$|BUILD (?:SUCCESS|FAIL)\w*|test result:|Found \d+ (?:errors?|problems?)|# (?:tests|pass|fail|suites|cancelled|skipped|todo|duration_ms)\b|\d+ (?:passing|failing|pending)|✖ \d+ problems?|(?:added|removed|changed|audited) \d+ packages?|\d+ vulnerabilit|Finished\b|Done in|Process exited|Exit code|exit code|real\s+\d|make: |error: could not compile|error: aborting|Successfully |Build (?:succeeded|failed)|\d+ examples?, |Tests run: |Passed! |Failed! |100% tests passed|\d+% tests passed)|\b\d+ (?:passed|failed|failures?|errors?)\b.{0,40}(?:,|in \d|$)/;

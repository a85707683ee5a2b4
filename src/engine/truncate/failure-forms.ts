/**
 * Forms in which tools tell of a failure, by kind of tool: what the tools themselves print, so that none needs to know
 * which tool ran. Each looks at one line.
 */
export const failureForms: readonly RegExp[] = [
	// Test runners: pytest, unittest, vitest, jest, mocha, playwright, node, TAP, go, cargo, JUnit, ctest, .NET, PHPUnit, RSpec.
	/^\s*(?:FAIL(?:ED|URES?)?|ERROR)\b(?![:=]?\s*0\b)/,
	/^E {2,}\S/,
	/\b(?:FAILED|ERRORED)\b(?!\s*[:=]?\s*0\b)/,
	/\.\.\. (?:FAIL|ERROR)\b/,
	/^\s*(?:✗|✘|×|✖|✕|❌|●|⨯)\s/,
	/^\s*not ok \d/,
	/^\s*--- FAIL:/,
	/^\s{2,}\d+\) \S|^\d+\) [\w\\]+::\w/,
	/<<< (?:FAILURE|ERROR)!/,
	/\*\*\*\s?(?:Failed|Timeout|Exception|Not Run)\b/,
	/^\s{1,4}Failed \S.{0,300}\[[<\d]|^Failed!/,
	/^rspec \.\/\S+:\d+/,
	/^\W{3,}\s*Failed (?:Tests|Suites) [1-9]/,
	// Compilers, linkers, linters.
	/^\s*error(?:\[\w+\])?:/i,
	/: (?:fatal |runtime |internal compiler )?error(?:\s+[A-Z]+\d+)?:/i,
	/\berror [A-Z]{2,5}\d{2,5}:/,
	/\bundefined (?:reference|symbol)\b|\bunresolved external\b|\bsymbol\(s\) not found\b|\bcannot find -l/,
	/^\S+\.go:\d+:\d+: \S/,
	/^\s+\d+:\d+\s+error\s/,
	/^\S+:\d+:\d+: [A-Z]{1,4}\d{3,4} \S/,
	/^e: \S|^Oops! Something went wrong|^== Compilation error/,
	// Build tools.
	/^\w*make(?:\[\d+\])?: \*\*\*|^\*\*\* Error code|\*\*\* \[.{1,300}\] Error \d/,
	/^ninja: (?:build stopped|error)|^-- Configuring incomplete/,
	/^CMake Error|^FAILURE: |\bBUILD FAILED|^Build FAILED|\[ERROR\]|##\[error\]|^::error/,
	/^\* What went wrong:|^Execution failed for task\b|\baborted!/,
	// Package managers and version control.
	/^\s*npm (?:ERR!|error)(?!\s*$)/,
	/\bERR_PNPM_\w|\bELIFECYCLE\b|^➤ YN\d{4}:.{0,300}\b(?:error|failed|forbidden|couldn't|can't)\b/i,
	/^E: \S/,
	/^(?:fatal|error|remote: error|CONFLICT)\b.{0,40}:/,
	/^ ! \[(?:remote )?rejected\]|^Automatic merge failed|^Permission denied \(/,
	// Shells and the system.
	/\bcommand not found\b|: unbound variable$|\bsyntax error near unexpected token\b|\bis not recognized as (?:an internal|the name)\b/,
	/^\S{1,60}: (?:.{1,300}: )?(?:not found|No such file or directory|Permission denied|Is a directory|Not a directory|No space left on device|Connection refused|Operation not permitted|Device or resource busy|Too many open files|Read-only file system)$/,
	/\[Errno \d+\]|\bNo space left on device\b|\bToo many open files\b|\bExiting with failure status\b/,
	/\b(?:exit(?:ed)?(?: with)?(?: code| status)|returned non-zero exit status|non-zero code|exit code:?)[ :=]*[1-9]/i,
	/^Killed\s*$|: line \d+:\s+\d+ Killed\b|\bKilled process \d|\boom-kill\b|\bOut of memory\b|\bOOMKilled\b/i,
	/\bSegmentation fault\b|\bsegfault at\b|\bcore dumped\b|\bBus error\b|\bAborted\b|\[signal SIG|\bkernel: BUG:/i,
	// Containers and clusters.
	/^(?:docker: )?Error (?:response from daemon|from server)|^Cannot connect to the Docker daemon/,
	/\b(?:CrashLoopBackOff|ImagePullBackOff|ErrImagePull|CreateContainerError|CreateContainerConfigError)\b/,
	// Runtimes: Python, JavaScript, Java, .NET, Go, Rust, Ruby, PHP, C and C++, Elixir, Lua, R.
	/^Traceback \(most recent call last\)/,
	/^(?:\s*|.{0,80}\s)(?:Uncaught |Unhandled |Caused by: )?[\w.$]*(?:Error|Exception|Warning: Unhandled)(?: \[\w+\])?: \S/,
	/^(?:Caused by: |\S{1,300}:\d+: )?(?:[\w$]+\.){0,20}[A-Z][\w$]*(?:Error|Exception|Interrupt)\s*$/,
	/\bUnhandled ?(?:Promise ?Rejection|exception)\b/i,
	/\((?:[A-Z]\w*::){0,8}[A-Z]\w*(?:Error|Exception)\)$|^(?:[A-Z]\w*::){0,8}[A-Z]\w*Error \(.{1,300}\):?$/,
	/^\s*(?:panic|fatal error|goroutine \d+ \[)|\bpanicked at\b|^memory allocation of \d+ bytes failed|^WARNING: DATA RACE/,
	/^PHP (?:Parse|Fatal|Recoverable)|^(?:Parse|Fatal|Catchable fatal) error:/,
	/: Assertion [`'"].{0,300} failed|\b\w{1,20}Sanitizer: |^terminate called\b|^\s+what\(\): |\bdouble free\b|\bstack smashing\b|\bheap corruption\b/,
	/^\*\* \([\w.]+\) |^lua[\d.]*: \S+:\d+:|^Error in \S/,
	// Network.
	/"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) \S+ HTTP\/[\d.]+" 5\d\d\b|^(?:<\s*)?HTTP\/[\d.]+ 5\d\d\b/,
	/\b(?:GET|POST|PUT|PATCH|DELETE) \S+ 5\d\d\b|\b50[0-4] (?:Internal Server Error|Not Implemented|Bad Gateway|Service Unavailable|Gateway Time-?out)/i,
	/^curl: \(\d+\)|\s(?:ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EADDRINUSE|ENOSPC|ENOENT|EACCES|EPERM)\b(?!['")])/,
	// Logs that name a level.
	/\b(?:FATAL|CRITICAL|SEVERE|EMERG(?:ENCY)?|PANIC)\b(?!\s*[:=]?\s*0\b)/,
	/(?:^|[\s[|])(?:ERROR|ERR)(?:[\s\]|:]|$)(?!\s*0\b)/,
	/"?level"?\s*[=:]\s*"?(?:error|fatal|critical)\b/i,
	/^[EF]\d{4} \d\d:\d\d:\d\d/,
];

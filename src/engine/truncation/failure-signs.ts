import { indexPatterns } from "./pattern-index.ts";

const errorName = "(?:[\\w$]+(?:\\.|::|\\\\)){0,20}[A-Z][\\w$]{0,80}(?:Error|Exception|Interrupt|Fault)";

/**
 * The forms in which tools report failures, by kind of tool. Each form matches one line without colours and trailing white
 * space. `^` is the start of the line, or the place after the time, level or source that a logger writes before a message.
 */
const failureForms: readonly RegExp[] = [
	// Test runners of Python, JavaScript, Go, Rust, Java, .NET, PHP, Ruby, C++, Swift, Dart and shells; TAP.
	// Not as an identifier of code: `FAILED = 3,`, `Status.FAILED`, `case FAILED:`.
	/^\s*(?:FAIL(?:ED|URES?)?|ERROR)\b(?![:=]?\s*0\b|\(|\s*(?:[,;]\s*$|=[^=]|:\s*["'`{]|=>))/,
	/(?<![.$:]|\b(?:const|static|final|case|define|let|var|return|typeof|readonly)\s|(?:[=!]=|&&|\|\||[?(,]) ?)\b(?:FAILED|ERRORED)\b(?!\s*[:=]?\s*0\b|\(|["'`]?\s*[,;)\]}]+\s*$|["'`]?\s*(?:=[^=]|[=!]==?|=>|\?|&&|\|\|)|:\s*["'`{]|\.\w)/,
	/,["']?(?:FAILED|ERRORED)["']?,/,
	/\.\.\. (?:FAIL|ERROR)\b/,
	/^\s*(?:✗|✘|×|✖|✕|❌|●|⨯|‼|🔴|💥)\s/u,
	/^\s*not ok \d/,
	/^\s*--- FAIL:/,
	/^\s{2,}\d+\) \S|^\d+\) [\w\\]+::\w|^\d+\) (?:Error|Failure)/,
	/<<< (?:FAILURE|ERROR)!/,
	/\*\*\*\s?(?:Failed|Timeout|Exception|Not Run)\b/,
	/^\s{1,4}Failed \S.{0,300}\[[<\d]|^Failed!/,
	/^rspec \.\/\S+:\d/,
	/^\W{3,}Failed (?:Tests|Suites) [1-9]/,
	/^\S+:\d+: Failure$|^Test Case '.{1,300}' failed|\bXCTAssert\w* failed/,
	/^\d\d:\d\d(?: [+~-]\d+)+: .{1,300} \[E\]$/,
	/^(?:Some tests failed|Test failed|Testing failed|Tests? (?:run|suite) failed|Failed (?:tests?|scenarios?|examples?|features?):)/i,
	/<(?:failure|error|fault|rerunFailure)\b[^>]{0,300}\b(?:message|type)=/,
	// Compilers, linkers, linters.
	/^\s*error(?:\[\w+\])?:/i,
	/: (?:fatal |runtime |internal compiler |parser |syntax |type |link(?:er)? )?error(?:\[[\w:-]+\]|\s+[A-Z]+\d+)?\s?:/i,
	/\berror [A-Z]{2,8}\d{2,5}\b/,
	/\bundefined (?:reference|symbols?)\b|\bunresolved external\b|\bsymbol\(s\) not found\b|\bcannot find -l/i,
	/^ld(?:\.\w+)?: .{0,200}\bnot found\b|\bduplicate symbol\b|\bmultiple definition of\b|\bsymbol lookup error\b/,
	/\berror while loading shared libraries\b|^dyld(?:\[\d+\])?: |\bversion `GLIBC\S{1,40} not found\b/,
	/^\S+\.go:\d+:\d+: \S/,
	/^\s+\d+:\d+\s+error\s/,
	/^\S+:\d+:\d+: (?:[A-Z]{1,4}\d{3,4}:?|[EF]:) \S|^[EF]\d{4}: \S/,
	/^\S+\.\w{1,8}:\d+:\d+: (?:undefined|undeclared|unresolved|unexpected|expected|cannot|could not|no |not |unknown|missing|mismatched|invalid|syntax)/i,
	/^\S+\.\w{1,8}:\d+: (?:undefined|unexpected|syntax error|parse error|cannot|no such|invalid)/i,
	/^\S*\(\d+(?:, ?\d+)?\):? error\b/i,
	/^e: \S|^Oops! Something went wrong|^== Compilation error|\binternal compiler error\b/i,
	/^(?:\S{1,60} )?fatal\s*: \S|^error \S.{0,300}\berror\b/i,
	/^(?:Failed to compile|Compilation failed|Build failed|Build error|Could not compile)\b/i,
	/^! (?:LaTeX|Package|Undefined|Emergency|Missing|TeX|Misplaced|Extra)\b|^Fatal error(?: occurred|:)/,
	// Build tools.
	/^\w*make(?:\[\d+\])?: \*\*\*|^\*\*\* Error code|\*\*\* \[.{1,300}\] Error \d/,
	/^ninja: (?:build stopped|error)|^-- Configuring incomplete|^scons: \*\*\*/,
	/^CMake Error|\bBUILD FAILURE|\[ERROR\]|##\[error\]|^::error/,
	/^\* What went wrong:|^Execution failed for task\b|\baborted!|^The following build commands failed/,
	/^Module (?:not found|build failed|parse failed)|^\[!\] \(?\S|\bfailed to resolve (?:import|dependenc|host)/i,
	/^(?:Command|Step|Task|Stage|Job|Pipeline|Deployment|Migration|Upload|Download|Build|Install(?:ation)?|Publish|Release|Test|Spec|Check|Compilation|Request|Assertion|Verification|Validation|Authentication|Login|Import|Export|Backup|Restore|Sync|Transaction|Query|Operation|Process|Service|Worker)\b(?!\s+(?:const|let|class|function|default|type|enum|interface|[{*"'])).{0,120}\b(?:failed|failure|errored|timed out|crashed|died|aborted)\b/i,
	/\b(?:step|task|stage|job|pipeline|deployment|migration|upload|download|build|install(?:ation)?|compilation|transaction|probe|check|rollout)s? (?:has |have |was |marked as )?(?:failed|failure|errored|aborted|crashed)\b/i,
	/\bdid not complete successfully\b|\bis currently broken\b|\bmarked build as failure\b|^Finished: (?:FAILURE|ABORTED|UNSTABLE)/i,
	// Package managers and version control.
	/^\s*npm (?:ERR!|error)(?!\s*$)/,
	/\bERR_PNPM_\w|\bELIFECYCLE\b|^➤ YN\d{4}:.{0,300}\b(?:error|failed|forbidden|couldn't|can't)\b/i,
	/^E: \S|^dpkg(?:-\w+)?: error|^W: Failed to fetch|^Err:\d+ /,
	/^(?:fatal|error|remote: error)(?: [A-Z]+\d+)?: |^CONFLICT \(|^error (?:An unexpected|during|while)\b|: error \(at /,
	/^ ! \[(?:remote )?rejected\]|^Automatic merge failed|^Permission denied \(|\bpatch does not apply\b|^patch: \*{4}|^remote: Permission to \S+ denied/,
	/^Could not find (?:gem|a version|artifact|method|com|org|any)\b|\bcould not find compatible versions\b|^An error occurred while\b/i,
	/\bcould not be resolved\b|^Could not (?:resolve|transfer|determine)\b|^No matching (?:distribution|package|version)/i,
	/^No package \S+ available|\bno matching versions? for\b|\bno required module provides\b/i,
	/^go: \S.{0,200}(?:\b40\d\b|\bnot found\b|\bno matching\b|\bunrecognized\b|\binvalid\b|\bmissing go\.sum\b)/,
	/^RPM build errors:|^Package \S+ was not found\b|^No package '.{1,80}' found/,
	// Archivers and compressors: unzip, tar, bsdtar, 7z, unrar, cpio, gzip, bzip2, xz, zstd.
	/\bbad (?:CRC|zipfile offset|local header|checksum|magic)\b|\bCRC (?:failed|mismatch)\b|\b(?:checksum|crc|length|decoding|inflate|decompression|lzma library|checkdir|write|read|extraction) error\b/i,
	/\b(?:invalid|corrupt(?:ed)?|damaged|malformed|truncated|unrecogni[sz]ed|unsupported) (?:compressed data|archive|input (?:file|data)|zip ?file|tar (?:archive|header)|stored block|block type|compression method|header|number)\b|\bdoes not look like an? \w+ archive\b|\b(?:not|is no) an? (?:zip|tar|rar|7z|gzip|xz) (?:file|archive)\b/i,
	/\b(?:unexpected|premature) (?:EOF|end) (?:in|of) (?:archive|file|data|input)\b|\bsignature not found\b|\bzipfile (?:is |probably )?(?:corrupt|damaged)|\bcannot (?:find or open|find zipfile|find volume)\b|\bcan ?not open (?:the )?\S{0,80} ?as (?:an? )?(?:\[?\w+\]? )?archive\b|\b(?:wrong|incorrect) password\b|\bdata integrity error\b|\bdecompression failed\b|\bcompressed data is corrupt\b|\bfile format not recogni[sz]ed\b|\b(?:missing|extra) \d+ bytes in\b|\bunsupported compression\b|\blone zero block\b|\bskipping to next header\b|\bunable to (?:extract|decompress|unpack)\b/i,
	// Shells and the system.
	/\bcommand not found\b|: unbound variable$|\bsyntax error near unexpected token\b|\bis not recognized as (?:an internal|the name)\b|^fish: Unknown command/,
	/^(?:.{1,300}: )?(?:not found|No such file or directory|Permission denied|Is a directory|Not a directory|File exists|No space left on device|Connection refused|Operation not permitted|Operation timed out|Device or resource busy|Too many open files|Read-only file system|Input\/output error|Cannot allocate memory|Disk quota exceeded|Resource temporarily unavailable|Broken pipe|Invalid argument|Invalid cross-device link|Directory not empty|Exec format error|Bad file descriptor|Text file busy|Address already in use|No route to host|Network is unreachable|Name or service not known|Temporary failure in name resolution|Connection reset by peer|Connection timed out|Host is down|Stale file handle|Argument list too long|Bad address|No such (?:device|process|host|container|image|service)(?: or address)?)(?: \(\d+\))?\.?$/i,
	/^\S{1,40}: (?:no such file or directory|permission denied|command not found|not found): \S/i,
	/\[Errno \d+\]|\bos error \d+\b|\bNo space left on device\b|\bToo many open files\b|\bExiting with failure status\b|\bAddress already in use\b|\bPort \d+ is already in use\b/i,
	/\b(?:exit(?:ed)?(?: with)?(?: (?:the )?(?:code|status|value))?|exitcode|exit_code|rc|return(?:ed)? code|errorlevel)[ :=]+[1-9]\d{0,2}\b(?!\.\d)/i,
	/\bnon-?zero \w|\bexited (?:unexpectedly|abnormally)\b|\bterminated (?:unexpectedly|abnormally|by signal)\b/i,
	/^Killed(?:: \d+)?\s*$|: line \d+:\s+\d+ Killed\b|\bKilled process \d|\boom-kill\b|\bOut of memory\b|\bOOMKilled\b|\bstd::bad_alloc\b|\bCannot allocate memory\b|^MemoryError\b|\bmemory exhausted\b|\bheap limit\b/i,
	/\bSegmentation (?:fault|violation)\b|\bsegfault at\b|\bcore dumped\b|\bBus error\b|\bAborted$|\bAborted \(|\[signal SIG|\bSIG(?:SEGV|ABRT|BUS|ILL|FPE|KILL)\b|^(?:Illegal instruction|Floating point exception|Trace\/breakpoint trap|Abort trap)\b|\bsignal: (?:killed|aborted|segmentation)/i,
	/\bkernel: BUG:|\bBUG: (?:KASAN|unable|kernel|soft lockup)|\bKernel panic\b|\bOops: \d|\bgeneral protection fault\b|\bI\/O error\b|-fs error\b/i,
	/\bFailed with result '|\bcode=exited, status=[1-9]|\bfailed because the control process\b/,
	/^Host key verification failed|\bCould not resolve host(?:name)?\b|\bunable to resolve host\b|\bUnknown host\b|\brsync error:|^lost connection$/i,
	/\bCategoryInfo\s+: |\bFullyQualifiedErrorId : |^The system cannot find\b|^Access is denied|^At \S.{0,200}:\d+ char:\d+$/,
	/\bHRESULT:? 0x[89a-f]|\b0xC0000\w{3}\b|\b0x8007\w{4}\b|\bAccess violation\b|\bSTATUS_ACCESS_VIOLATION\b/i,
	/^(?:\S{1,60}: )?(?:(?:unknown|unrecognized|invalid|illegal) (?:option|flag|command|argument|subcommand|shorthand flag)s?\b|flag provided but not defined\b|missing required (?:argument|option|flag|parameter)s?\b)/i,
	// Containers, clusters, clouds, configuration management.
	/^(?:docker: )?Error (?:response from daemon|from server)|^Cannot connect to the Docker daemon|\bfailed to solve\b|\bmanifest unknown\b|\btoomanyrequests\b|\bpull access denied\b/,
	/\b(?:CrashLoopBackOff|ImagePullBackOff|ErrImagePull|InvalidImageName|CreateContainerError|CreateContainerConfigError|RunContainerError|FailedScheduling|FailedMount|FailedCreate|BackOff|Evicted|NodeNotReady|DeadlineExceeded)\b/,
	/^\S+ +\d+\/\d+ +(?:Error|Unknown|Init:Error|Terminating)\b|\bBack-off (?:restarting failed|pulling image)|\bprobe failed\b|\bexceeded its progress deadline\b/i,
	/^failed: \[.{1,200}\]|\b(?:unreachable|failed)=[1-9]/,
	/^[│╷|]\s*Error: |\bError acquiring the state lock\b/,
	/\b(?:CREATE|UPDATE|DELETE|IMPORT)_FAILED\b|\b(?:\w+_)?ROLLBACK_(?:IN_PROGRESS|COMPLETE|FAILED)\b|^An error occurred \(\w+\)|\bPERMISSION_DENIED\b|\bAuthorizationFailed\b|\bRESOURCE_EXHAUSTED\b/,
	/\b(?:UNAVAILABLE|INTERNAL|UNAUTHENTICATED|DEADLINE_EXCEEDED|INVALID_ARGUMENT|FAILED_PRECONDITION): |\berrno[=: ]\s?[1-9]|\brpc error: code = |\bUnable to locate credentials\b|\b(?:AccessDenied|Throttling)(?:Exception)?\b|^\(\w*(?:Failed|Error|Denied|NotFound)\)/,
	/^\s*Result: (?:False|FAIL|FAILED|FAILURE|ERROR)$|^(?:STATUS|State|Result|Verdict|Outcome|Conclusion)\s*[:=]\s*"?(?:fail|failed|failure|error|errored|aborted|crashed)\b/i,
	// Runtimes: Python, JavaScript, Java, .NET, Go, Rust, Ruby, PHP, Perl, C and C++, Elixir, Erlang, Lua, R, Julia, Swift, Haskell.
	/^Traceback \(most recent call last\)/,
	new RegExp(
		`^(?:\\s*|.{0,80}\\s)(?:Uncaught |Unhandled |Caused by: )?(?:${errorName}|Error|Exception|Warning: Unhandled)(?: \\[\\w+\\])?: \\S`,
	),
	new RegExp(`^(?:Caused by: |\\S{1,300}:\\d+: )?${errorName}\\s*$`),
	/^(?:Exception in thread|Caused by:|Unhandled exception|nested exception is|Suppressed:)[ :"]|^Exception (?:in|while|during|occurred|caught)\b/i,
	/\bUnhandled ?(?:Promise ?Rejection|exception)\b|^Uncaught\b/i,
	/\((?:[A-Z]\w*::){0,8}[A-Z]\w*(?:Error|Exception)\)$|^(?:[A-Z]\w*::){0,8}[A-Z]\w*Error \(.{1,300}\):?$/,
	/^\s*(?:panic!|panic\b.{0,20}:|fatal error:|goroutine \d+ \[)|\bpanicked at\b|^memory allocation of \d+ bytes failed|^WARNING: (?:DATA RACE|ThreadSanitizer)/i,
	/^PHP (?:Parse|Fatal|Recoverable|Warning)|^(?:Parse|Fatal|Catchable fatal) error:/,
	/: Assertion [`'"].{0,300} failed|\b\w{1,20}Sanitizer: |^terminate called\b|^\s+what\(\): |\b(?:double free|stack smashing|heap corruption)\b|^(?:malloc|free|realloc|corrupted)\b.{0,20}: (?:corrupted|invalid|double)/i,
	/^==\d+== ?(?:Invalid|Process terminating|Conditional jump)|^<--- Last few GCs|\bJavaScript heap out of memory\b/,
	/^\*\* \([\w.]+\) |^=(?:CRASH|ERROR) REPORT=|\bGenServer \S.{0,200} terminating\b|^\{"init terminating/,
	/^lua[\d.]*: \S+:\d+:|^Error in \S|^Execution halted|^\S+\.(?:pl|pm):? line \d|\bat \S+\.(?:pl|pm|t) line \d+[.,]|^Undefined subroutine\b/,
	/^(?:undefined (?:method|variable|index|function)|Undefined (?:symbols for|control sequence)|null pointer dereference|Null check operator used on|stack overflow|StackOverflowError|Maximum call stack)/i,
	/^(?:parse error|syntax error|Unexpected token|Unexpected end of|mapping values are not allowed|json: cannot|yaml: line \d)|^yaml: .{0,40}(?:not allowed|could not|did not)/i,
	/^Error (?:starting|executing|running|loading|reading|writing|opening|creating|building|installing|processing|parsing|while|during|code|at|on)\b/,
	// Network.
	/"?(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) \S+(?: HTTP\/[\d.]+)?"? 5\d\d\b|\bHTTP(?:\/[\d.]+)?[ :]+(?:status |error |code |response )*5\d\d\b/,
	/\b50[0-4] (?:Internal Server Error|Not Implemented|Bad Gateway|Service Unavailable|Gateway Time-?out)|\bstatus(?:[ _-]?code)?"?\s?[:= ]\s?5\d\d\b(?! (?:ms|kB|MB|bytes))/i,
	/^(?:\S+ )?(?:401 Unauthorized|403 Forbidden|429 Too Many Requests|404 Not Found)\b|\breturned (?:an )?error: [45]\d\d\b|\bfailed with (?:status|status code|HTTP|HTTP status)(?: code)? [45]\d\d\b|\bfailed: [45]\d\d\b/,
	/^curl: \(\d+\)|\bE(?:CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|NOTFOUND|HOSTUNREACH|NETUNREACH|PIPE|ADDRINUSE|NOSPC|NOENT|ACCES|PERM|MFILE|EXIST|ISDIR|NOTDIR|AI_AGAIN)\b(?!['")])/,
	/\bconnection (?:refused|reset|closed unexpectedly|timed out|aborted)\b|\bConnection to \S+ (?:refused|failed|timed out|closed|lost)\b|\bno such host\b|\bnetwork is unreachable\b|\bno route to host\b|\bsocket hang up\b|\bbroken pipe\b/i,
	/\b(?:context deadline exceeded|i\/o timeout|TLS handshake (?:timeout|error|failed)|handshake failure|net::ERR_\w+|ERR_(?:CONNECTION|NAME|CERT|SSL|NETWORK|TIMED)\w+)\b/,
	/\b(?:x509: |SSL certificate problem|CERTIFICATE_VERIFY_FAILED|certificate has expired|certificate verify failed|self[- ]signed certificate|unable to verify the first certificate|UNABLE_TO_VERIFY_LEAF_SIGNATURE)/i,
	/\bupstream (?:connect error|timed out|prematurely closed)|\bno (?:healthy|live) upstreams?\b|\bwas refused\b/i,
	// Databases.
	/\bORA-\d{5}\b|\b(?:PLS|TNS|SP2|DB2|SQL)-?\d{4,5}[:N]|\bSQLSTATE\b|^Msg \d+, Level \d|\bDSRA\d{4}E\b|\bE11000\b/,
	/\bdeadlock (?:detected|found)\b|\bLock wait timeout\b|\bduplicate key\b|\b(?:relation|column|table|database|role|function|type|schema) "?[\w.]{1,80}"? (?:does not|doesn't|already) exist|\bno such (?:table|column)\b|^Invalid object name\b|\bviolates (?:unique|foreign|check|not-null)/i,
	/^\(error\) \S|^-(?:ERR|WRONGTYPE|NOAUTH|OOM|MOVED|BUSY|READONLY|LOADING) |\b(?:Database|Runtime|Compilation) Error in model\b|^(?:Login failed|Access denied) for user\b/i,
	// Log levels: in capitals, in brackets, after a key, as a letter, a number or a priority of syslog.
	/\b(?:FATAL|CRITICAL|SEVERE|EMERG(?:ENCY)?|PANIC)\b(?!\s*[:=]?\s*0\b)/,
	/(?:^|[\s[|(<,;"'])(?:ERROR|ERR)(?:[\s\]|:,;)>"']|$)(?!\s*0\b)/,
	/^\[?(?:error|crit|critical|fatal|alert|emerg|emergency|severe)\s?[\]|]\s?\S|\s\[(?:error|crit|critical|fatal|alert|emerg|emergency)\]\s|^(?:ERRO|FATA|PANI|CRIT)\[\d+\]/i,
	/(?:level|lvl|severity|levelname)["']?\s*[=:]\s*["']?(?:error|err|fatal|critical|crit|panic|alert|emergency|emerg|severe|dpanic)\b/i,
	/"level":\s?[56]0\b/,
	// In one alternative with the failures of pytest, because none has a rare literal, so each is tested on every line.
	/^(?:E {2,}\S|[EF]\d{4} \d\d:\d\d:\d\d|[EF]\/[\w.]+ *\(|(?:\d\d-\d\d )?[\d:.]+ +\d+ +\d+ [EF] \S|<(?:[0-3]|1[0-1]|2[4-7])>)/,
	/(?:^|\s)(?:kern|daemon|user|auth|authpriv|syslog|cron|local\d)\.(?:err|error|crit|alert|emerg)\b|\s(?:crit|alert|emerg): \S/,
	/"(?:error|err|exception|error_?message)"\s*:\s*(?:"[^"]|\{\s*"|true\b|[1-9])|"(?:status|state|result|outcome|conclusion|type|event|kind|action|verdict|phase|(?:test|build|run|job|check)_?(?:status|result|state))"\s*:\s*"(?:error|fail|failed|failure|fatal|exception|errored|crashed|broken|timed_?out)"|"(?:\w{0,20}success(?:ful)?|ok|succeeded|passed)"\s*:\s*false\b|"(?:fail|failed|failing|errored|crashed|unreachable|has_?errors?|has_?failed|is_?error)"\s*:\s*true\b|"(?:exit_?code|return_?code|exit_?status|rc)"\s*:\s*[1-9]/i,
	/\b(?:outcome|result|status|success)="(?:fail(?:ed|ure)?|error|broken|false)"/i,
	// Unambiguous words at the start of a line.
	/^(?:Failed to|Failure:|Could not|Couldn't|Cannot|Can't|Unable to|Timed out|Timeout (?:of|after|while|waiting|exceeded|expired)|Access denied|Permission denied|Authentication failed|Unauthorized|Checksum mismatch|Hash mismatch|Invalid credentials|Segfault|Crash(?:ed)?:|Broken pipe|Out of (?:memory|disk|range)|Aborting|Fatal:|Rolling back|Rollback)\b(?! (?:attempt|handling))/i,
	/\bdid NOT match\b|\bBAD signature\b|\bintegrity check failed\b|\bLoss is nan\b|\bWORKER TIMEOUT\b|\bLost task \d|\bJob aborted\b|\bExecutor lost\b|\bnot in gzip format\b|\bunexpected end of (?:file|input)\b|\bcorrupt(?:ed)? (?:file|archive|data|database|index|block)\b/i,
];

type FailureSign = "sure" | "likely" | "none";

const likely =
	/\b(?:error|errors|err|fail(?:ed|ure|ures|s|ing)?|fatal|exception|panic|traceback|assert(?:ion)?|invalid|denied|refused|cannot|can't|could not|couldn't|unable to|timed? ?out|conflict|abort(?:ed|ing)?|missing|unexpected|undefined|undeclared|not found|unknown|unauthorized|forbidden|mismatch|corrupt(?:ed)?|crash(?:ed)?|killed|rejected|unreachable|unavailable|unhealthy|died|rolled back|exceeded|expired|already exists|overflow|violat(?:es|ion)|halted|malformed|illegal|not permitted|not allowed|does not exist|doesn't exist|lost|broken|\w+(?:Error|Exception))\b/i;
/** A test that passed, even if its name contains a word of failure. */
const passed =
	/^\s*(?:✓|✔|√|ok\b|PASS\b|--- (?:PASS|SKIP))|\.\.\. (?:ok|skipped|ignored)\b|\b(?:PASSED|SKIPPED|XFAIL)\b\s*(?:\[|\(|$)|(?<!\bnot)\s(?:ok|OK)\s*(?:\[|\(|$)/;
/** Counts of failures: some, and none. */
const some =
	/\b[1-9]\d* (?:tests? |suites? )?(?:failed|failures?|failing|errors?|problems?)\b(?![-\w/.]*\.\w)|(?:^|\s|[(#,;|])(?:fail(?:ed|ures?|ing)?|errors?)(?:\s?[:=]\s{0,9}|\s)[1-9]\d*(?=\s*(?:$|[,;.)|]))|(?:^|\s)(?:fail(?:ed|ures?)?|errors?|unreachable)=[1-9]\d*\b/i;
const none =
	/(?<![\d.])\b(?:0|no) (?:errors?|error\(s\)|failures?|failed|failing|problems?|conflicts?)(?!\w|\s?[:=]\s?[1-9])|\b(?:errors?|failures?|failed)(?:\s?[:=]\s?|\s)0\b/i;
const longestRead = 600;
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape character begins a colour
const colours = /\u001b\[[0-9;:]*[A-Za-z]/g;
/** Up to four prefixes that loggers write before a message: a time, a level, a process, a step, a service. */
const prefix =
	/^\s{0,8}(?:(?:\[[^\]\n]{1,60}\]|\([\w-]{1,30}\)|[\w./-]{1,40}\s{0,20}\||#\d{1,4}|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d[\d.,]*(?: ?(?:Z|[+-]\d\d:?\d\d))?|\d\d:\d\d:\d\d[\d.,]*|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: \S{1,80}:)?|\d{1,7}\.\d{1,6}|\d{1,3}%|[\w.@/-]{1,40}(?:\[\d{1,8}\])?:|[>»|│┃╎+*-])\s+){1,4}/;
/** A line whose own level is lower than an error. */
const lesser = /^[\W\d]{0,40}(?:warn(?:ing)?|info(?:rmation)?|debug|trace|note|notice|verbose|hint)\b/i;

/** Created for the first line, because it takes several milliseconds. */
let patternsIn: ReturnType<typeof indexPatterns<"some" | "none" | "form" | "likely">> | undefined;

export function failureSign(line: string): FailureSign {
	const read = line.length <= 2 * longestRead ? line : `${line.slice(0, longestRead)} ${line.slice(-longestRead)}`;
	const plain = withoutColours(read).trimEnd();
	const sign = signOfPlain(plain);
	return sign !== "none" && passed.test(plain) ? "none" : sign;
}

function signOfPlain(plain: string): FailureSign {
	patternsIn ??= indexPatterns([
		["some", some],
		["none", none],
		...failureForms.map((pattern) => ["form", pattern] as const),
		["likely", likely],
	]);
	const patterns = patternsIn(plain);
	const has = (wanted: (typeof patterns)[number]["kind"]) =>
		patterns.some(({ kind, pattern }) => kind === wanted && pattern.test(plain));
	if (has("some")) return "sure";
	if (has("none")) return "none";
	if (has("form")) return "sure";
	const body = plain.replace(prefix, "");
	// Without the prefix, only forms that look at the start of the line can match in addition.
	const isLater = (one: (typeof patterns)[number]) => one.isAnchored && one.pattern.test(body);
	if (body.length < plain.length && !lesser.test(plain) && patterns.some(isLater)) return "sure";
	return has("likely") ? "likely" : "none";
}

/** Whether a line summarises a run: counts of tests or errors, the duration. */
export function isSummaryLine(line: string): boolean {
	return summary.test(line.slice(0, longestRead));
}

/** Whether a line has the totals of a run, such as how many tests passed. */
export function isTotalLine(line: string): boolean {
	return totals.test(withoutColours(line.slice(0, longestRead)));
}

function withoutColours(line: string): string {
	return line.includes("\u001b") ? line.replace(colours, "") : line;
}

const totals =
	/^\s*(?:[=-]+ .{0,200}\b\d+ (?:passed|failed|errors?|skipped|deselected|tests?)\b.{0,200}[=-]$|OK \(|OK$|(?:Tests?|Test Suites|Test Files|Suites|Specs|Checks|Assertions|Scenarios|Totals?|Results?|Summary)\s?:?\s+.{0,80}\b\d+ (?:passed|passing|failed|failing|failures?|skipped|pending|todo|total|succeeded|successful|ok|errors?|warnings?|completed)\b|test result: |Passed! |Failed! |\d+ examples?, |\d+ (?:passing|failing)\b|BUILD (?:SUCCESS|FAIL)|(?:Apply|Destroy) complete!|Plan: \d|Ran \d+ tests?|# (?:tests|pass|fail) \d|Tests run: \d|\d+% tests passed|Found \d+ (?:errors?|problems?)|✖ \d+ problems?|Executed \d+ |\d[\d,.]* (?:tests?|specs?|scenarios?|steps?|assertions?|checks?|targets?)\b.{0,80}\b(?:pass(?:ed|es)?|failed|ok|completed|skipped|failures?)\b|All (?:\d+ )?(?:tests|checks|specs) pass|Build (?:succeeded|completed successfully)|INFO: Build completed|\d+ upgraded, \d+ newly installed|Everything is Ok|Finished: SUCCESS|\d+ passed\b)/;

const summary =
	/^\s*(?:=+ .{0,200}\b(?:passed|failed|errors?|skipped|warnings?|no tests ran)\b.{0,200}=|(?:Tests?|Test Suites|Test Files|Snapshots|Suites|Type Errors|Duration|Time)[: ]\s*\S|Ran \d+ tests?|FAILED \(|OK(?: \(.*\))?$|BUILD (?:SUCCESS|FAIL)|test result:|Found \d+ (?:errors?|problems?)|# (?:tests|pass|fail|suites|cancelled|skipped|todo|duration_ms)\b|\d+ (?:passing|failing|pending)|✖ \d+ problems?|(?:added|removed|changed|audited) \d+ packages?|\d+ vulnerabilit|Finished\b|Done in|Process exited|Exit code|exit code|real\s+\d|make: |error: could not compile|error: aborting|Successfully |Build (?:succeeded|failed)|\d+ examples?, |Tests run: |Passed! |Failed! |100% tests passed|\d+% tests passed)|\b\d+ (?:passed|failed|failures?|errors?)\b.{0,40}(?:,|in \d|$)/;

/** The ends and starts of lines of code, which handle errors instead of reporting them. */
const ofCode =
	/[;{}(,]\s*$|^\s*(?:\d+(?:→|\t|: ?|\| ?))?\s*(?:\/\/|\/\*|#include|@\w|import\b|from\b|export\b|const\b|let\b|var\b|def\b|class\b|func\b|fn\b|function\b|return\b|if\b|for\b|while\b|throw\b|raise\b|public\b|private\b)/;

/** A list item, a heading, a quotation, bold text, or a long sentence. */
const ofProse =
	/^\s*(?:\d+(?:→|\t|: ?|\| ?))?\s*(?:[-*+>]\s|#{1,6}\s|\d{1,3}\. |\*\*|\|)|^.{120,}[a-z)`"'][.!?:]["')*]*\s*$/;

/** Whether a line of code or prose may mention a failure that did not happen. */
export function isMention(line: string): boolean {
	return ofCode.test(line) || ofProse.test(line);
}

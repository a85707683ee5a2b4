const words =
	/\b(?:errors?|err!|fail(?:ed|ure|ures|s|ing)?|fatal|panic(?:ked)?|exceptions?|traceback|critical|abort(?:ed|ing)?|segmentation fault|core dumped|assertion|assertionerror|not ok|undefined reference|unhandled|uncaught|out of memory|oom-?kill(?:ed|er)?|permission denied|no such file|command not found|timed out)\b|\w(?:Error|Exception)\b|[✗✖✘❌]|^\s*×\s|npm ERR!/i;
/** What takes such a word back: a count of none. */
const none =
	/\b(?:0|no|without|zero)\s+(?:\w+\s+)?(?:errors?|fail\w*|exceptions?|warnings?)\b|\b(?:errors?|fail\w*)\s*[:=]\s*0\b/gi;
// Colours stand between the words and what tells that they are words.
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape character begins a colour
const colours = /\u001b\[[0-9;]*m/g;

/** Whether a line, or a part of a text of many lines, may tell that something failed. */
export function tellsOfFailure(line: string): boolean {
	if (!words.test(line)) return false;
	const plain = line.replace(colours, "").replace(none, "");
	return words.test(plain);
}

/** Characters looked at from each end. */
const reach = 400;

/** What agent programs write before the output of a command. Sources: Claude Code, Codex, mini-SWE-agent, Kimi CLI. */
const before =
	/^(?:Chunk ID: \S{1,40}\n)?(?:Wall time: [^\n]{1,60}\n)?(?:<returncode>|<system>(?:ERROR: )?Command failed with exit code:? |(?:Process exited with code|Exit [Cc]ode):? )(-?\d{1,10})\b/;
/** `Command failed with exit code 1`, `[Command finished with exit code 1]`: at either end, of many programs. */
const sentence =
	"[[(<]?(?:The )?(?:Command|Process)\\b[^\\n]{0,100}\\b(?:exited|failed|completed|finished) with (?:exit )?(?:code|status):? (-?\\d{1,10})\\b";
const sentenceBefore = new RegExp(`^${sentence}`, "i");
const succeeded = /^<system>Command executed successfully/;
/** What they write behind it. Sources: pi, OpenHands, Copilot CLI, Gemini CLI, and shells that show the code in brackets. */
const behind = [
	new RegExp(`(?:^|\\n)${sentence}[.\\])>]{0,3}\\s{0,9}$`, "i"),
	/(?:^|\n)<[^<>\n]{0,60}\bexit(?:ed)?(?: with)?(?: exit)? code:? (-?\d{1,10})>\s{0,9}$/,
	/(?:^|\n)Exit Code: (-?\d{1,10})\n(?:[A-Z][A-Za-z ]{1,30}: [^\n]{0,60}(?:\n|$)){0,4}\s{0,9}$/,
	/(?:^|\n)[[(](?:process )?exit(?:ed)?(?: with)?(?: code| status)?:? (-?\d{1,10})[\])]\s{0,9}$/i,
	/(?:^|\n)exit status (-?\d{1,10})\s{0,9}$/,
];
const inJson = /"(?:exit_?code|return_?code)"\s{0,4}:\s{0,4}(-?\d{1,10})\b/i;

/**
 * The exit code of a command, as the agent program that ran it writes it at the very start or end of the output;
 * `undefined` where it writes none. Codes that stand in the midst of an output are the output's own.
 */
export function exitCodeIn(text: string): number | undefined {
	const head = text.slice(0, reach);
	const tail = text.length > reach ? text.slice(-reach) : head;
	if (succeeded.test(head)) return 0;
	let found = before.exec(head) ?? sentenceBefore.exec(head);
	for (const pattern of behind) found ??= pattern.exec(tail);
	if (head.startsWith("{")) found ??= inJson.exec(head) ?? inJson.exec(tail);
	return found ? Number(found[1]) : undefined;
}

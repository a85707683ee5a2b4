import { asksPerson } from "../engine/conversation/asking-tools.js";
import { stringAt } from "./json-text/value.js";
/** `true` and `"auto"` mean the known protocols. The patterns of a list come before them. */
export function textProtocols(observations) {
	if (observations === false) return [];
	return typeof observations === "object" ? [...observations.map(ownProtocol), ...knownProtocols] : knownProtocols;
}
function ownProtocol({ action, before, after, tool }) {
	const source = before
		.split(/(\{tool\}|\*)/)
		.map((part) => wildcards[part] ?? part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"))
		.join("");
	const opening = new RegExp(`^${source}`);
	return {
		acts: (words) => action === undefined || words.includes(action),
		observe(text) {
			const found = opening.exec(text);
			if (!found) return undefined;
			const start = found[0].length;
			const end = after === undefined ? -1 : text.lastIndexOf(after);
			return { start, end: end < start ? text.length : end, tool: found.groups?.tool ?? tool };
		},
	};
}
const wildcards = { "{tool}": "(?<tool>[\\w.-]{1,100})", "*": "[^\\n]{0,200}?" };
/** The first action in the words of an assistant. A fenced block is a script. */
export function actionIn(words) {
	for (const { pattern, read } of actions) {
		const found = pattern.exec(words);
		if (found) return read(found, words);
	}
	return undefined;
}
const actions = [
	// OpenHands, SWE-agent, SWE-smith.
	{
		pattern: /<function=([\w.-]{1,100})>/,
		read: ({ 1: tool = "", index }, words) => ({
			tool,
			input: elementsIn(words.slice(index), /<parameter=([\w.-]{1,100})>/g),
		}),
	},
	// OpenHands before function calls (CodeAct 1.x): `<execute_bash>`; SWE-agent's XML parser: `<command>`.
	{
		pattern: /<execute_(\w{1,40})>([\s\S]*?)(?:<\/execute_|$)/,
		read: ([, tool = "", input = ""]) => ({ tool, input: input.trim() }),
	},
	{
		pattern: /<command>([\s\S]*?)(?:<\/command>|$)/,
		read: ([, input = ""]) => ({ tool: "bash", input: input.trim() }),
	},
	{
		pattern:
			/^\W{0,4}Action(?: \d+)?:\W{0,4}([\w.-]{1,100})(?:\W{0,6}Action Input(?: \d+)?:\s{0,4}|\[|\(|\s{0,4})([^\n]*)/m,
		read: ([, tool = "", input = ""]) => ({ tool, input }),
	},
	{
		pattern: /```[^\n`]*\n([\s\S]*?)(?:\n```|$)/,
		read: ([, input = ""]) => ({ tool: "bash", input }),
	},
	{
		pattern: /<code>([\s\S]*?)(?:<\/code>|$)/,
		read: ([, input = ""]) => ({ tool: "python", input }),
	},
];
/** The values of elements as JSON. `opening` is global and names the element; those around others are left out. */
function elementsIn(words, opening) {
	const values = new Map();
	let tries = 0;
	for (let found = opening.exec(words); found && tries < mostElements; found = opening.exec(words)) {
		tries += 1;
		const [whole, name = ""] = found;
		const start = found.index + whole.length;
		const end = wrappers.has(name) ? -1 : words.indexOf(whole.includes("=") ? "</parameter>" : `</${name}>`, start);
		if (end === -1) continue;
		values.set(name, words.slice(start, end).trim());
		opening.lastIndex = end;
	}
	return JSON.stringify(Object.fromEntries(values));
}
/** A limit, because the search for the end of an unclosed element reads the whole text. */
const mostElements = 50;
const wrappers = new Set(["args", "file"]);
/** The parameters of the nth element of a tool in the words of Cline or Roo Code, as JSON. */
export function elementInput(words, tool, number) {
	let start = -1;
	for (let seen = 0; seen < Math.min(number, mostElements); seen += 1) {
		start = words.indexOf(`<${tool}>`, start + 1);
		if (start === -1) return undefined;
	}
	const end = words.indexOf(`</${tool}>`, start);
	return elementsIn(words.slice(start + tool.length + 2, end === -1 ? undefined : end), /<(\w{1,100})>/g);
}
/** Tags at the start of a line with a person's words or the state of the editor. */
const personsWords = /(?:^|\n)(?:[^\n]{0,200}:\n)?<(?:feedback|user_message|answer|environment_details|task)>/;
/** Roo Code writes a person's words on a call as JSON. */
const saidAsJson = /^\{"status":"(?:denied|approved|guidance)"/;
/** `[read_file for 'a.ts'] Result:`, with the result after it or in the next part. */
const xmlHeader = /^\[([\w.-]{1,100})(?:\]| (?:for|to|in|with) [\s\S]*?\]) Result:(?:\n|$)/;
function observeXml(text) {
	const [header, tool = ""] = xmlHeader.exec(text) ?? [];
	if (header === undefined || asksPerson(tool)) return undefined;
	const start = header.length;
	return { start, tool, ...untilPersonsWords(text, start) };
}
/** The end of a result: a person's words may follow it. */
export function untilPersonsWords(text, start) {
	const rest = text.slice(start);
	if (saidAsJson.test(rest)) return { end: start };
	const kept = personsWords.exec(rest);
	const isError = /^\s{0,4}The tool execution failed with the following error:\n/.test(rest);
	return { end: kept ? start + kept.index : text.length, ...(isError ? { isError: true } : {}) };
}
/** Finds an observation after an opening at the start of the text. */
function behind(opening, read = () => ({})) {
	return (text) => {
		const found = opening.exec(text);
		return found ? { start: found[0].length, end: text.length, ...read(found) } : undefined;
	};
}
/** The prompt of SWE-agent's shell: its state, then `bash-$`. */
const swePrompt =
	/\n?(?:\((?:Open file|Interactive session|Current directory|Current session)[^\n]{0,500}\)\n){1,4}bash-\$\s{0,4}$/;
function observeSweAgent(text, message) {
	const tail = text.slice(-longestPrompt);
	const prompt = text.includes("bash-$", text.length - 12) ? swePrompt.exec(tail) : null;
	if (!prompt && stringAt(message, "message_type") !== "observation") return undefined;
	if (sweTask.test(text)) return undefined;
	const start = /^(?:OBSERVATION|Observation):\s?/.exec(text)?.[0].length ?? 0;
	return { start, end: prompt ? text.length - tail.length + prompt.index : text.length };
}
const longestPrompt = 3_000;
/** Openings of the task, which the same prompt follows and which may come after a demonstration. */
const sweTask =
	/^(?:We're currently solving|We have received|ISSUE:|Here is a demonstration|<uploaded_files>|<pr_description>)/;
const hasAction = (words) => actionIn(words) !== undefined;
const nonZero = (code) => (Number(code) === 0 ? {} : { isError: true });
/** The first match wins. Sources are the prompts and templates of the programs, listed in docs/formats.md. */
const knownProtocols = [
	// mini-swe-agent: `action_observation_template`, `timeout_template`.
	{
		observe: behind(
			/^(?:<exception>[^\n]{0,2000}<\/exception>\s{0,4})?<returncode>(-?\d{1,10})<\/returncode>\n?/,
			([, code]) => ({ tool: "bash", ...nonZero(code) }),
		),
	},
	{
		observe: behind(
			/^The last command <command>[\s\S]*?<\/command> timed out and has been killed\.\nThe output of the command was:\n\s{0,4}/,
			() => ({ tool: "bash", isError: true }),
		),
	},
	// SWE-agent: `next_step_template`; its histories also mark observations.
	{ observe: observeSweAgent },
	// OpenHands and its offspring: `fn_call_converter.py`.
	{ observe: behind(/^EXECUTION (?:RESULT|OUTPUT) of \[([\w.-]{1,100})\]:\n?/i, ([, tool]) => ({ tool })) },
	// Cline and Roo Code with XML: `Task.ts`, `presentAssistantMessage.ts`.
	{ observe: observeXml },
	// Aider: `run_output`, `files_content_prefix`, `linter.py`, `editblock_coder.py`.
	{
		isPlain: true,
		observe: behind(/^I ran this command:\n\n([\s\S]{1,2000}?)\n\nAnd got this output:\n\n/, ([, input]) => ({
			tool: "run_command",
			input,
		})),
	},
	{
		isPlain: true,
		observe: behind(
			/^I have \*added these files to the chat\*[^\n]{0,200}\n\s{0,4}\*Trust this message as the true contents of [^\n]{0,40}\*\n[^\n]{0,40} messages in the chat may contain outdated versions of the files' contents\.\n/,
			() => ({ tool: "added_files" }),
		),
	},
	{
		isPlain: true,
		observe: behind(
			/^# (?:\d{1,6} SEARCH\/REPLACE blocks? failed to match!|Fix any errors below, if possible\.)\n+/,
			() => ({ tool: "edit", isError: true }),
		),
	},
	// AutoCodeRover: `agent_search.py`, `inference.py`.
	{ observe: behind(/^Result of (\w{1,100})\(([^\n]{0,2000})\):\n+/, ([, tool, input]) => ({ tool, input })) },
	{ observe: behind(/^Here (?:is|are) the code in buggy locations:\n+/, () => ({ tool: "search_code" })) },
	// ReAct (Yao et al. 2022) and all that take its words: LangChain, smolagents, CodeAct, SWE-agent, SWE-smith.
	{
		isPlain: true,
		acts: hasAction,
		observe(text) {
			const found = /^\s{0,4}Observation(?: \d{1,6})?:\s?/i.exec(text);
			if (!found) return undefined;
			const next = /\n+Thought(?: \d{1,6})?:\s{0,4}$/.exec(text.slice(-40));
			const end = next ? text.length - next[0].length : text.length;
			return { start: found[0].length, end: Math.max(found[0].length, end) };
		},
	},
];

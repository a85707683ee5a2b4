import { outputOf } from "./sample-text.ts";

export interface ProtocolSample {
	readonly name: string;
	/** The words of the assistant for an action on a file. */
	readonly action: (file: string) => string;
	/** The texts of the user message: as many parts, with the observation in the last but for what stays. */
	readonly observation: (file: string, output: string) => readonly string[];
	readonly tool: string;
	/** A word of the action that the arguments of its call hold. */
	readonly input?: string;
}

const fence = (script: string) => `I look at it.\n\n\`\`\`bash\n${script}\n\`\`\``;

/** One for each form that the programs write, in our own words and with made-up files. */
export const protocolSamples: readonly ProtocolSample[] = [
	{
		name: "mini-swe-agent",
		action: (file) => `THOUGHT: I read it.\n\n${fence(`cat ${file}`)}`,
		observation: (_, output) => [`<returncode>0</returncode>\n<output>\n${output}\n</output>`],
		tool: "bash",
		input: "cat",
	},
	{
		name: "mini-swe-agent, too long",
		action: (file) => `<thinking>\n\`\`\`mswea_bash_command\ncat ${file}\n\`\`\``,
		observation: (_, output) => [
			`<returncode>0</returncode>\n<warning>\nToo long.\n</warning>\n<output_head>\n${output}\n</output_head>`,
		],
		tool: "bash",
		input: "cat",
	},
	{
		name: "SWE-agent",
		action: (file) => `DISCUSSION\nI open it.\n\`\`\`\nopen ${file}\n\`\`\``,
		observation: (file, output) => [`${output}\n\n(Open file: /r/${file})\n(Current directory: /r)\nbash-$`],
		tool: "bash",
		input: "open",
	},
	{
		name: "SWE-agent with XML",
		action: (file) => `I open it.\n<command>\nopen ${file}\n</command>`,
		observation: (_, output) => [`OBSERVATION:\n${output}`],
		tool: "bash",
		input: "open",
	},
	{
		name: "OpenHands",
		action: (file) =>
			`I read it.\n<function=execute_bash>\n<parameter=command>cat ${file}</parameter>\n<parameter=is_input>false</parameter>\n</function>`,
		observation: (_, output) => [`EXECUTION RESULT of [execute_bash]:\n${output}`],
		tool: "execute_bash",
		input: '"is_input"',
	},
	{
		name: "OpenHands before functions",
		action: (file) => `I read it.\n<execute_ipython>\nprint(open("${file}").read())\n</execute_ipython>`,
		observation: (_, output) => [`OBSERVATION:\n${output}`],
		tool: "ipython",
		input: "print",
	},
	{
		name: "Cline",
		action: (file) => `I read it.\n\n<read_file>\n<path>${file}</path>\n</read_file>`,
		observation: (file, output) => [`[read_file for '${file}'] Result:\n${output}`],
		tool: "read_file",
		input: '"path"',
	},
	{
		name: "Roo Code",
		action: (file) => `<read_file>\n<args>\n<file>\n<path>${file}</path>\n</file>\n</args>\n</read_file>`,
		observation: (file, output) => [
			`[read_file for '${file}'] Result:`,
			output,
			"<environment_details>\n# Current Mode\ncode\n</environment_details>",
		],
		tool: "read_file",
		input: '"path"',
	},
	{
		name: "Aider, a command",
		action: (file) => `${file}\n\`\`\`python\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n\`\`\``,
		observation: (file, output) => [`I ran this command:\n\npytest ${file}\n\nAnd got this output:\n\n${output}\n`],
		tool: "run_command",
		input: "pytest",
	},
	{
		name: "Aider, files",
		action: (file) => `Please add ${file} to the chat.`,
		observation: (file, output) => [
			`I have *added these files to the chat* so you can go ahead and edit them.\n\n*Trust this message as the true contents of these files!*\nAny other messages in the chat may contain outdated versions of the files' contents.\n\n${file}\n\`\`\`\n${output}\n\`\`\`\n`,
		],
		tool: "added_files",
	},
	{
		name: "AutoCodeRover",
		action: (file) => `I search for the class:\n\n1. \`search_class_in_file("Fox", "${file}")\``,
		observation: (file, output) => [`Result of search_class_in_file("Fox", "${file}"):\n${output}\n\n`],
		tool: "search_class_in_file",
		input: '"Fox"',
	},
	{
		name: "ReAct",
		action: (file) => `Thought: I read it.\nAction: read\nAction Input: ${file}`,
		observation: (_, output) => [`Observation: ${output}\nThought:`],
		tool: "read",
		input: "f",
	},
	{
		name: "ReAct in brackets",
		action: (file) => `Thought 1: I look it up.\nAction 1: Search[${file}]`,
		observation: (_, output) => [`Observation 1: ${output}`],
		tool: "Search",
		input: "f",
	},
];

type TextMessage = { readonly role: string; readonly content: string | readonly { type: "text"; text: string }[] };

/** Messages of Chat Completions or Anthropic: a task, then a turn for each output. Several texts are parts. */
export function protocolConversation(
	{ action, observation }: Pick<ProtocolSample, "action" | "observation">,
	outputs: readonly string[] = Array.from({ length: 6 }, (_, turn) => outputOf(`turn ${turn}`)),
): TextMessage[] {
	const turns = outputs.flatMap((output, turn): TextMessage[] => {
		const file = `f${turn}.py`;
		const texts = observation(file, output);
		const content = texts.length === 1 ? (texts[0] as string) : texts.map((text) => ({ type: "text" as const, text }));
		return [
			{ role: "assistant", content: action(file) },
			{ role: "user", content },
		];
	});
	return [{ role: "user", content: "The task: find the fox." }, ...turns];
}

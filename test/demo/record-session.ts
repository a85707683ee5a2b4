import { spawnSync } from "node:child_process";

/** A message in OpenAI Chat Completions format, as far as the demonstration makes them. */
export interface ChatMessage {
	readonly role: "system" | "user" | "assistant" | "tool";
	readonly content: string | null;
	readonly tool_calls?: readonly {
		readonly id: string;
		readonly type: "function";
		readonly function: { readonly name: string; readonly arguments: string };
	}[];
	readonly tool_call_id?: string;
}

/** A command that the recorded agent runs, with the name of the tool that it would be. */
interface Step {
	readonly tool: "list_files" | "read_file" | "search" | "run_command";
	readonly command: readonly [string, ...string[]];
}

/** Tool turns of the session, in order; several steps in one turn are parallel calls. */
const turns: readonly (readonly Step[])[] = [
	[{ tool: "list_files", command: ["ls", "-la"] }],
	[{ tool: "read_file", command: ["cat", "package.json"] }],
	[{ tool: "run_command", command: ["npm", "ls", "--all"] }],
	[{ tool: "read_file", command: ["cat", "package-lock.json"] }],
	[
		{ tool: "list_files", command: ["ls", "-R", "src"] },
		{ tool: "list_files", command: ["ls", "-R", "test/engine/masking", "test/e2e", "test/formats", "test/operations"] },
	],
	[{ tool: "run_command", command: ["git", "log", "--stat", "-10"] }],
	[{ tool: "read_file", command: ["cat", "src/engine/masking/mask.ts"] }],
	[{ tool: "search", command: ["grep", "-rn", "placeholder", "src"] }],
	[{ tool: "read_file", command: ["cat", "src/engine/masking/placeholder.ts"] }],
	[{ tool: "run_command", command: ["node", "missing-script.js"] }],
	[{ tool: "read_file", command: ["cat", "src/engine/guarding/guard.ts"] }],
	[
		{ tool: "read_file", command: ["cat", "src/engine/guarding/drop.ts"] },
		{ tool: "read_file", command: ["cat", "src/engine/conversation/turns.ts"] },
	],
	[{ tool: "search", command: ["grep", "-rn", "import", "src/engine/masking"] }],
	[{ tool: "read_file", command: ["cat", "docs/policy.md"] }],
	[{ tool: "run_command", command: ["npx", "--no-install", "vitest", "list", "--filesOnly"] }],
	[{ tool: "read_file", command: ["cat", "src/engine/policy/schema.ts"] }],
	[{ tool: "run_command", command: ["node", "dist/cli.js", "policy", "schema"] }],
	[{ tool: "read_file", command: ["cat", "src/formats/openai-chat.ts"] }],
	[{ tool: "read_file", command: ["cat", "src/formats/anthropic.ts"] }],
	[{ tool: "search", command: ["git", "grep", "-c", "test(", "--", "test"] }],
	[{ tool: "run_command", command: ["git", "status", "--short"] }],
	[{ tool: "run_command", command: ["node", "--version"] }],
	[{ tool: "run_command", command: ["wc", "-l", "README.md", "src/cli.ts"] }],
];

/** Runs real commands in a folder and records them as an agent's conversation. */
export function recordSession(folder: string): ChatMessage[] {
	const messages: ChatMessage[] = [
		{ role: "system", content: "You are a coding agent. Use the tools to look around before you answer." },
		{ role: "user", content: "How does this project keep tool calls and their results together?" },
	];
	turns.forEach((steps, turn) => {
		const ids = steps.map((_, index) => `call_${turn}_${index}`);
		messages.push({
			role: "assistant",
			content: null,
			tool_calls: steps.map(({ tool, command }, index) => ({
				id: ids[index] ?? "",
				type: "function",
				function: { name: tool, arguments: JSON.stringify({ command: command.join(" ") }) },
			})),
		});
		steps.forEach(({ command }, index) => {
			messages.push({ role: "tool", tool_call_id: ids[index] ?? "", content: run(command, folder) });
		});
	});
	messages.push({ role: "assistant", content: "A call and its results are one group: they stay or go as a whole." });
	messages.push({ role: "user", content: "Thank you. Which test shows it?" });
	return messages;
}

function run([program, ...parameters]: readonly [string, ...string[]], folder: string): string {
	const { stdout, stderr, status, error } = spawnSync(program, parameters, {
		cwd: folder,
		encoding: "utf8",
		maxBuffer: 64 * 1024 * 1024,
	});
	if (error) return `Error: ${error.message}`;
	const output = `${stdout}${stderr}`;
	return status === 0 ? output : `${output}\nExit code ${status}`;
}

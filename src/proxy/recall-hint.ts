import { isJsonObject } from "../conversation/json.ts";
import { listOf, objectOf, stringAt } from "../json-text/value.ts";
import { isRecallTool } from "../masking/in-use.ts";

/** The shell tools of Claude Code, Codex, opencode, Gemini CLI, pi, Copilot CLI and Cline. */
const shells =
	/^(?:functions\.)?(?:bash|powershell|shell|local_shell|shell_command|exec_command|run_shell_command|execute_command|run_terminal_cmd|run_commands?|terminal)$/i;

/**
 * How an original can be read in a request, the best way first: by the tool that is named like `recall_original`, or by the
 * command in a shell.
 */
export function recallWays(body: unknown, command: string): string[] {
	const names = toolNames(body);
	const inShell = names.some((name) => shells.test(name)) ? [recallInShell(command).by] : [];
	return [...names.filter((name) => isRecallTool(name)), ...inShell];
}

/** Whether a request offers the model any tool. */
export function offersTools(body: unknown): boolean {
	return toolNames(body).length > 0;
}

export function recallInShell(command: string): { readonly by: string } {
	return { by: `\`${command} {ref}\`` };
}

/** The names in a request of any API: `tools` of Anthropic, of OpenAI, nested or not, and of Gemini; of Bedrock's Converse. */
function toolNames(body: unknown): string[] {
	const { tools: plain, toolConfig } = objectOf(body);
	const tools = listOf(plain ?? objectOf(toolConfig).tools).filter(isJsonObject);
	// Codex groups the tools of an MCP server in a tool of the type `namespace`.
	const grouped = tools.flatMap(({ type, tools: own }) => (type === "namespace" ? listOf(own) : []));
	return [...tools, ...grouped.filter(isJsonObject)].flatMap((tool) => {
		const declared = listOf(tool.functionDeclarations ?? tool.function_declarations).filter(isJsonObject);
		const holders = [tool, objectOf(tool.function), objectOf(tool.toolSpec), ...declared];
		const named = holders.flatMap((holder) => stringAt(holder, "name") ?? []);
		// OpenAI's own shell has a type and no name.
		return tool.type === "local_shell" || tool.type === "shell" ? [...named, "shell"] : named;
	});
}

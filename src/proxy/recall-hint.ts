import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { isRecallTool } from "../engine/masking/in-use.ts";
import { listOf, objectOf, stringAt } from "../formats/json-text/value.ts";

/** The shell tools of Claude Code, Codex, opencode, Gemini CLI, pi, Copilot CLI and Cline, also without a schema. */
const shells =
	/^(?:functions\.)?(?:bash|powershell|shell|local_shell|shell_command|exec_command|run_shell_command|execute_command|run_terminal_cmd|run_commands?|terminal)$/i;

/** Words in the names of other shells, such as `execute_bash`. A tool of an MCP server may run its commands elsewhere. */
const shellWords = /^(?!mcp_).*(?:bash|shell|terminal|exec)/i;
const commandArguments = ["command", "cmd", "commands"];

/**
 * How an original can be read in a request, the best way first: by the tool that is named like `recall_original`, or by the
 * command in a shell, if there is one that reads them there.
 */
export function recallWays(body: unknown, command: string | undefined): string[] {
	const tools = toolsIn(body);
	const inShell = command !== undefined && tools.some(isShell) ? [recallInShell(command).by] : [];
	return [...tools.flatMap(({ name }) => (isRecallTool(name) ? [name] : [])), ...inShell];
}

/** Whether a request offers the model any tool. */
export function offersTools(body: unknown): boolean {
	return toolsIn(body).length > 0;
}

export function recallInShell(command: string): { readonly by: string } {
	return { by: `\`${command} {ref}\`` };
}

interface OfferedTool {
	readonly name: string;
	/** The properties of its schema. */
	readonly properties: JsonObject;
}

function isShell({ name, properties }: OfferedTool): boolean {
	if (shells.test(name)) return true;
	const given = commandArguments.map((argument) => objectOf(properties[argument]));
	return shellWords.test(name) && given.some(({ type, enum: choices }) => isText(type) && choices === undefined);
}

/** Of a command line, or of its words. */
function isText(type: unknown): boolean {
	return [type].flat().some((one) => /^(?:string|array)$/i.test(String(one)));
}

/** The tools in a request of any API: `tools` of Anthropic, of OpenAI, nested or not, and of Gemini; of Bedrock's Converse. */
function toolsIn(body: unknown): OfferedTool[] {
	const { tools: plain, toolConfig } = objectOf(body);
	const tools = listOf(plain ?? objectOf(toolConfig).tools).filter(isJsonObject);
	// Codex groups the tools of an MCP server in a tool of the type `namespace`.
	const grouped = tools.flatMap(({ type, tools: own }) => (type === "namespace" ? listOf(own) : []));
	return [...tools, ...grouped.filter(isJsonObject)].flatMap((tool) => {
		const declared = listOf(tool.functionDeclarations ?? tool.function_declarations).filter(isJsonObject);
		const holders = [tool, objectOf(tool.function), objectOf(tool.toolSpec), ...declared];
		const named = holders.flatMap((holder) => {
			const name = stringAt(holder, "name");
			return name === undefined ? [] : [{ name, properties: objectOf(schemaOf(holder).properties) }];
		});
		// OpenAI's own shell has a type and no name.
		return tool.type === "local_shell" || tool.type === "shell" ? [...named, { name: "shell", properties: {} }] : named;
	});
}

function schemaOf(holder: JsonObject): JsonObject {
	const { input_schema, parameters, parametersJsonSchema, inputSchema } = holder;
	return objectOf(input_schema ?? parametersJsonSchema ?? parameters ?? objectOf(inputSchema).json);
}

import path from "node:path";
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { PalimpsestError } from "../errors.ts";
import { answerClaudeCode, answerCodex } from "../hosts/hook-answers.ts";
import { ownCommandLine } from "../hosts/own-command.ts";
import { isOwnResult, type ToolEvent, usualHookChars } from "../hosts/tool-event.ts";
import { beside, callPolicy, defineTool, pureTool, type ToolContext } from "./tool.ts";

const answers = { "claude-code": answerClaudeCode, codex: answerCodex };

/**
 * Answers hooks of type `mcp_tool`: the host asks the server that runs already, in place of a process for each call. Such a
 * tool need not be listed, and is not, since no model is to call it. Sources: https://code.claude.com/docs/en/hooks,
 * https://developers.openai.com/codex/hooks.
 */
export const shortenResult = defineTool({
	name: "shorten_result",
	title: "Answer a hook",
	description: "Shortens a tool's result in a PostToolUse hook of type mcp_tool.",
	annotations: pureTool,
	inputSchema: z.object({
		host: z.enum(["claude-code", "codex"]),
		tool_name: z.string(),
		tool_use_id: z.string().optional(),
		tool_input: z.unknown(),
		tool_response: z.unknown(),
		/** A host may give each value of a hook's `input` as a text. */
		max_chars: z.coerce.number().int().positive().optional(),
	}),
	async handle({ host, max_chars: mostChars = usualHookChars, ...given }, context) {
		const { tool_name: toolName, tool_use_id: toolCallId, tool_input: input, tool_response: response } = given;
		const event: ToolEvent = {
			toolName,
			toolCallId,
			input: filledValue(input),
			response: toolName.startsWith("mcp__") ? filledMcpResponse(response) : filledValue(response),
		};
		let answer: JsonObject | undefined;
		try {
			if (!isOwnResult(event)) answer = await answers[host](event, await hookContextOf(event, mostChars, context));
		} catch (error) {
			// A hook never fails its host.
			const reason = error instanceof PalimpsestError ? error.code : "defect";
			context.log({
				level: "warning",
				message: "A hook left a result as it was",
				data: { event: "hook_failed", host, reason },
			});
		}
		return { [beside]: { text: JSON.stringify(answer ?? {}) } };
	},
});

async function hookContextOf(event: ToolEvent, mostChars: number, context: ToolContext) {
	const { hookContext } = await import("../hosts/shorten-result.ts");
	const policy = callPolicy(context, undefined);
	const shell = { policy, wholePolicy: async () => policy, archive: context.archive, command: ownCommandLine() };
	const { shorten, shortenFile, wordings } = hookContext({ ...shell, event });
	return {
		mostChars,
		wordings,
		shorten: async (text: string, most: number, isCut?: boolean) =>
			text.length <= most ? undefined : shorten(text, most, isCut),
		// The call could come from a model that knows the name: it must not read any file by it.
		shortenFile: async (file: string, most: number) =>
			path.basename(path.dirname(path.resolve(file))) === "tool-results" ? shortenFile(file, most) : undefined,
	};
}

/** Claude Code fills in objects as JSON, Codex as they are. */
function filledValue(value: unknown): unknown {
	if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
	try {
		return JSON.parse(value);
	} catch {
		return value;
	}
}

/** A text that is JSON itself, as Claude Code hands structured content to hooks, stays one. */
function filledMcpResponse(value: unknown): unknown {
	const filled = filledValue(value);
	if (Array.isArray(filled)) return filled.every((block) => isJsonObject(block) && "type" in block) ? filled : value;
	return isJsonObject(filled) && !Array.isArray(filled.content) ? value : filled;
}

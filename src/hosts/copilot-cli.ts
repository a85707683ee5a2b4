import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { HookContext, ToolEvent } from "./tool-event.ts";

/** Copilot CLI names no event. Source: https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference. */
export function readCopilotEvent(json: string): ToolEvent | undefined {
	const event: unknown = JSON.parse(json);
	if (!isJsonObject(event) || typeof event.toolName !== "string") return undefined;
	return { toolName: event.toolName, toolCallId: undefined, input: event.toolArgs, response: event.toolResult };
}

/** The answer of the `postToolUse` hook. A result that says no success stays, as do those with more than text. */
export async function answerCopilotCli(event: ToolEvent, context: HookContext): Promise<JsonObject | undefined> {
	const { response } = event;
	if (!isJsonObject(response) || response.resultType !== "success") return undefined;
	const text = response.textResultForLlm;
	if (typeof text !== "string" || !isEmpty(response.binaryResultsForLlm)) return undefined;
	const shorter = await shortenResult(text, context);
	return shorter === undefined ? undefined : { modifiedResult: { ...response, textResultForLlm: shorter } };
}

/**
 * Of an output that it finds too large, Copilot CLI (1.0.102) shows 500 characters and names a file with all of it. The
 * excerpt takes the place of those, and the line on how the command ended stays behind it.
 */
const savedOutput =
	/^Output too large to read at once \([^)\n]*\)\. Saved to: (?<file>[^\n]*-copilot-tool-output-[^\n/\\]*\.txt)\n[^\n]*\n\nPreview \(first \d+ chars\):\n(?<shown>.*?)(?<ending>\n<shellId: [^\n]*>)?$/su;

async function shortenResult(text: string, context: HookContext): Promise<string | undefined> {
	const { file, shown = "", ending = "" } = savedOutput.exec(text)?.groups ?? {};
	if (file === undefined) return context.shorten(text, context.mostChars);
	const shorter = await context.shortenFile(file, context.mostChars - ending.length, shown);
	return shorter === undefined ? undefined : shorter + ending;
}

function isEmpty(list: unknown): boolean {
	return list === undefined || list === null || (Array.isArray(list) && list.length === 0);
}

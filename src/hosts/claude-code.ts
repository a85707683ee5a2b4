import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { fillTemplate } from "../masking/template.ts";
import { type HookContext, shortenBlocks, type ToolEvent } from "./tool-event.ts";

/**
 * The answer of the `PostToolUse` hook, in the tool's own shape, since Claude Code ignores any other. Source:
 * https://code.claude.com/docs/en/hooks#posttooluse-decision-control (`updatedToolOutput`, since 2.1.121).
 */
export async function answerClaudeCode(event: ToolEvent, context: HookContext): Promise<JsonObject | undefined> {
	const updatedToolOutput = await shortenResponse(event.toolName, event.response, context);
	if (updatedToolOutput === undefined) return undefined;
	return { hookSpecificOutput: { hookEventName: "PostToolUse", updatedToolOutput } };
}

function shortenResponse(toolName: string, response: unknown, context: HookContext): Promise<unknown> | undefined {
	if (toolName.startsWith("mcp__")) return shortenMcp(response, context);
	if (!isJsonObject(response)) return undefined;
	switch (toolName) {
		case "Bash":
		case "PowerShell":
			return shortenCommand(response, context);
		case "Grep":
			return shortenMember(response, "content", context);
		case "WebFetch":
			return shortenMember(response, "result", context);
		case "Read":
			return shortenRead(response, context);
		default:
			return undefined;
	}
}

async function shortenCommand(response: JsonObject, context: HookContext): Promise<unknown> {
	const { stdout, stderr = "", isImage, persistedOutputPath: file } = response;
	if (typeof stdout !== "string" || typeof stderr !== "string" || isImage === true) return undefined;
	if (typeof file === "string") {
		// The host shows the first 2 000 characters of a longer output and saves all of it in a file. The excerpt
		// replaces both; the file stays.
		const { persistedOutputPath: _path, persistedOutputSize: _size, ...rest } = response;
		const shorter = await context.shortenFile(file, context.mostChars);
		return shorter === undefined ? undefined : { ...rest, stdout: shorter };
	}
	const blocks = await shortenBlocks([{ text: stdout }, { text: stderr }], context);
	if (blocks === undefined) return undefined;
	const [{ text: shorterStdout }, { text: shorterStderr }] = blocks as [{ text: string }, { text: string }];
	return { ...response, stdout: shorterStdout, stderr: shorterStderr };
}

async function shortenMember(response: JsonObject, name: string, context: HookContext): Promise<unknown> {
	const text = response[name];
	if (typeof text !== "string") return undefined;
	const shorter = await context.shorten(text, context.mostChars);
	return shorter === undefined ? undefined : { ...response, [name]: shorter };
}

/** The host numbers the lines that it shows, so only the end can be cut; the model can read on with `offset`. */
async function shortenRead(response: JsonObject, { mostChars, wordings }: HookContext): Promise<unknown> {
	const { type, file } = response;
	if (type !== "text" || !isJsonObject(file) || typeof file.content !== "string") return undefined;
	const { content, startLine } = file;
	if (content.length <= mostChars || typeof startLine !== "number") return undefined;
	const lines = content.split("\n").length;
	const last = startLine + lines - 1;
	const { readOn } = await wordings();
	const notice = (first: number) => fillTemplate(readOn, { first, last });
	const end = content.lastIndexOf("\n", Math.max(0, mostChars - notice(last).length)) + 1;
	if (end === 0) return undefined;
	const shown = content.slice(0, end).split("\n").length - 1;
	const shorter = content.slice(0, end) + notice(startLine + shown);
	return { ...response, file: { ...file, content: shorter, numLines: shown + 1 } };
}

/** A text or a list of content blocks. `structuredContent` arrives as the text of its JSON (Claude Code 2.1.197). */
async function shortenMcp(response: unknown, context: HookContext): Promise<unknown> {
	if (typeof response === "string") return context.shorten(response, context.mostChars);
	if (Array.isArray(response)) return shortenBlocks(response, context);
	// The model is shown the structured content of a raw result and none of its text.
	if (!isJsonObject(response) || !Array.isArray(response.content) || "structuredContent" in response) return undefined;
	const content = await shortenBlocks(response.content, context);
	return content === undefined ? undefined : { ...response, content };
}

import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { fillTemplate } from "../masking/template.ts";
import { type HookContext, shortenBlocks, type ToolEvent } from "./tool-event.ts";

/**
 * The answer of Claude Code's `PostToolUse` hook: the tool's result with its large texts shortened, in the tool's own
 * shape, since Claude Code ignores a result of another shape; `undefined` where it stays as it is.
 *
 * Source: https://code.claude.com/docs/en/hooks#posttooluse-decision-control (`updatedToolOutput`, from 2.1.121 on).
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

/** `{stdout, stderr, interrupted, isImage, …}`. */
async function shortenCommand(response: JsonObject, context: HookContext): Promise<unknown> {
	const { stdout, stderr = "", isImage, persistedOutputPath: file } = response;
	if (typeof stdout !== "string" || typeof stderr !== "string" || isImage === true) return undefined;
	if (typeof file === "string") {
		// Of an output over some 30 000 characters, the host shows the first 2 000 and names the file that holds it all. The
		// excerpt of the whole replaces both; the file stays.
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

/**
 * `{type: "text", file: {content, startLine, numLines, totalLines, …}}`. The host numbers the lines that it shows, so only
 * the end can go; it can be read with `offset`.
 */
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
	return {
		...response,
		file: { ...file, content: content.slice(0, end) + notice(startLine + shown), numLines: shown + 1 },
	};
}

/**
 * A text, or a list of content blocks. A result with `structuredContent` comes as the text of its JSON, which is all that the
 * model is shown of it, alone or behind the blocks that are no text (Claude Code 2.1.197).
 */
async function shortenMcp(response: unknown, context: HookContext): Promise<unknown> {
	if (typeof response === "string") return context.shorten(response, context.mostChars);
	if (Array.isArray(response)) return shortenBlocks(response, context);
	// Of a result as the server sent it, the model is shown the structured content and no text beside it.
	if (!isJsonObject(response) || !Array.isArray(response.content) || "structuredContent" in response) return undefined;
	const content = await shortenBlocks(response.content, context);
	return content === undefined ? undefined : { ...response, content };
}

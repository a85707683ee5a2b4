import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { fillTemplate } from "../masking/template.ts";
import { fairShares, type HookContext, shortenBlocks, type ToolEvent } from "./tool-event.ts";

/**
 * What Claude Code's `PostToolUse` hook answers: the tool's result with its large texts shortened, in the tool's own
 * shape, since a result of another shape is ignored; `undefined` where it stays as it is.
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
	const { stdout, stderr = "", isImage, persistedOutputPath } = response;
	if (typeof stdout !== "string" || typeof stderr !== "string" || isImage === true) return undefined;
	if (typeof persistedOutputPath === "string") return shortenPersisted(response, persistedOutputPath, context);
	const [forStdout = 0, forStderr = 0] = fairShares([stdout.length, stderr.length], context.mostChars);
	const shorterStdout = stdout.length > forStdout ? await context.shorten(stdout, forStdout) : undefined;
	const shorterStderr = stderr.length > forStderr ? await context.shorten(stderr, forStderr) : undefined;
	if (shorterStdout === undefined && shorterStderr === undefined) return undefined;
	return { ...response, stdout: shorterStdout ?? stdout, stderr: shorterStderr ?? stderr };
}

/**
 * Of an output over some 30 000 characters, the host shows the first 2 000 and names the file that holds it all. The
 * excerpt comes in their place; the file stays.
 */
async function shortenPersisted(response: JsonObject, file: string, context: HookContext): Promise<unknown> {
	const stdout = await context.shortenFile(file, context.mostChars);
	if (stdout === undefined) return undefined;
	const { persistedOutputPath: _path, persistedOutputSize: _size, ...rest } = response;
	return { ...rest, stdout };
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
	// As the server sent it. The model is shown the structured content then, and no text beside it.
	if (!isJsonObject(response) || !Array.isArray(response.content) || "structuredContent" in response) return undefined;
	const content = await shortenBlocks(response.content, context);
	return content === undefined ? undefined : { ...response, content };
}

import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { fillTemplate } from "../masking/template.ts";
import type { ExcerptWordings } from "../policy/wordings.ts";

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
	// The host saves all of a longer output in a file, and shows 2 000 characters of it and the name of the file.
	if (typeof file === "string") return undefined;
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

/** Codex cuts the output of its shell itself, before a hook gets it (Codex 0.169). */
const cutByHost = /^Warning: truncated output \(original token count: \d+\)\n/;

/** Codex shows only a part of more than 10 000 bytes from a hook (Codex 0.169). */
const mostBytes = 9_800;

/**
 * The answer of the `PostToolUse` hook: `reason` takes the place of the whole result, also of a command that failed and of
 * an MCP tool. Source: https://developers.openai.com/codex/hooks#posttooluse.
 */
export async function answerCodex(event: ToolEvent, context: HookContext): Promise<JsonObject | undefined> {
	const { mostChars, shorten } = context;
	const text = codexText(event.response);
	if (text === undefined || text.length <= mostChars) return undefined;
	let room = Math.min(mostChars, mostBytes);
	let reason = await shorten(text, room, cutByHost.test(text));
	while (reason !== undefined && Buffer.byteLength(reason) > mostBytes) {
		room = Math.floor((room * mostBytes) / Buffer.byteLength(reason)) - 1;
		reason = await shorten(text, room, cutByHost.test(text));
	}
	return reason === undefined ? undefined : { decision: "block", reason };
}

/** A shell's output, or the text of an MCP result as the model would see it; `undefined` for errors and images. */
function codexText(response: unknown): string | undefined {
	if (typeof response === "string") return response;
	if (!isJsonObject(response) || response.isError === true || !Array.isArray(response.content)) return undefined;
	const { structuredContent, content } = response;
	if (structuredContent !== undefined && structuredContent !== null) return JSON.stringify(structuredContent);
	const texts = content.map((block) => (isJsonObject(block) && block.type === "text" ? block.text : undefined));
	return texts.every((text) => typeof text === "string") ? texts.join("\n") : undefined;
}

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
	if (text.length <= mostPreviewChars && previewOfCopilot.test(text)) return undefined;
	const shorter = await context.shorten(text, context.mostChars);
	return shorter === undefined ? undefined : { modifiedResult: { ...response, textResultForLlm: shorter } };
}

/**
 * Copilot CLI (1.0.102) saves an output that it finds too large in a file, and shows 500 characters of it and the name of the
 * file.
 */
const previewOfCopilot =
	/^Output too large to read at once \([^)\n]*\)\. Saved to: [^\n]*\n[^\n]*\n\nPreview \(first \d+ chars\):\n/u;
const mostPreviewChars = 4_000;

function isEmpty(list: unknown): boolean {
	return list === undefined || list === null || (Array.isArray(list) && list.length === 0);
}

/**
 * Up to Gemini CLI 0.61, a hook can only replace a result by denying it, and the model sees the reason as an error:
 * the text says that it is none. Source: https://geminicli.com/docs/hooks/reference#aftertool.
 */
export async function answerGeminiCli(event: ToolEvent, context: HookContext): Promise<JsonObject | undefined> {
	if (!isJsonObject(event.response)) return undefined;
	const { llmContent, error } = event.response;
	const text = geminiText(llmContent);
	const { mostChars, shorten, wordings } = context;
	if (text === undefined || (error !== undefined && error !== null) || text.length <= mostChars) return undefined;
	const { noError } = await wordings();
	const shorter = await shorten(text, Math.max(0, mostChars - noError.length - 1));
	return shorter === undefined ? undefined : { decision: "deny", reason: `${noError}\n${shorter}` };
}

function geminiText(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	if (Array.isArray(content)) {
		const texts = content.map(geminiText);
		return texts.every((text) => text !== undefined) ? texts.join("") : undefined;
	}
	return isJsonObject(content) && typeof content.text === "string" ? content.text : undefined;
}

// A host waits for its hooks after every tool call, so this file loads nothing that a small result does not need.

/** The hosts into whose settings a hook can be entered. */
export const hookHosts = ["claude-code", "codex", "copilot-cli", "gemini-cli", "opencode", "pi"] as const;

/** Some 4 000 tokens. */
export const usualHookChars = 16_000;

export interface ToolEvent {
	readonly toolName: string;
	readonly toolCallId: string | undefined;
	readonly input: unknown;
	readonly response: unknown;
}

export interface HookContext {
	readonly mostChars: number;
	/** `isCut`: the host has cut the text, so that less than all of it can be archived. */
	readonly shorten: (text: string, mostChars: number, isCut?: boolean) => Promise<string | undefined>;
	readonly wordings: () => Promise<ExcerptWordings>;
}

/** Sources: https://code.claude.com/docs/en/hooks#posttooluse, https://geminicli.com/docs/hooks/reference#aftertool. */
export function readToolEvent(json: string, eventName: string): ToolEvent | undefined {
	const event: unknown = JSON.parse(json);
	if (!isJsonObject(event) || event.hook_event_name !== eventName) return undefined;
	const { tool_name: toolName, tool_use_id: id, tool_input: input, tool_response: response } = event;
	if (typeof toolName !== "string") return undefined;
	return { toolName, toolCallId: typeof id === "string" ? id : undefined, input, response };
}

export const ownTools = /(?:recall_original|truncate_output|guard_context|mask_conversation|compact_conversation)$/;

export const ownCommands =
	/\bpalimpsest\b[\w./"' -]*\s(?:recall|run|truncate|restore)\b|\bdist[\\/]+cli\.js["']?\s+recall\s/;

/** A recalled text must stay whole, and a shortened one is short. */
export function isOwnResult({ toolName, input }: ToolEvent): boolean {
	if (ownTools.test(toolName)) return true;
	return isJsonObject(input) && typeof input.command === "string" && ownCommands.test(input.command);
}

async function shortenBlocks(blocks: readonly unknown[], context: HookContext): Promise<unknown[] | undefined> {
	const { mostChars, shorten } = context;
	const lengthOf = (block: unknown) => (isJsonObject(block) && typeof block.text === "string" ? block.text.length : 0);
	const lengths = blocks.map(lengthOf);
	const shares = fairShares(lengths, mostChars);
	const shortened = await Promise.all(
		blocks.map(async (block, index) => {
			const [length, share] = [lengths[index] as number, shares[index] as number];
			if (length <= share || !isJsonObject(block)) return block;
			const text = await shorten(block.text as string, share);
			return text === undefined ? block : { ...block, text };
		}),
	);
	return shortened.some((block, index) => block !== blocks[index]) ? shortened : undefined;
}

/** Splits a budget among several texts: texts shorter than an equal share leave the rest to the others. */
export function fairShares(lengths: readonly number[], budget: number): number[] {
	const shares = lengths.map(() => 0);
	let left = budget;
	const rising = lengths.map((length, index) => ({ length, index })).sort((a, b) => a.length - b.length);
	for (const [position, { length, index }] of rising.entries()) {
		const share = Math.min(length, Math.floor(left / (rising.length - position)));
		shares[index] = share;
		left -= share;
	}
	return shares;
}

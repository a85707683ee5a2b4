import path from "node:path";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { fillTemplate } from "../engine/masking/template.ts";
import type { ValueEdit } from "../formats/json-text/edit.ts";
import { listOf, objectOf } from "../formats/json-text/value.ts";
import { pointClaudeCode, settingsFolderOf } from "./claude-code-address.ts";
import { type HookContext, readToolEvent, shortenBlocks, type ToolEvent } from "./hook-answers.ts";
import { type Host, isOurPlugin, ofProject, typedEntry, usualServer } from "./host.ts";
import { lastText, replaceUsage } from "./session-usage.ts";

export const claudeCode: Host = {
	name: "claude-code",
	title: "Claude Code",
	server: {
		...usualServer,
		file: ofProject([".mcp.json"], ({ homeFolder }) => path.join(homeFolder, ".claude.json")),
		entry: typedEntry,
		afterwards: "Start a new session; /mcp shows it.",
		source: "https://code.claude.com/docs/en/mcp",
		keyForProject: (projectFolder) => ["projects", projectFolder, ...usualServer.key],
		projectVariable: "CLAUDE_PROJECT_DIR",
	},
	hook: {
		kind: "command",
		events: "a PostToolUse or SessionStart event",
		read: (json) => readToolEvent(json, "PostToolUse"),
		answer: answerToolUse,
		answerStart: async (event, shell) => (await import("./after-compaction.ts")).answerCompaction(event, shell),
		asksServer: true,
		// Source: https://code.claude.com/docs/en/settings.
		settings: (line, where) => {
			const folder =
				where.projectFolder === undefined ? settingsFolderOf(where) : path.join(where.projectFolder, ".claude");
			const hook = { type: "command", command: line, timeout: 10 };
			const shortens = { event: "PostToolUse", matcher: "Bash|PowerShell|Grep|WebFetch|mcp__.*", hook };
			const keepsWords = { event: "SessionStart", matcher: "compact", hook };
			return { kind: "entries", file: path.join(folder, "settings.json"), entries: [shortens, keepsWords] };
		},
	},
	ownPlugin: {
		// Source: https://code.claude.com/docs/en/plugins-reference.
		file: (where) => path.join(settingsFolderOf(where), "settings.json"),
		isOn: ({ enabledPlugins }) =>
			Object.entries(objectOf(enabledPlugins)).some(([name, on]) => isOurPlugin(name) && on === true),
		brings: ["server", "hook"],
		modSince: "2.1.287",
		removedBy: "claude plugin uninstall palimpsest@palimpsest",
	},
	launch: {
		command: "claude",
		withoutTool: "claude --disallowedTools NAME; a server by claude mcp remove",
		point: pointClaudeCode,
		headless: (prompt) => [
			...["-p", prompt, "--permission-mode", "acceptEdits"],
			...["--allowedTools", "Bash(palimpsest recall:*)"],
		],
	},
	session: {
		format: "claude-code",
		sessionId: (document) => lastText(document, "sessionId"),
		folder: (document) => lastText(document, "cwd"),
		name: ({ id }) => `${id}.jsonl`,
		command: ({ id }) => `claude --resume ${id}`,
		usage,
	},
};

/**
 * The answer of the `PostToolUse` hook, in the tool's own shape, since Claude Code ignores any other. Source:
 * https://code.claude.com/docs/en/hooks#posttooluse-decision-control (`updatedToolOutput`, since 2.1.121).
 */
async function answerToolUse(event: ToolEvent, context: HookContext): Promise<JsonObject | undefined> {
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

function usage(document: unknown, tokens: number): ValueEdit[] {
	const messages = listOf(document).map((record) => objectOf(objectOf(record).message));
	const isAnswer = ({ role, usage, model }: JsonObject) =>
		role === "assistant" && isJsonObject(usage) && model !== "<synthetic>";
	const last = messages.findLast(isAnswer);
	const changed = () => ({ input_tokens: tokens, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
	return messages.flatMap((message, index) =>
		isAnswer(message) && (message === last || (last?.id !== undefined && message.id === last.id))
			? replaceUsage([index, "message", "usage"], message.usage, changed)
			: [],
	);
}

import path from "node:path";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { ValueEdit } from "../formats/json-text/edit.ts";
import { listOf, objectOf, stringAt } from "../formats/json-text/value.ts";
import { ownFolder, point } from "./codex-address.ts";
import { type HookContext, readToolEvent, type ToolEvent } from "./hook-answers.ts";
import { type Host, isOurPlugin, ofProject, usualServer } from "./host.ts";
import { outputIn, type Place, replaceUsage } from "./session-usage.ts";

export const codex: Host = {
	name: "codex",
	title: "Codex",
	server: {
		...usualServer,
		format: "toml",
		key: ["mcp_servers", "palimpsest"],
		file: ofProject([".codex", "config.toml"], (where) => path.join(ownFolder(where), "config.toml")),
		afterwards: "Start Codex again; /mcp shows it.",
		source: "https://developers.openai.com/codex/mcp",
	},
	hook: {
		kind: "command",
		events: "a PostToolUse event",
		read: (json) => readToolEvent(json, "PostToolUse"),
		answer: answerToolUse,
		asksServer: true,
		// Source: https://developers.openai.com/codex/hooks.
		settings: (line, where) => {
			const folder = where.projectFolder === undefined ? ownFolder(where) : path.join(where.projectFolder, ".codex");
			const hook = { type: "command", command: line, timeout: 10 };
			const entry = { event: "PostToolUse", matcher: "^(Bash|mcp__.*)$", hook };
			return { kind: "entries", file: path.join(folder, "hooks.json"), entries: [entry] };
		},
		afterwards: "Codex runs no hook before you trust it: open /hooks there.",
	},
	ownPlugin: {
		// Source: https://developers.openai.com/codex/plugins.
		file: (where) => path.join(ownFolder(where), "config.toml"),
		isOn: ({ plugins }) =>
			Object.entries(objectOf(plugins)).some(
				([name, plugin]) => isOurPlugin(name) && objectOf(plugin).enabled !== false,
			),
		brings: ["server", "hook"],
		removedBy: "codex plugin remove palimpsest@palimpsest",
	},
	launch: {
		command: "codex",
		withoutTool: 'disabled_tools = ["NAME"] under [mcp_servers.SERVER] in config.toml',
		hasLoginShell: true,
		point,
		headless: (prompt) => ["exec", prompt, "--skip-git-repo-check", "--sandbox", "workspace-write"],
	},
	session: {
		format: "codex-rollout",
		sessionId: (document) => stringAt(headerOf(document), "id"),
		folder: (document) => stringAt(headerOf(document), "cwd"),
		name: ({ id, now }) => `rollout-${now.toISOString().slice(0, 19).replaceAll(":", "-")}-${id}.jsonl`,
		command: ({ id }) => `codex resume ${id}`,
		usage,
	},
};

/** Codex cuts the output of its shell itself, before a hook gets it (Codex 0.169). */
const cutByHost = /^Warning: truncated output \(original token count: \d+\)\n/;

/** Codex shows only a part of more than 10 000 bytes from a hook (Codex 0.169). */
const mostBytes = 9_800;

/**
 * The answer of the `PostToolUse` hook: `reason` takes the place of the whole result, also of a command that failed and of
 * an MCP tool. Source: https://developers.openai.com/codex/hooks#posttooluse.
 */
async function answerToolUse(event: ToolEvent, context: HookContext): Promise<JsonObject | undefined> {
	const { mostChars, shorten } = context;
	const text = shownText(event.response);
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
function shownText(response: unknown): string | undefined {
	if (typeof response === "string") return response;
	if (!isJsonObject(response) || response.isError === true || !Array.isArray(response.content)) return undefined;
	const { structuredContent, content } = response;
	if (structuredContent !== undefined && structuredContent !== null) return JSON.stringify(structuredContent);
	const texts = content.map((block) => (isJsonObject(block) && block.type === "text" ? block.text : undefined));
	return texts.every((text) => typeof text === "string") ? texts.join("\n") : undefined;
}

/** The header, also of the first versions, which wrote it without a record around it. */
function headerOf(document: unknown): JsonObject {
	const records = listOf(document).map(objectOf);
	const header = records.find(({ type }) => type === "session_meta");
	return header ? objectOf(header.payload) : objectOf(records[0]);
}

function usage(document: unknown, tokens: number): ValueEdit[] {
	const payloads = listOf(document).map((record) => objectOf(objectOf(record).payload));
	const edit = (path: Place, usageIn: (payload: JsonObject) => unknown) => {
		const index = payloads.findLastIndex((payload) => isJsonObject(usageIn(payload)));
		return replaceUsage([index, "payload", ...path], usageIn(payloads[index] ?? {}), (usage) => {
			const total_tokens = tokens + outputIn(usage, "output_tokens");
			return { input_tokens: tokens, cached_input_tokens: 0, total_tokens };
		});
	};
	return [
		...edit(["info", "last_token_usage"], ({ info }) => objectOf(info).last_token_usage),
		...edit(["usage"], ({ usage }) => usage),
	];
}

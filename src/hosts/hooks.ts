import { homedir } from "node:os";
import path from "node:path";
import { isJsonObject } from "../conversation/json.ts";
import {
	appendItem,
	entryInJson,
	isBlank,
	refusedSettings,
	removeFromJson,
	withoutValue,
} from "../json-text/settings.ts";
import { ownCommand, shellArgument } from "./own-command.ts";
import { isPluginHost, pluginFile, pluginMark, pluginText } from "./plugins.ts";
import type { hookHosts } from "./tool-event.ts";

export type InstallHost = (typeof hookHosts)[number];

export type HookTarget =
	| { readonly kind: "entries"; readonly file: string; readonly entries: readonly HookEntry[] }
	/** A file of our own, in which `mark` stands. */
	| { readonly kind: "file"; readonly file: string; readonly text: string; readonly mark: string };

interface HookEntry {
	readonly event: string;
	readonly matcher: string;
	readonly hook: Readonly<Record<string, string | number>>;
	readonly isOwn: (command: string) => boolean;
}

/**
 * File reads are not matched, since models request them line by line. Sources: https://code.claude.com/docs/en/settings,
 * https://geminicli.com/docs/hooks/reference#configuration-schema, https://developers.openai.com/codex/hooks,
 * https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference.
 */
export function hookTarget(
	host: InstallHost,
	how: { readonly isForProject: boolean; readonly mostChars: number; readonly locale: string | undefined },
): HookTarget {
	const { isForProject, mostChars, locale } = how;
	const projectFolder = isForProject ? process.cwd() : undefined;
	const [homeFolder, environment, command] = [homedir(), process.env, ownCommand()];
	if (isPluginHost(host)) {
		const file = pluginFile(host, { homeFolder, projectFolder, environment });
		return { kind: "file", file, text: pluginText(host, { mostChars, locale }), mark: pluginMark };
	}
	const parameters = ["hook", host, "--max-chars", String(mostChars), ...(locale ? ["--locale", locale] : [])];
	const line = [...command, ...parameters].map(shellArgument).join(" ");
	const isOwn = (one: string) => /palimpsest|cli\.js/i.test(one) && one.includes(` hook ${host}`);
	if (host === "gemini-cli") {
		const matcher = "run_shell_command|grep_search|search_file_content|web_fetch|mcp_.*";
		const hook = { name: "palimpsest", type: "command", command: line, timeout: 10_000 };
		const file = path.join(projectFolder ?? homeFolder, ".gemini", "settings.json");
		return { kind: "entries", file, entries: [{ event: "AfterTool", matcher, hook, isOwn }] };
	}
	if (host === "codex") {
		const ofUser = environment.CODEX_HOME || path.join(homeFolder, ".codex");
		const file = path.join(projectFolder ? path.join(projectFolder, ".codex") : ofUser, "hooks.json");
		const hook = { type: "command", command: line, timeout: 10 };
		return { kind: "entries", file, entries: [{ event: "PostToolUse", matcher: "^(Bash|mcp__.*)$", hook, isOwn }] };
	}
	if (host === "copilot-cli") {
		const ofUser = environment.COPILOT_HOME || path.join(homeFolder, ".copilot");
		const folder = projectFolder ? path.join(projectFolder, ".github") : ofUser;
		const hook = { type: "command", bash: line, powershell: `& ${line}`, timeoutSec: 10 };
		const text = `${JSON.stringify({ version: 1, hooks: { postToolUse: [hook] } }, null, 2)}\n`;
		return { kind: "file", file: path.join(folder, "hooks", "palimpsest.json"), text, mark: " hook copilot-cli" };
	}
	const ofUser = environment.CLAUDE_CONFIG_DIR || path.join(homeFolder, ".claude");
	const file = path.join(projectFolder ? path.join(projectFolder, ".claude") : ofUser, "settings.json");
	const hook = { type: "command", command: line, timeout: 10 };
	const shortens = { event: "PostToolUse", matcher: "Bash|PowerShell|Grep|WebFetch|mcp__.*", hook, isOwn };
	const keepsWords = { event: "SessionStart", matcher: "compact", hook, isOwn };
	return { kind: "entries", file, entries: [shortens, keepsWords] };
}

/** Enters hooks once into settings (JSON with comments); all else stays as it is. Throws `invalid_json`. */
export function enterHooks(text: string, entries: readonly HookEntry[]): string {
	return entries.reduce(enterHook, text);
}

export function removeHooks(text: string, entries: readonly HookEntry[]): string {
	return entries.reduce(removeHook, text);
}

function enterHook(text: string, entry: HookEntry): string {
	const { event, matcher, hook } = entry;
	const group = { matcher, hooks: [hook] };
	const isThere = groupsOf(text, event).some((one) => JSON.stringify(one) === JSON.stringify(group));
	if (isThere && ownPlaces(text, entry).length === 1) return text;
	return appendItem(removeOwn(text, entry), ["hooks", event], group);
}

function removeHook(text: string, entry: HookEntry): string {
	if (ownPlaces(text, entry).length === 0) return text;
	const left = removeOwn(text, entry);
	const list = ["hooks", entry.event];
	return isBlank(left, list) ? removeFromJson(left, list) : left;
}

function removeOwn(text: string, entry: HookEntry): string {
	let left = text;
	// From the last one: a removal moves the places behind it.
	for (const [group, hook] of ownPlaces(text, entry).reverse()) {
		const isLast = hooksIn(groupsOf(left, entry.event)[group]).length === 1;
		left = withoutValue(left, ["hooks", entry.event, group, ...(isLast ? [] : ["hooks", hook])]);
	}
	return left;
}

function ownPlaces(text: string, { event, isOwn }: HookEntry): [group: number, hook: number][] {
	return groupsOf(text, event).flatMap((group, at) =>
		hooksIn(group).flatMap((hook, position): [number, number][] => {
			const isCommand = isJsonObject(hook) && typeof hook.command === "string" && isOwn(hook.command);
			return isCommand ? [[at, position]] : [];
		}),
	);
}

function hooksIn(group: unknown): readonly unknown[] {
	return isJsonObject(group) && Array.isArray(group.hooks) ? group.hooks : [];
}

function groupsOf(text: string, event: string): readonly unknown[] {
	const hooks = entryInJson(text, ["hooks"]) ?? {};
	if (!isJsonObject(hooks)) throw refusedSettings("`hooks` is no object");
	const { [event]: groups = [] } = hooks;
	if (Array.isArray(groups)) return groups;
	throw refusedSettings(`\`hooks.${event}\` is no list`);
}

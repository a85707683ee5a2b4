import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isJsonObject } from "../conversation/json.ts";
import {
	appendItem,
	entryInJson,
	isBlank,
	refusedSettings,
	removeFromJson,
	withoutValue,
} from "../json-text/settings.ts";
import { packageFile, version } from "../version.ts";
import type { hookHosts } from "./hook-answers.ts";
import { type HostSurroundings, programFolder } from "./hosts.ts";
import { enteredCommand, shellArgument } from "./own-command.ts";

export type InstallHost = (typeof hookHosts)[number];

type HookTarget =
	| { readonly kind: "entries"; readonly file: string; readonly entries: readonly HookEntry[] }
	/** A file of our own, which contains `mark`. */
	| { readonly kind: "file"; readonly file: string; readonly text: string; readonly mark: string };

interface HookEntry {
	readonly event: string;
	readonly matcher: string;
	readonly hook: Readonly<Record<string, string | number>>;
	readonly isOwn: (command: string) => boolean;
}

/**
 * Where a host's hook or plugin is entered. File reads are not matched, since models request them line by line. Sources:
 * https://code.claude.com/docs/en/settings, https://geminicli.com/docs/hooks/reference#configuration-schema,
 * https://developers.openai.com/codex/hooks,
 * https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference.
 */
export function hookTarget(host: InstallHost, how: PluginChoices & { readonly isForProject: boolean }): HookTarget {
	const { isForProject, mostChars, locale } = how;
	const where = { homeFolder: homedir(), environment: process.env };
	const projectFolder = isForProject ? process.cwd() : undefined;
	if (isPluginHost(host)) {
		const file = pluginFile(host, { ...where, projectFolder });
		return { kind: "file", file, text: pluginText(host, how), mark: pluginMark };
	}
	const parameters = ["hook", host, "--max-chars", String(mostChars), ...(locale ? ["--locale", locale] : [])];
	const line = [...enteredCommand(), ...parameters].map(shellArgument).join(" ");
	const isOwn = (one: string) => /palimpsest|cli\.js/i.test(one) && one.includes(` hook ${host}`);
	const fileIn = (folder: string, ofUser: string, ...names: string[]) =>
		path.join(projectFolder === undefined ? ofUser : path.join(projectFolder, folder), ...names);
	const hook = { type: "command", command: line, timeout: 10 };
	switch (host) {
		case "claude-code": {
			const file = fileIn(".claude", programFolder(host, where), "settings.json");
			const shortens = { event: "PostToolUse", matcher: "Bash|PowerShell|Grep|WebFetch|mcp__.*", hook, isOwn };
			const keepsWords = { event: "SessionStart", matcher: "compact", hook, isOwn };
			return { kind: "entries", file, entries: [shortens, keepsWords] };
		}
		case "codex": {
			const file = fileIn(".codex", programFolder(host, where), "hooks.json");
			return { kind: "entries", file, entries: [{ event: "PostToolUse", matcher: "^(Bash|mcp__.*)$", hook, isOwn }] };
		}
		case "gemini-cli": {
			const file = fileIn(".gemini", path.join(where.homeFolder, ".gemini"), "settings.json");
			const matcher = "run_shell_command|grep_search|search_file_content|web_fetch|mcp_.*";
			const named = { name: "palimpsest", ...hook, timeout: 10_000 };
			return { kind: "entries", file, entries: [{ event: "AfterTool", matcher, hook: named, isOwn }] };
		}
		case "copilot-cli": {
			const file = fileIn(".github", programFolder(host, where), "hooks", "palimpsest.json");
			const own = { type: "command", bash: line, powershell: `& ${line}`, timeoutSec: 10 };
			const text = `${JSON.stringify({ version: 1, hooks: { postToolUse: [own] } }, null, 2)}\n`;
			return { kind: "file", file, text, mark: " hook copilot-cli" };
		}
	}
}

/** Settings (JSON with comments) with the hook, once; all else stays unchanged. Throws `invalid_json`. */
export function withHook(text: string | undefined, target: HookTarget): string {
	return target.kind === "file" ? target.text : target.entries.reduce(enterHook, text ?? "");
}

/** Settings without the hook; `undefined` to delete the file. Somebody else's file stays. Throws `invalid_json`. */
export function withoutHook(text: string | undefined, target: HookTarget): string | undefined {
	if (text === undefined) return undefined;
	if (target.kind === "entries") return target.entries.reduce(removeHook, text);
	return text.includes(target.mark) ? undefined : text;
}

/** The command lines of our hooks in settings. Throws `invalid_json`. */
export function enteredHooks(text: string, target: HookTarget): readonly string[] {
	const entries = target.kind === "entries" ? target.entries : [];
	const lines = entries.flatMap((entry) => {
		const groups = groupsOf(text, entry.event);
		return ownPlaces(text, entry).map(([group, hook]) => (hooksIn(groups[group])[hook] as { command: string }).command);
	});
	if (target.kind === "file" && text.includes(target.mark)) {
		const own = entryInJson(text, ["hooks", "postToolUse"]);
		lines.push(
			...(Array.isArray(own) ? own : []).flatMap((hook) => (typeof hook?.bash === "string" ? [hook.bash] : [])),
		);
	}
	return [...new Set(lines)];
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
	// From the last one: a removal moves the later places.
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
	if (!isJsonObject(hooks)) throw refusedSettings("`hooks` is not an object");
	const { [event]: groups = [] } = hooks;
	if (Array.isArray(groups)) return groups;
	throw refusedSettings(`\`hooks.${event}\` is not a list`);
}

/** The agent programs that load a plugin of ours: a file that imports the program which wrote it. */
const pluginHosts = ["opencode", "pi"] as const;

type PluginHost = (typeof pluginHosts)[number];

interface PluginChoices {
	readonly mostChars: number;
	readonly locale?: string | undefined;
}

/** Every plugin file contains it. */
const pluginMark = "Written by palimpsest";

/** Sources: https://opencode.ai/docs/plugins, and docs/extensions.md of `@earendil-works/pi-coding-agent`. */
export function pluginFile(host: PluginHost, where: Omit<HostSurroundings, "platform">): string {
	const { projectFolder } = where;
	const folder = projectFolder ? path.join(projectFolder, `.${host}`) : programFolder(host, where);
	return path.join(folder, host === "pi" ? "extensions" : "plugins", "palimpsest.js");
}

export function pluginText(host: PluginHost, { mostChars, locale }: PluginChoices): string {
	const options = { command: enteredCommand(), mostChars, ...(locale === undefined ? {} : { locale }) };
	const module = host === "pi" ? "pi-extension.js" : "opencode-plugin.js";
	return `// Masks old tool results and cuts large ones in ${host}. ${pluginMark} ${version}; delete this file to undo it.
const plugin = ${JSON.stringify(packageFile(`dist/${module}`).href)};
const options = ${JSON.stringify(options)};

${host === "pi" ? piText : opencodeText}`;
}

/** The path of the module that a plugin file of ours imports; `undefined` for another file. */
export function pluginModule(text: string): string | undefined {
	const [, address] = /^const plugin = "(file:[^"]+)";$/m.exec(text) ?? [];
	return text.includes(pluginMark) && address !== undefined ? fileURLToPath(address) : undefined;
}

export function isPluginHost(name: string): name is PluginHost {
	return pluginHosts.some((host) => host === name);
}

const piText = "export default async (pi) => (await import(plugin)).default(pi, options);\n";

/** Both plugin APIs: 1.x calls `server`, 2.x calls `setup`. */
const opencodeText = `export default {
	id: "palimpsest",
	server: async (input) => {
		try {
			return await (await import(plugin)).default.server(input, options);
		} catch (error) {
			const message = "The plugin was not loaded: " + error;
			await input?.client?.app?.log?.({ body: { service: "palimpsest", level: "error", message } });
			return {};
		}
	},
	setup: async (context) => (await import(plugin)).default.setup(context, options),
};
`;

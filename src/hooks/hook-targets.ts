import path from "node:path";
import type { HookEntry } from "./hook-settings.ts";
import { opencodePlugin } from "./opencode-plugin.ts";
import { shellArgument } from "./shell-argument.ts";

/** The hosts that a hook can be installed in. */
export const installHosts = ["claude-code", "gemini-cli", "opencode"] as const;
export type InstallHost = (typeof installHosts)[number];

/** Where a host looks, and how our command is called there. */
export interface InstallSurroundings {
	readonly homeFolder: string;
	/** The project, where the hook is for that alone. */
	readonly projectFolder?: string | undefined;
	readonly environment: Readonly<Record<string, string | undefined>>;
	/** Program and first arguments. */
	readonly command: readonly string[];
	/** Characters up to which a result is left whole. */
	readonly mostChars: number;
	/** Language of the notices, if not that of the host's server entry. */
	readonly locale?: string | undefined;
}

/** What is installed: an entry in a settings file, or a file of its own. */
export type HookTarget =
	| { readonly kind: "entry"; readonly file: string; readonly entry: HookEntry }
	| { readonly kind: "file"; readonly file: string; readonly text: string };

/** The tools whose results are text that may be long; what is read of a file is asked for line by line. */
const matchers = {
	"claude-code": "Bash|PowerShell|Grep|WebFetch|mcp__.*",
	"gemini-cli": "run_shell_command|grep_search|search_file_content|web_fetch|mcp_.*",
};

/**
 * What a hook's installation writes, and where.
 *
 * Sources: https://code.claude.com/docs/en/settings, https://geminicli.com/docs/hooks/reference#configuration-schema,
 * https://opencode.ai/docs/plugins.
 */
export function hookTarget(host: InstallHost, where: InstallSurroundings): HookTarget {
	const { homeFolder, projectFolder, environment, command, mostChars, locale } = where;
	const base = projectFolder ?? homeFolder;
	if (host === "opencode") {
		const configuration = environment.XDG_CONFIG_HOME || path.join(homeFolder, ".config");
		const folder = projectFolder ? path.join(projectFolder, ".opencode") : path.join(configuration, "opencode");
		const file = path.join(folder, "plugins", "palimpsest.js");
		return { kind: "file", file, text: opencodePlugin({ command, mostChars, locale }) };
	}
	const ofLocale = locale === undefined ? [] : ["--locale", locale];
	const parameters = ["hook", host, "--max-chars", String(mostChars), ...ofLocale];
	const line = [...command, ...parameters].map(shellArgument).join(" ");
	const isOwn = (one: string) => /palimpsest|cli\.js/i.test(one) && one.includes(` hook ${host}`);
	const matcher = matchers[host];
	if (host === "gemini-cli") {
		const hook = { name: "palimpsest", type: "command", command: line, timeout: 10_000 };
		const file = path.join(base, ".gemini", "settings.json");
		return { kind: "entry", file, entry: { event: "AfterTool", matcher, hook, isOwn } };
	}
	const folder = projectFolder
		? path.join(base, ".claude")
		: environment.CLAUDE_CONFIG_DIR || path.join(base, ".claude");
	const hook = { type: "command", command: line, timeout: 10 };
	const file = path.join(folder, "settings.json");
	return { kind: "entry", file, entry: { event: "PostToolUse", matcher, hook, isOwn } };
}

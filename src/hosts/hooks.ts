import path from "node:path";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { readRegularFile } from "../files/access.ts";
import { appendItem, readSettings, refusedSettings, withoutValue } from "../json-text/settings.ts";
import { answerClaudeCode } from "./claude-code.ts";
import { answerGeminiCli } from "./gemini-cli.ts";
import { hosts } from "./hosts.ts";
import { opencodePlugin } from "./opencode.ts";
import { type HookContext, isOwnResult, readToolEvent, type ToolEvent } from "./tool-event.ts";

/** The hosts whose hooks are commands. */
export const hookHosts = ["claude-code", "gemini-cli"] as const;

export type HookHost = (typeof hookHosts)[number];

/** An event of a host. */
export interface HookRequest {
	readonly host: HookHost;
	/** As it came on standard input. */
	readonly json: string;
	/** What shortens the result of this event's call. */
	readonly contextOf: (event: ToolEvent) => HookContext;
}

/**
 * What a host's hook answers to an event; `undefined` where the result stays as it is.
 *
 * @throws what reading the event or shortening its result throws; the result then has to stay.
 */
export async function answerHook({ host, json, contextOf }: HookRequest): Promise<JsonObject | undefined> {
	const { eventName, answer } = answerers[host];
	const event = readToolEvent(json, eventName);
	return event === undefined || isOwnResult(event) ? undefined : answer(event, contextOf(event));
}

type Answer = (event: ToolEvent, context: HookContext) => Promise<JsonObject | undefined>;

const answerers: Readonly<Record<HookHost, { readonly eventName: string; readonly answer: Answer }>> = {
	"claude-code": { eventName: "PostToolUse", answer: answerClaudeCode },
	"gemini-cli": { eventName: "AfterTool", answer: answerGeminiCli },
};

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

/** An entry of a host's settings file that calls a hook. */
export interface HookEntry {
	/** Such as `PostToolUse`. */
	readonly event: string;
	/** For which tools: a regular expression over their names. */
	readonly matcher: string;
	/** The hook itself, its `command` among it. */
	readonly hook: Readonly<Record<string, string | number>>;
	/** Whether a command is one of ours, of this host. */
	readonly isOwn: (command: string) => boolean;
}

/**
 * The text of a settings file (JSON, comments allowed) with a hook entered, once; all else stays as it is, comments too,
 * but for white space on the lines beside it.
 *
 * @throws PalimpsestError `invalid_json` for a file that is none, or whose `hooks` are not what the host makes of them.
 */
export function enterHook(text: string, entry: HookEntry): string {
	const { event, matcher, hook } = entry;
	if (ownPlaces(text, entry).length === 1 && holds(text, entry)) return text;
	return appendItem(removeOwn(text, entry), ["hooks", event], { matcher, hooks: [hook] });
}

/** The text of a settings file without our hook, and without the lists that it leaves empty. */
export function removeHook(text: string, entry: HookEntry): string {
	return ownPlaces(text, entry).length === 0 ? text : removeEmpty(removeOwn(text, entry), entry.event);
}

function removeOwn(text: string, entry: HookEntry): string {
	let left = text;
	// One after the other, from behind: each removal moves what follows it.
	for (const [group, hook] of ownPlaces(text, entry).reverse()) {
		const isLast = hooksIn(listOf(left, entry.event)?.[group]).length === 1;
		left = withoutValue(left, ["hooks", entry.event, group, ...(isLast ? [] : ["hooks", hook])]);
	}
	return left;
}

function removeEmpty(text: string, event: string): string {
	if (listOf(text, event)?.length !== 0) return text;
	const left = withoutValue(text, ["hooks", event]);
	const { hooks } = readSettings(left);
	return isJsonObject(hooks) && Object.keys(hooks).length === 0 ? withoutValue(left, ["hooks"]) : left;
}

/** Where our hooks stand: in which group, and where in its list. */
function ownPlaces(text: string, { event, isOwn }: HookEntry): [group: number, hook: number][] {
	return (listOf(text, event) ?? []).flatMap((group, at) =>
		hooksIn(group).flatMap((hook, position): [number, number][] => {
			const isCommand = isJsonObject(hook) && typeof hook.command === "string" && isOwn(hook.command);
			return isCommand ? [[at, position]] : [];
		}),
	);
}

function holds(text: string, { event, matcher, hook }: HookEntry): boolean {
	const wanted = JSON.stringify({ matcher, hooks: [hook] });
	return (listOf(text, event) ?? []).some((group) => JSON.stringify(group) === wanted);
}

function hooksIn(group: unknown): readonly unknown[] {
	return isJsonObject(group) && Array.isArray(group.hooks) ? group.hooks : [];
}

function listOf(text: string, event: string): readonly unknown[] | undefined {
	const { hooks } = readSettings(text);
	if (hooks === undefined) return undefined;
	if (!isJsonObject(hooks)) throw refusedSettings("`hooks` is no object");
	const list = hooks[event];
	if (list === undefined || Array.isArray(list)) return list;
	throw refusedSettings(`\`hooks.${event}\` is no list`);
}

/** An argument as the shells of hosts take it. */
export function shellArgument(argument: string): string {
	return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `"${argument.replace(/(["\\$`])/g, "\\$1")}"`;
}

/** The variables by which a host's entry sets the language of its server: directly, or by a preset. */
export type LanguageVariables = Readonly<Partial<Record<(typeof languageVariables)[number], string>>>;

const languageVariables = ["PALIMPSEST_PRESET", "PALIMPSEST_LOCALE"] as const;

/** Claude Code keeps its history in the file of its servers, which may grow large. */
const mostBytes = 32 * 1024 * 1024;

/** Where a host says which project its hook is called for; elsewhere it is the working directory. */
const projectVariables: Readonly<Record<string, string>> = {
	"claude-code": "CLAUDE_PROJECT_DIR",
	"gemini-cli": "GEMINI_PROJECT_DIR",
};

/**
 * The preset and the locale with which a host starts the server: as its entry in the project says, else the user's.
 * Empty where there is no entry, or no file that can be read: a hook never fails for it.
 */
export async function languageOfServer(search: {
	readonly hostName: string;
	readonly platform: NodeJS.Platform;
	readonly homeFolder: string;
	readonly workingDirectory: string;
	readonly environment: Readonly<Record<string, string | undefined>>;
}): Promise<LanguageVariables> {
	const { hostName, workingDirectory, environment } = search;
	const host = hosts.find(({ name }) => name === hostName);
	if (host === undefined) return {};
	const projectFolder = environment[projectVariables[hostName] ?? ""] || workingDirectory;
	const ofProject = await settingsIn(host.file({ ...search, projectFolder }));
	const ofUser = await settingsIn(host.file(search));
	// Claude Code's own command enters a server for one project in the user's file.
	const places = [valueAt(ofProject, host.key), valueAt(ofUser, ["projects", projectFolder, ...host.key])];
	const entry = [...places, valueAt(ofUser, host.key)].find(isJsonObject);
	const variables = entry?.env ?? entry?.environment;
	if (!isJsonObject(variables)) return {};
	return Object.fromEntries(
		languageVariables.flatMap((name) => {
			const value = variables[name];
			return typeof value === "string" && value !== "" ? [[name, value]] : [];
		}),
	);
}

async function settingsIn(file: string | undefined): Promise<unknown> {
	try {
		if (file === undefined) return undefined;
		const text = (await readRegularFile(file, mostBytes)).toString("utf8").replace(/^\uFEFF/, "");
		try {
			return JSON.parse(text);
		} catch {
			// With comments. The parser that takes them is slower, and not loaded for those without.
			return (await import("../json-text/settings.ts")).readSettings(text);
		}
	} catch {
		return undefined;
	}
}

function valueAt(value: unknown, key: readonly string[]): unknown {
	return key.reduce<unknown>((at, name) => (isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}

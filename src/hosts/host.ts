import path from "node:path";
import type { JsonObject } from "../engine/conversation/json.ts";
import type { ValueEdit } from "../formats/json-text/edit.ts";
import type { Environment } from "../operations/http/network-proxy.ts";
import type { HookContext, HookShell, ToolEvent } from "./hook-answers.ts";

/** An agent program or editor: one file, which says all that is known of it. Each member is a thing that it can do. */
export interface Host {
	readonly name: string;
	readonly title: string;
	/** It calls the tools of our server. */
	readonly server?: ServerSettings;
	/** It gives us outputs on arrival. */
	readonly hook?: CommandHook | Plugin;
	/** It installs our plugin itself. */
	readonly ownPlugin?: OwnPlugin;
	/** It sends its requests to another address. */
	readonly launch?: Launch;
	/** It resumes a session that we wrote. */
	readonly session?: Session;
}

interface Named {
	readonly name: string;
	readonly title: string;
}

export type ServerHost = Named & ServerSettings;
/** YAML would lose its comments. */
export type WritableHost = ServerHost & { readonly format: "json" | "toml" };
export type HookHost = Named & (CommandHook | Plugin);
export type CommandHookHost = Named & CommandHook;
export type PluginHost = Named & Plugin;
export type LaunchedProgram = Named & Launch;

export interface HostSurroundings {
	readonly platform: NodeJS.Platform;
	readonly homeFolder: string;
	readonly projectFolder?: string | undefined;
	readonly environment: Readonly<Record<string, string | undefined>>;
}

type Folders = Omit<HostSurroundings, "platform">;

// ---- The entry of the server ----

interface ServerSettings {
	/** `yaml` is entered by hand. */
	readonly format: "json" | "toml" | "yaml";
	readonly key: readonly string[];
	/** The configuration file; `undefined` if the host has none for a project. */
	readonly file: (where: HostSurroundings) => string | undefined;
	/** The host's programs, if it has several with a file each; `file` is that of the first. */
	readonly programs?: (where: HostSurroundings) => readonly HostProgram[];
	readonly entry: (start: ServerStart) => unknown;
	/** What a person does after an installation. */
	readonly afterwards: string;
	readonly source: string;
	/** The key in the user's file of a server that the host itself has entered for one project. */
	readonly keyForProject?: (projectFolder: string) => readonly string[];
	/** The variable that tells a hook the project; without one it is the working directory. */
	readonly projectVariable?: string;
}

export interface HostProgram {
	readonly file: string;
	/** It exists if the program is installed. */
	readonly folder: string;
}

export interface ServerStart {
	readonly command: string;
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string>>;
}

const plainEntry = ({ command, args, env }: ServerStart) => ({ command, args, env });

export const typedEntry = (start: ServerStart) => ({ type: "stdio", ...plainEntry(start) });

/** What most hosts have in common. */
export const usualServer = { format: "json", key: ["mcpServers", "palimpsest"], entry: plainEntry } as const;

/** A file in the project if there is one, else a file of the user. */
export const ofProject =
	(segments: readonly string[], file: (where: HostSurroundings) => string) => (where: HostSurroundings) =>
		where.projectFolder ? path.join(where.projectFolder, ...segments) : file(where);

export const inBoth = (...segments: string[]) =>
	ofProject(segments, ({ homeFolder }) => path.join(homeFolder, ...segments));

export const ofUser = (file: (where: HostSurroundings) => string) => (where: HostSurroundings) =>
	where.projectFolder === undefined ? file(where) : undefined;

/** The folder of configuration files on Linux; some programs use it on macOS too. */
export function configFolder({
	homeFolder,
	environment,
}: Pick<HostSurroundings, "homeFolder" | "environment">): string {
	return environment.XDG_CONFIG_HOME || path.join(homeFolder, ".config");
}

export function settingsFolder(where: HostSurroundings): string {
	const { platform, homeFolder, environment } = where;
	if (platform === "darwin") return path.join(homeFolder, "Library", "Application Support");
	if (platform === "win32") return environment.APPDATA || path.join(homeFolder, "AppData", "Roaming");
	return configFolder(where);
}

export function byPlatform(onWindows: readonly string[], elsewhere: readonly string[]) {
	return (where: HostSurroundings) =>
		where.platform === "win32"
			? path.join(settingsFolder(where), ...onWindows)
			: path.join(configFolder(where), ...elsewhere);
}

/** The folder of VS Code, also for its extensions. */
export const codeFolder = (where: HostSurroundings) => path.join(settingsFolder(where), "Code", "User");

/** Our plugin, as a host's own command installs it. */
export interface OwnPlugin {
	/** Of the user; it says whether the plugin is there. */
	readonly file: (where: HostSurroundings) => string;
	/** By what that file holds. A host parses nothing itself: a hook loads all of them with every tool call. */
	readonly isOn: (settings: JsonObject) => boolean;
	readonly brings: readonly ("server" | "hook")[];
	/** The first version of the host that loads its module, which then does the work of the hook. */
	readonly modSince?: string;
	/** The command that takes it out. */
	readonly removedBy: string;
}

/** The name of a plugin in a marketplace has that of the marketplace behind it. */
export const isOurPlugin = (name: string): boolean => name.startsWith("palimpsest@");

// ---- Outputs on arrival ----

/** A command of ours that the host starts after each tool call. */
interface CommandHook {
	readonly kind: "command";
	/** In words, for the help. */
	readonly events: string;
	readonly read: (json: string) => ToolEvent | undefined;
	readonly answer: (event: ToolEvent, context: HookContext) => Promise<JsonObject | undefined>;
	/** Answers an event that says that a session has started. */
	readonly answerStart?: (event: unknown, shell: HookShell) => Promise<JsonObject | undefined>;
	/** Printed in place of no answer. */
	readonly noAnswer?: string;
	/** It may ask the server that runs already instead: its hooks can be of the type `mcp_tool`. */
	readonly asksServer?: true;
	/** Where the command line is entered, and how. File reads are not matched, since models request them line by line. */
	readonly settings: (line: string, where: Folders) => HookSettings;
	/** What a person does after an installation. */
	readonly afterwards?: string;
}

type HookSettings =
	| { readonly kind: "entries"; readonly file: string; readonly entries: readonly HookEntry[] }
	| HookFile;

export interface HookEntry {
	readonly event: string;
	readonly matcher: string;
	readonly hook: Readonly<Record<string, string | number>>;
}

/** A file of our own, which contains `mark`. */
export interface HookFile {
	readonly kind: "file";
	readonly file: string;
	readonly text: string;
	readonly mark: string;
	/** The list of hooks in it, and the member of each that is its command line. */
	readonly commands?: { readonly list: readonly string[]; readonly member: string };
}

/** A file of our own that the host loads as a plugin: it imports the program which wrote it. */
interface Plugin {
	readonly kind: "plugin";
	readonly file: (where: Folders) => string;
	/** The module of `dist` that the file imports. */
	readonly module: string;
	/** The code of the file below the constants `plugin`, the address of the module, and `options`. */
	readonly code: string;
}

// ---- The address of the provider ----

interface Launch {
	/** Its name for `palimpsest launch`, too. */
	readonly command: string;
	/** If the host has several programs. */
	readonly title?: string;
	/** The command is that of a program which uses it: the first word of the user. */
	readonly isLibrary?: true;
	/** Its shell tool starts a login shell, which sets a PATH of its own. */
	readonly hasLoginShell?: true;
	/**
	 * Its arguments for a prompt without a terminal, before those of the user. It may change the files of its folder, and call
	 * `palimpsest recall` where that can be allowed alone; all else that it would ask for is denied, where it asks at all.
	 */
	readonly headless?: (prompt: string) => readonly string[];
	/** How a person takes the tool NAME out of its requests. */
	readonly withoutTool?: string;
	/** Throws PalimpsestError `invalid_argument` if the program, as it is set up, cannot use a proxy. */
	readonly point: (where: LaunchSurroundings) => Promise<Pointing>;
}

export interface LaunchSurroundings extends HostSurroundings {
	/** The proxy's origin, such as http://127.0.0.1:41234. */
	readonly origin: string;
	/** For temporary files. */
	readonly folder: string;
	/** The user's arguments for the program. */
	readonly parameters: readonly string[];
	/** Whether a program may be told that it talks to its provider itself, where that is so. */
	readonly firstParty: boolean;
}

export type UpstreamApi = "anthropic" | "bedrock" | "vertex" | "openai" | "gemini";

/** How a program reaches another base URL for one run; nothing of it outlasts the run. */
export interface Pointing {
	/** The providers that it would use without us, by API: its own settings, or the provider's address. */
	readonly upstreams: { readonly [Name in UpstreamApi]?: string };
	readonly environment: Readonly<Record<string, string>>;
	/** Before the arguments of the user. */
	readonly parameters: readonly string[];
	/** The arguments of the user, if they change. */
	readonly ownParameters?: readonly string[];
	/** Text of temporary files by name, in `folder`. */
	readonly files: Readonly<Record<string, string>>;
	/** A folder of links to the entries of a real one, beside our own files. New entries move to the real folder afterwards. */
	readonly linkedFolder?: string;
	/** Variables of the network that its settings set, and that therefore win over the environment. */
	readonly network?: Environment;
	/** It takes us for the provider itself, and may send only new messages: a thread, which cannot be edited. */
	readonly refusesThreads?: boolean;
}

// ---- A session that it can resume ----

/** How a program names its sessions, finds them, and remembers the share of the window that they use. */
export interface Session {
	/** The name of the format. */
	readonly format: string;
	/** What a person gives us, if not a session file. */
	readonly given?: string;
	readonly sessionId: (document: unknown) => string | undefined;
	readonly folder: (document: unknown, file: string) => string | undefined;
	readonly name: (given: { readonly id: string; readonly name: string; readonly now: Date }) => string;
	readonly command: (given: { readonly id: string; readonly file: string }) => string;
	/** The edits that make `tokens` the usage of the last answer. */
	readonly usage: (document: unknown, tokens: number) => readonly ValueEdit[];
	readonly newId?: (old: string) => string;
	/** Other ids that may occur only once in all sessions. */
	readonly renamed?: { readonly ids: RegExp; readonly newId: (old: string, sessionId: string) => string };
}

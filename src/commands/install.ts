import { existsSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { structuredPatch } from "diff";
import { presetNames } from "../engine/policy/names.ts";
import { PalimpsestError, withoutCredentials } from "../errors.ts";
import { enteredServers } from "../hosts/gateway-entries.ts";
import { usualHookChars } from "../hosts/hook-answers.ts";
import { hookTarget, withHook, withoutHook } from "../hosts/hooks.ts";
import type { HookHost, PluginHost, ServerHost, WritableHost } from "../hosts/host.ts";
import { commandHookHosts, hookHosts, ownPluginHosts, pluginHosts, serverHosts } from "../hosts/hosts.ts";
import {
	carryOutChange,
	enterServer,
	entryByHand,
	hasOwnPlugin,
	hostStates,
	isWritable,
	planChange,
	presentFiles,
	removeServer,
} from "../hosts/install.ts";
import { enteredCommand, isCheckout, serverStart } from "../hosts/own-command.ts";
import { withoutStatusLine, withStatusLine } from "../hosts/status-line.ts";
import { archivePlace, nameForPrograms } from "../storage/archive/open.ts";
import { saveAddressOf, say, show, shownName } from "./input-output.ts";
import { type GatewayOption, withGateways, withoutGateways } from "./install-gateway.ts";
import { installOwnPlugin, wayAtWork } from "./own-plugin.ts";
import { checkLocale, listOfNames, refuseUnknown, refuseUsage } from "./usage.ts";

interface InstallOptions {
	readonly project?: boolean;
	readonly dryRun?: boolean;
	readonly preset?: string;
	readonly locale?: string;
	readonly archive?: string;
	readonly tools?: string;
	readonly local?: boolean;
	readonly list?: boolean;
	readonly gateway?: GatewayOption;
	readonly defer?: boolean;
	readonly statusline?: boolean;
	readonly plugin?: boolean;
}

/** `palimpsest install [HOST]`; without a host, lists the hosts. */
export async function install(name: string | undefined, options: InstallOptions): Promise<void> {
	if (name === undefined || options.list) return list(options);
	if (options.gateway !== undefined) return installGateway(name, options, options.gateway);
	if (options.defer) refuseUsage("expected --defer with --gateway");
	if (options.plugin) return installOwnPlugin(name, options);
	if (options.statusline) return changeStatusLine(name, options, { change: withStatusLine, done: "installed" });
	const { preset = "balanced", locale } = options;
	if (!presetNames.some((known) => known === preset)) refuseUnknown("--preset", preset, presetNames);
	checkLocale(locale);
	const plugin = pluginHosts.find((host) => host.name === name);
	if (plugin && !(await isBrought(name, "hook", options))) {
		const how = { change: withHook, done: "installed the plugin" } as const;
		if (await changeHook(plugin, options, how)) say(`Start ${name} again.`);
	}
	if (isOnlyPlugin(plugin)) return;
	const archive = options.archive === undefined ? undefined : archiveFor(options.archive, options);
	if (options.archive !== undefined && !options.dryRun) {
		await saveAddressOf({ archive: options.archive, namespace: "default" });
	}
	if (await isBrought(name, "server", options)) return;
	const { platform } = process;
	const tools = options.tools === undefined ? undefined : await offeredTools(options.tools);
	const command = options.local || isCheckout() ? enteredCommand() : undefined;
	const start = serverStart({ preset, locale, archive, tools, platform, command });
	const host = findHost(name);
	const files = configurationFiles(host, options);
	if (!isWritable(host)) {
		show(entryByHand(host, start));
		say(`add these lines to ${files.join(", ")} by hand; a rewritten file would lose its comments. ${host.afterwards}`);
		return;
	}
	const change = (text = "") => enterServer(text, host, start);
	if (await changeFiles({ name, files, change, dryRun: options.dryRun, done: "installed" })) say(host.afterwards);
}

/** `palimpsest uninstall HOST` */
export async function uninstall(name: string, options: InstallOptions): Promise<void> {
	if (options.statusline) return changeStatusLine(name, options, { change: withoutStatusLine, done: "uninstalled" });
	const plugin = pluginHosts.find((host) => host.name === name);
	if (plugin) await changeHook(plugin, options, { change: withoutHook, done: "uninstalled the plugin" });
	if (isOnlyPlugin(plugin)) return;
	const host = findHost(name);
	const files = configurationFiles(host, options);
	if (!isWritable(host)) {
		say(`remove the lines below ${host.key.join(": ")}: from ${files.join(", ")} by hand`);
		return;
	}
	const { gateway } = options;
	const change = (text: string | undefined) => {
		if (text === undefined) return undefined;
		const left = withoutGateways(text, { host, gateway: gateway ?? true });
		return gateway === undefined ? removeServer(left, host) : left;
	};
	await changeFiles({ name, files, change, dryRun: options.dryRun, done: "uninstalled", serversOf: host });
}

/** `palimpsest install HOST --gateway [SERVER…]` */
async function installGateway(name: string, options: InstallOptions, gateway: GatewayOption): Promise<void> {
	const { preset, locale, archive, local, dryRun, defer } = options;
	const host = findHost(name);
	const files = configurationFiles(host, options);
	if (files.every((file) => !existsSync(file))) {
		const message = `${host.title} has no servers yet: there is no ${files.join(" or ")}. Add a server there first.`;
		throw new PalimpsestError("unreadable_file", message);
	}
	if (preset !== undefined && !presetNames.some((known) => known === preset))
		refuseUnknown("--preset", preset, presetNames);
	const named = archive === undefined ? undefined : archiveFor(archive, options);
	if (archive !== undefined && !dryRun) await saveAddressOf({ archive, namespace: "default" });
	const command = local || isCheckout() ? enteredCommand() : undefined;
	const start = serverStart({ platform: process.platform, command });
	if (!isWritable(host)) {
		const line = [start.command, ...start.args, "gateway", "COMMAND", "ARGUMENTS"].join(" ");
		say(
			`change ${files.join(", ")} by hand; a rewritten file would lose its comments. The command of a server: ${line}`,
		);
		return;
	}
	const settings = { preset, locale: checkLocale(locale) };
	const set = Object.entries(settings).flatMap(([key, value]) => (value ? ["--set", `${key}=${value}`] : []));
	const ofGateway = [
		...set,
		...(named === undefined ? [] : ["--archive", named]),
		...(defer && name !== "claude-code" ? ["--defer", "unused"] : []),
	];
	if (defer && name === "claude-code") say("Claude Code defers tools itself: --defer changes nothing there");
	const how = { host, gateway, start, options: ofGateway };
	const change = (text: string | undefined, file: string) =>
		text === undefined
			? undefined
			: withGateways(text, { ...how, file: options.project ? path.relative(process.cwd(), file) : file });
	if (await changeFiles({ name, files, change, dryRun, done: "installed the gateway", serversOf: host }))
		say(host.afterwards);
}

/** `palimpsest install claude-code --statusline`: in the file of its hooks. */
async function changeStatusLine(
	name: string,
	{ project = false, dryRun }: InstallOptions,
	how: { readonly change: (text: string | undefined) => string | undefined; readonly done: Done },
): Promise<void> {
	if (name !== "claude-code")
		refuseUsage("expected --statusline with claude-code: no other host runs a program for its line");
	const choices = { isForProject: project, mostChars: usualHookChars, locale: undefined };
	await changeFiles({ name, files: [hookTarget(hookHost(name), choices).file], dryRun, ...how });
}

/** Says so, and how to change that, where the host has our plugin, which brings the same. A second one would run twice. */
async function isBrought(name: string, what: "server" | "hook", options: InstallOptions): Promise<boolean> {
	const own = await bringing(name, what, options);
	if (!own) return false;
	say(
		`${own.title} has our plugin, which brings the ${what}: nothing to install. Remove the plugin first by ${own.removedBy}`,
	);
	return true;
}

interface HookInstallOptions extends Pick<InstallOptions, "project" | "dryRun" | "locale"> {
	readonly maxChars?: number;
}

/** `palimpsest hook install HOST` */
export async function installHook(name: string, options: HookInstallOptions): Promise<void> {
	const host = hookHost(name);
	if (await isBrought(name, "hook", options)) return;
	const isNew = await changeHook(host, options, { change: withHook, done: "installed" });
	if (isNew && host.kind === "command" && host.afterwards !== undefined) say(host.afterwards);
}

/** `palimpsest hook uninstall HOST` */
export async function uninstallHook(name: string, options: HookInstallOptions): Promise<void> {
	await changeHook(hookHost(name), options, { change: withoutHook, done: "uninstalled" });
}

/** `palimpsest hook opencode` */
export function printOpencodePlugin({ maxChars = usualHookChars, locale }: HookInstallOptions): void {
	const how = { isForProject: false, mostChars: maxChars, locale: checkLocale(locale) };
	process.stdout.write(withHook(undefined, hookTarget(hookHost("opencode"), how)));
}

/** The words for a change. */
type Done = `installed${string}` | `uninstalled${string}`;

function changeHook(
	host: HookHost,
	{ project = false, maxChars = usualHookChars, locale, dryRun }: HookInstallOptions,
	{ change, done }: { readonly change: typeof withHook | typeof withoutHook; readonly done: Done },
): Promise<boolean> {
	const target = hookTarget(host, { isForProject: project, mostChars: maxChars, locale: checkLocale(locale) });
	return changeFiles({ name: host.name, files: [target.file], change: (text) => change(text, target), dryRun, done });
}

/** Prints the changes, then makes them unless `dryRun`; none if one file fails. Returns whether a file was changed. */
async function changeFiles(what: {
	/** Of the host. */
	readonly name: string;
	readonly files: readonly string[];
	readonly change: (text: string | undefined, file: string) => string | undefined;
	readonly dryRun: boolean | undefined;
	readonly done: Done;
	/** Whose servers the files hold, and by name. */
	readonly serversOf?: WritableHost;
}): Promise<boolean> {
	const { files, dryRun, done, serversOf } = what;
	const planned = await Promise.all(
		files.map(async (file) => ({ file, change: await planChange(file, (text) => what.change(text, file)) })),
	);
	for (const { file, change } of planned) {
		const { before, after } = change;
		if (before === after) say(`${file}: nothing to change`);
		else {
			const names = serversOf ? serverNames(after ?? before ?? "", serversOf) : [];
			show(`${shownName(file)}\n${lineDifference({ before, after, names })}`);
			const withoutUs = done.startsWith("uninstalled") ? (text: string) => withoutOurs(text, what.name) : undefined;
			const backup = dryRun ? undefined : await carryOutChange(file, { ...change, withoutUs });
			const kept = backup === undefined ? "" : `; the old file is ${backup}`;
			if (dryRun) say("nothing was written (--dry-run)");
			else say(`${done}${files.length > 1 ? ` in ${file}` : ""}${kept}`);
		}
	}
	return !dryRun && planned.some(({ change: { before, after } }) => before !== after);
}

/** Settings without our server, gateways, hooks and status line. Throws `invalid_json`. */
function withoutOurs(text: string, name: string): string | undefined {
	const server = serverHosts.find((host) => host.name === name);
	let left = text;
	if (server && isWritable(server)) left = removeServer(withoutGateways(left, { host: server, gateway: true }), server);
	const hook = commandHookHosts.find((host) => host.name === name);
	if (hook) left = withoutHook(left, hookTarget(hook, { isForProject: false, mostChars: usualHookChars })) ?? left;
	return name === "claude-code" ? withoutStatusLine(left) : left;
}

/** The names of a host's servers, which `install --list` shows as well. */
function serverNames(text: string, host: WritableHost): readonly string[] {
	return enteredServers(text.replace(/^\uFEFF/, ""), host).map(({ name }) => shownName(name));
}

function lineDifference({
	before = "",
	after = "",
	names,
}: {
	readonly before?: string | undefined;
	readonly after?: string | undefined;
	readonly names: readonly string[];
}): string {
	// A missing line break at the end of the file, or one of Windows, is not a change that a reader cares about.
	const [old = "", changed = ""] = [before, after].map((text) => text.replace(/(?<!\n)$/, "\n").replace(/^\n$/, ""));
	const { hunks } = structuredPatch("", "", old, changed, "", "", { context: 3, stripTrailingCr: true });
	const shown = hunks.map(({ lines }) => lines.map((line) => `${line[0]} ${line.slice(1)}\n`).join("")).join("  …\n");
	return withoutWordsOf(before, { lines: shown, names });
}

const words = /[^\s"'{}[\],:=]+/g;

/** Words of settings that say nothing about who uses them. */
const commonWords = new Set(
	"mcpServers servers mcp mcp_servers hooks command args env type stdio gateway serve npx -y palimpsest palimpsest-mcp".split(
		" ",
	),
);

/** Only the words that are new: those that were there may be keys, and people paste the output of a terminal into reports. */
function withoutWordsOf(
	before: string,
	{ lines, names }: { readonly lines: string; readonly names: readonly string[] },
): string {
	const there = new Set(before.match(words)?.filter((word) => !names.includes(word)));
	const shown = lines.replace(/^(.) (.*)$/gm, (_, mark: string, line: string) => {
		return `${mark} ${line.replace(words, (word) => (there.has(word) && !commonWords.has(word) ? "…" : word))}`;
	});
	return withoutCredentials(shown);
}

async function list(options: InstallOptions): Promise<void> {
	const width = Math.max(...serverHosts.map(({ name }) => name.length));
	for (const host of serverHosts) {
		const own = await bringing(host.name, "server", options);
		for (const { file, state: found, servers } of await hostStates(host, surroundings(options))) {
			const state = own && found !== "installed" ? "plugin" : found;
			const way = state === "plugin" ? `  ${await wayAtWork(host.name)}` : "";
			const wrapped = servers.filter(({ kind }) => kind === "gateway").map((one) => shownName(one.name));
			const behind = wrapped.length === 0 ? "" : `  behind the gateway: ${wrapped.join(", ")}`;
			show(`${host.name.padEnd(width)}  ${state.padEnd(13)}  ${shownName(file)}${behind}${way}\n`);
		}
	}
	for (const { name, file } of onlyPlugins) {
		const plugin = file(surroundings(options));
		const state = existsSync(plugin) ? "installed" : "no file";
		show(`${name.padEnd(width)}  ${state.padEnd(13)}  ${shownName(plugin)}\n`);
	}
	say("palimpsest install HOST [--project] [--dry-run] adds the server to a host");
}

/** The plugin of ours that a host has installed itself, if it brings this. */
async function bringing(name: string, what: "server" | "hook", options: InstallOptions) {
	const own = ownPluginHosts.find((host) => host.name === name && host.brings.includes(what));
	return own && (await hasOwnPlugin(own, surroundings(options))) ? own : undefined;
}

/** The hosts that have no MCP. */
const onlyPlugins = pluginHosts.filter(({ name }) => !serverHosts.some((host) => host.name === name));

function isOnlyPlugin(plugin: PluginHost | undefined): boolean {
	return plugin !== undefined && onlyPlugins.includes(plugin);
}

function findHost(name: string): ServerHost {
	const known = [...serverHosts, ...onlyPlugins].map((host) => host.name);
	if (onlyPlugins.some((host) => host.name === name)) refuseUsage(`${name} has no MCP servers in a known file`);
	return serverHosts.find((host) => host.name === name) ?? refuseUnknown("host", name, known);
}

/** The command line takes only names of the list. */
function hookHost(name: string): HookHost {
	const known = hookHosts.map((host) => host.name);
	return hookHosts.find((host) => host.name === name) ?? refuseUnknown("host", name, known);
}

function configurationFiles(host: ServerHost, options: InstallOptions): readonly string[] {
	const files = presentFiles(host, surroundings(options));
	if (files.length > 0) return files;
	return refuseUsage(`${host.title} has no configuration for one project. Leave out --project`);
}

async function offeredTools(names: string): Promise<string> {
	const { toolsNamed } = await import("../mcp/tools.ts");
	return toolsNamed(listOfNames(names))
		.map(({ name }) => name)
		.join(",");
}

/** A host starts a server in a folder of its choice, so a relative path is made absolute, except for a project. */
function archiveFor(where: string, { project }: InstallOptions): string {
	return archivePlace(where) === "folder" && project ? where : nameForPrograms({ where });
}

function surroundings({ project }: InstallOptions) {
	const { platform, env: environment } = process;
	return { platform, environment, homeFolder: homedir(), projectFolder: project ? process.cwd() : undefined };
}

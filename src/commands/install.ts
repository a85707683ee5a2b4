import { homedir } from "node:os";
import path from "node:path";
import { archivePlace } from "../archive/open.ts";
import { type Host, hosts, serverStart } from "../hosts/hosts.ts";
import { enterServer, entryByHand, hostStates, isWritable, presentFiles, removeServer } from "../hosts/install.ts";
import { planChange } from "../hosts/settings-file.ts";
import { presetNames } from "../policy/names.ts";
import { ownCommand, say, show, showChange, shownName } from "./input-output.ts";
import { checkLocale, refuseUnknown, refuseUsage } from "./usage.ts";

/** The options of `palimpsest install` and `palimpsest uninstall`. */
export interface InstallServerOptions {
	/** For this project alone. */
	readonly project?: boolean;
	/** Shows what would change and writes nothing. */
	readonly dryRun?: boolean;
	readonly preset?: string;
	readonly locale?: string;
	/** Where originals are kept, as `--archive` of the other commands. */
	readonly archive?: string;
	/** Starts this very program, in place of the one that npm brings. */
	readonly local?: boolean;
}

/** `palimpsest install [HOST]`: enters the server in a host's configuration, or lists the hosts. */
export async function install(name: string | undefined, options: InstallServerOptions): Promise<void> {
	if (name === undefined) return list(options);
	const { preset = "balanced", locale } = options;
	if (!presetNames.some((known) => known === preset)) refuseUnknown("--preset", preset, presetNames);
	checkLocale(locale);
	const archive = options.archive === undefined ? undefined : archiveFor(options.archive, options);
	const { platform } = process;
	const start = serverStart({ preset, locale, archive, platform, command: options.local ? ownCommand() : undefined });
	const host = hostOf(name);
	const files = filesOf(host, options);
	if (!isWritable(host)) {
		show(entryByHand(host, start));
		say(`put these lines into ${files.join(", ")}: its comments would be lost if we did. ${host.afterwards}`);
		return;
	}
	const enter = (text: string | undefined) => enterServer(text ?? "", host, start);
	const isNew = await changeFiles({ files, change: enter, dryRun: options.dryRun, done: "installed" });
	if (isNew && !options.dryRun) say(host.afterwards);
}

/** `palimpsest uninstall HOST`: takes the server out again. */
export async function uninstall(name: string, options: InstallServerOptions): Promise<void> {
	const host = hostOf(name);
	const files = filesOf(host, options);
	if (!isWritable(host)) {
		say(`take the lines below ${host.key.join(": ")}: out of ${files.join(", ")}`);
		return;
	}
	const remove = (text: string | undefined) => (text === undefined ? undefined : removeServer(text, host));
	await changeFiles({ files, change: remove, dryRun: options.dryRun, done: "uninstalled" });
}

/** Changes files and prints the changes; answers with whether there are any. Where one cannot be changed, none is. */
async function changeFiles(what: {
	readonly files: readonly string[];
	readonly change: (text: string | undefined) => string | undefined;
	readonly dryRun: boolean | undefined;
	/** Said of each file that was changed, such as "installed". */
	readonly done: string;
}): Promise<boolean> {
	const { files, dryRun, done } = what;
	const planned = await Promise.all(files.map(async (file) => ({ file, change: await planChange(file, what.change) })));
	let isNew = false;
	for (const one of planned) {
		const isChanged = await showChange({ ...one, dryRun, done: files.length > 1 ? `${done} in ${one.file}` : done });
		isNew ||= isChanged;
	}
	return isNew;
}

async function list(options: InstallServerOptions): Promise<void> {
	const width = Math.max(...hosts.map(({ name }) => name.length));
	for (const host of hosts) {
		for (const { file, state } of await hostStates(host, surroundings(options))) {
			show(`${host.name.padEnd(width)}  ${state.padEnd(13)}  ${shownName(file)}\n`);
		}
	}
	say("palimpsest install HOST [--project] [--dry-run] enters the server there");
}

function hostOf(name: string): Host {
	const host = hosts.find((one) => one.name === name);
	if (host) return host;
	return refuseUnknown(
		"host",
		name,
		hosts.map((one) => one.name),
	);
}

function filesOf(host: Host, options: InstallServerOptions): readonly string[] {
	const files = presentFiles(host, surroundings(options));
	if (files.length > 0) return files;
	return refuseUsage(`${host.title} has no configuration for one project. Leave out --project`);
}

/**
 * The archive as a host is to name it. The folder that it starts a server in is of its choice, so that a relative path would
 * lead elsewhere; but for a project, which others have in another place.
 *
 * @throws PalimpsestError `invalid_argument` for an archive that no server would take.
 */
function archiveFor(where: string, { project }: InstallServerOptions): string {
	return archivePlace(where) === "folder" && !project ? path.resolve(where) : where;
}

function surroundings({ project }: InstallServerOptions) {
	const { platform, env: environment } = process;
	return { platform, environment, homeFolder: homedir(), projectFolder: project ? process.cwd() : undefined };
}

import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import type { LaunchedProgram, LaunchSurroundings, Pointing } from "../hosts/host.ts";
import { keepNewEntries, linkEntries } from "../hosts/linked-folder.ts";
import { ownCommand, shellWord, windowsWord } from "../hosts/own-command.ts";
import { exceptingLoopback } from "../operations/http/network-proxy.ts";
import { type ArchiveCommandOptions, archiveVariables, say } from "./input-output.ts";
import { exitCodeOfEnd, startOf } from "./processes.ts";

/** How a program is pointed at a proxy on this machine. Throws PalimpsestError `invalid_argument` if it cannot use one. */
export function pointingOf(
	{ point }: LaunchedProgram,
	given: { readonly port: number } & Pick<LaunchSurroundings, "folder" | "parameters" | "firstParty" | "projectFolder">,
): Promise<Pointing> {
	const { port, ...rest } = given;
	return point({
		...rest,
		origin: `http://127.0.0.1:${port}`,
		platform: process.platform,
		homeFolder: homedir(),
		environment: process.env,
	});
}

export interface BehindProxy {
	readonly pointing: Pointing;
	readonly parameters: readonly string[];
	readonly options: ArchiveCommandOptions;
	/** What hooks of the program keep of figures, if not as the policy says. */
	readonly keep?: "private" | undefined;
	/** For temporary files. */
	readonly folder: string;
	/** The address of the proxy. */
	readonly address: string;
}

export interface StartedProgram {
	readonly child: ChildProcess;
	readonly started: ReturnType<typeof startOf>;
	/** The exit code, as a shell gives it. Of a program that has started. */
	readonly ended: Promise<number>;
	/** After its end: moves new files among the program's settings to their own folder. */
	readonly keepFiles: () => Promise<void>;
}

/** Starts a program that uses the proxy. */
export async function startBehind(
	{ command, title }: LaunchedProgram,
	behind: BehindProxy & { readonly how: Pick<SpawnOptions, "cwd" | "stdio" | "detached"> },
): Promise<StartedProgram> {
	const { pointing, parameters, options, keep, folder, address, how } = behind;
	const { files, linkedFolder } = pointing;
	for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text, { mode: 0o600 });
	const env = {
		...process.env,
		...pointing.environment,
		PALIMPSEST_PROXY: address,
		...(keep ? { PALIMPSEST_FIGURES: keep } : {}),
		...archiveVariables(options),
		...exceptingLoopback(process.env),
		...(await withOwnPath(folder)),
	};
	if (linkedFolder !== undefined) await linkEntries(linkedFolder, folder);
	const words = [...pointing.parameters, ...(pointing.ownParameters ?? parameters)];
	// npm's commands are scripts on Windows, which only a shell can run.
	const shell = process.platform === "win32";
	const child = spawn(command, shell ? words.map(windowsWord) : words, { ...how, env, shell });
	const started = startOf(child);
	const ended = new Promise<number>((resolve) => {
		child.on("exit", (code, signal) => resolve(exitCodeOfEnd(code, signal)));
	});
	const keepFiles = async () => {
		if (linkedFolder === undefined) return;
		const rest = await keepNewEntries(linkedFolder, folder, [...Object.keys(files), ...ownCommands]);
		if (rest !== undefined) say(`some files of ${title} could not be moved to ${linkedFolder}: they are in ${rest}`);
	};
	return { child, started, ended, keepFiles };
}

const ownCommands = ["palimpsest", "palimpsest.cmd"] as const;

/** The program's shell finds `palimpsest`, also where it is not installed. */
async function withOwnPath(folder: string): Promise<Record<string, string>> {
	const words = ownCommand();
	if (words.length === 1) return {};
	const isWindows = process.platform === "win32";
	const file = path.join(folder, ownCommands[isWindows ? 1 : 0]);
	const quoted = words.map(isWindows ? windowsWord : shellWord).join(" ");
	await writeFile(file, isWindows ? `@${quoted} %*\r\n` : `#!/bin/sh\nexec ${quoted} "$@"\n`);
	await chmod(file, 0o755);
	return { PATH: `${folder}${path.delimiter}${process.env.PATH ?? ""}` };
}

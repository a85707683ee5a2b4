import { existsSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { carryOutChange, type FileChange, planChange } from "../hooks/change-file.ts";
import { enterHook, removeHook } from "../hooks/hook-settings.ts";
import { type HookTarget, hookTarget, type InstallHost } from "../hooks/hook-targets.ts";
import { lineDifference } from "../hooks/line-difference.ts";
import { opencodePlugin } from "../hooks/opencode-plugin.ts";
import { usualHookChars } from "./hook.ts";
import { say } from "./shell.ts";

/** The options of `palimpsest hook install` and `hook uninstall`. */
export interface InstallOptions {
	/** For this project alone. */
	readonly project?: boolean;
	/** Shows what would change and writes nothing. */
	readonly dryRun?: boolean;
	/** Characters up to which a result is left whole. */
	readonly maxChars?: number;
}

/** `palimpsest hook install HOST`: enters the hook in the host's settings and prints what changed. */
export async function installHook(host: InstallHost, options: InstallOptions): Promise<void> {
	const target = targetOf(host, options);
	const { file } = target;
	const change = await planChange(file, (text) =>
		target.kind === "file" ? target.text : enterHook(text ?? "", target.entry),
	);
	await show({ file, change, options, done: "installed" });
}

/** `palimpsest hook uninstall HOST`: takes the hook out again and prints what changed. */
export async function uninstallHook(host: InstallHost, options: InstallOptions): Promise<void> {
	const target = targetOf(host, options);
	const { file } = target;
	const change = await planChange(file, (text) => {
		if (text === undefined) return undefined;
		if (target.kind === "entry") return removeHook(text, target.entry);
		return text.includes("Written by palimpsest") ? undefined : text;
	});
	await show({ file, change, options, done: "uninstalled" });
}

/** `palimpsest hook opencode`: prints the plugin file. */
export function printOpencodePlugin({ maxChars = usualHookChars }: Pick<InstallOptions, "maxChars">): void {
	process.stdout.write(opencodePlugin({ command: ownCommand(), mostChars: maxChars }));
}

function targetOf(host: InstallHost, { project, maxChars = usualHookChars }: InstallOptions): HookTarget {
	return hookTarget(host, {
		homeFolder: homedir(),
		projectFolder: project ? process.cwd() : undefined,
		environment: process.env,
		command: ownCommand(),
		mostChars: maxChars,
	});
}

async function show(what: {
	readonly file: string;
	readonly change: FileChange;
	readonly options: InstallOptions;
	readonly done: string;
}): Promise<void> {
	const { file, change, options, done } = what;
	const { before, after } = change;
	if (before === after) {
		say(`${file}: nothing to change`);
		return;
	}
	process.stdout.write(`${file}\n${lineDifference(before ?? "", after ?? "")}`);
	if (options.dryRun) {
		say("nothing was written (--dry-run)");
		return;
	}
	const backup = await carryOutChange(file, change);
	say(`${done}${backup === undefined ? "" : `; what the file was: ${backup}`}`);
}

/** By name where the shell finds it, else by its place. */
function ownCommand(): readonly string[] {
	const folders = (process.env.PATH ?? "").split(path.delimiter).filter((folder) => folder !== "");
	const names = process.platform === "win32" ? ["palimpsest.cmd"] : ["palimpsest"];
	// A folder that npx makes for one run is gone afterwards.
	const isThere = folders.some(
		(folder) => !folder.includes("_npx") && names.some((name) => existsSync(path.join(folder, name))),
	);
	return isThere ? ["palimpsest"] : [process.execPath, path.resolve(process.argv[1] ?? "")];
}

import { homedir } from "node:os";
import { planChange } from "../hooks/change-file.ts";
import { enterHook, removeHook } from "../hooks/hook-settings.ts";
import { type HookTarget, hookTarget, type InstallHost } from "../hooks/hook-targets.ts";
import { opencodePlugin } from "../hooks/opencode-plugin.ts";
import { usualHookChars } from "./hook.ts";
import { ownCommand } from "./own-command.ts";
import { checkLocale } from "./refuse-unknown.ts";
import { showChange } from "./show-change.ts";

/** The options of `palimpsest hook install` and `hook uninstall`. */
export interface InstallOptions {
	/** For this project alone. */
	readonly project?: boolean;
	/** Shows what would change and writes nothing. */
	readonly dryRun?: boolean;
	/** Characters up to which a result is left whole. */
	readonly maxChars?: number;
	/** Language of the notices, if not that of the host's server entry. */
	readonly locale?: string;
}

/** `palimpsest hook install HOST`: enters the hook in the host's settings and prints what changed. */
export async function installHook(host: InstallHost, options: InstallOptions): Promise<void> {
	const target = targetOf(host, options);
	const { file } = target;
	const change = await planChange(file, (text) =>
		target.kind === "file" ? target.text : enterHook(text ?? "", target.entry),
	);
	await showChange({ file, change, dryRun: options.dryRun, done: "installed" });
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
	await showChange({ file, change, dryRun: options.dryRun, done: "uninstalled" });
}

/** `palimpsest hook opencode`: prints the plugin file. */
export function printOpencodePlugin({ maxChars = usualHookChars, locale }: InstallOptions): void {
	process.stdout.write(opencodePlugin({ command: ownCommand(), mostChars: maxChars, locale: checkLocale(locale) }));
}

function targetOf(host: InstallHost, { project, maxChars = usualHookChars, locale }: InstallOptions): HookTarget {
	return hookTarget(host, {
		homeFolder: homedir(),
		projectFolder: project ? process.cwd() : undefined,
		environment: process.env,
		command: ownCommand(),
		mostChars: maxChars,
		locale: checkLocale(locale),
	});
}

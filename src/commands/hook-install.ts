import { enterHook, type HookTarget, hookTarget, type InstallHost, removeHook } from "../hosts/hooks.ts";
import { pluginText, withoutPlugin } from "../hosts/plugins.ts";
import { usualHookChars } from "./hook.ts";
import { changeFiles } from "./install.ts";
import { checkLocale } from "./usage.ts";

interface HookInstallOptions {
	readonly project?: boolean;
	readonly dryRun?: boolean;
	readonly maxChars?: number;
	readonly locale?: string;
}

/** `palimpsest hook install HOST` */
export async function installHook(host: InstallHost, options: HookInstallOptions): Promise<void> {
	const target = findTarget(host, options);
	const change = (text = "") => (target.kind === "file" ? target.text : enterHook(text, target.entry));
	await changeFiles({ files: [target.file], change, dryRun: options.dryRun, done: "installed" });
}

/** `palimpsest hook uninstall HOST` */
export async function uninstallHook(host: InstallHost, options: HookInstallOptions): Promise<void> {
	const target = findTarget(host, options);
	const change = (text: string | undefined) => {
		if (target.kind === "file") return withoutPlugin(text);
		return text === undefined ? undefined : removeHook(text, target.entry);
	};
	await changeFiles({ files: [target.file], change, dryRun: options.dryRun, done: "uninstalled" });
}

/** `palimpsest hook opencode` */
export function printOpencodePlugin({ maxChars = usualHookChars, locale }: HookInstallOptions): void {
	process.stdout.write(pluginText("opencode", { mostChars: maxChars, locale: checkLocale(locale) }));
}

function findTarget(host: InstallHost, options: HookInstallOptions): HookTarget {
	const { project: isForProject = false, maxChars: mostChars = usualHookChars, locale } = options;
	return hookTarget(host, { isForProject, mostChars, locale: checkLocale(locale) });
}

import { enterHooks, type HookTarget, hookTarget, type InstallHost, removeHooks } from "../hosts/hooks.ts";
import { pluginText } from "../hosts/plugins.ts";
import { usualHookChars } from "../hosts/tool-event.ts";
import { say } from "./input-output.ts";
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
	const change = (text = "") => (target.kind === "file" ? target.text : enterHooks(text, target.entries));
	const isNew = await changeFiles({ files: [target.file], change, dryRun: options.dryRun, done: "installed" });
	if (isNew && !options.dryRun && host === "codex") say("Codex runs no hook before you trust it: open /hooks there.");
}

/** `palimpsest hook uninstall HOST` */
export async function uninstallHook(host: InstallHost, options: HookInstallOptions): Promise<void> {
	const target = findTarget(host, options);
	const change = (text: string | undefined) => {
		if (text === undefined) return undefined;
		if (target.kind === "entries") return removeHooks(text, target.entries);
		return text.includes(target.mark) ? undefined : text;
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

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { PalimpsestError } from "../errors.ts";
import { ownPluginHosts } from "../hosts/hosts.ts";
import { shellArgument } from "../hosts/own-command.ts";
import { lastOfWriters } from "../storage/figures/store.ts";
import { packageFile } from "../version.ts";
import { say, show } from "./input-output.ts";
import { refuseUsage } from "./usage.ts";

/** Whether a module of the plugin cuts results, or its hook: the module leaves figures of each session. */
export async function wayAtWork(host: string): Promise<string> {
	const { modSince } = ownPluginHosts.find(({ name }) => name === host) ?? {};
	if (modSince === undefined) return "installed";
	const last = await lastOfWriters();
	if (last !== undefined) return `installed, its mod last at work at ${new Date(last).toISOString().slice(0, 16)}Z`;
	return `installed, its hook at work (its mod has not run yet: it needs ${modSince} or later)`;
}

/** `palimpsest install claude-code --plugin`: the package is a marketplace, from which the host installs the plugin itself. */
export async function installOwnPlugin(name: string, { dryRun = false }: { readonly dryRun?: boolean | undefined }) {
	if (name !== "claude-code") refuseUsage("expected --plugin with claude-code: no other host installs it from here");
	const commands = [
		["claude", "plugin", "marketplace", "add", fileURLToPath(packageFile(""))],
		["claude", "plugin", "install", "palimpsest@palimpsest"],
	] as const;
	for (const [program, ...parameters] of commands) {
		show(`${[program, ...parameters].map(shellArgument).join(" ")}\n`);
		if (!dryRun) await runToEnd(program, parameters);
	}
	say(dryRun ? "nothing was run (--dry-run)" : "installed the plugin. Start a new session; /plugin shows it.");
}

/** The host says itself what is wrong. */
async function runToEnd(program: string, parameters: readonly string[]): Promise<void> {
	const child = spawn(program, parameters, { stdio: ["ignore", 2, 2], shell: process.platform === "win32" });
	const ended = once(child, "exit").catch((cause: NodeJS.ErrnoException) => {
		const message = `Expected the command ${program} on the PATH (${cause.code}). Install Claude Code, or run the commands above where it is.`;
		throw new PalimpsestError("unreadable_file", message, { cause });
	});
	const [code] = await ended;
	if (code === 0) return;
	throw new PalimpsestError("internal", `${program} ended with code ${code}; it says why above.`);
}

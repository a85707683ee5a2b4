import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { archiveLocation, archivePlace } from "../archive/open.ts";
import { type LaunchedProgram, launchedPrograms, type Pointing } from "../hosts/base-url.ts";
import { ownCommand, ownCommandLine, shellWord } from "../hosts/own-command.ts";
import { proxyPolicy } from "../proxy/defaults.ts";
import type { ProxyTotals } from "../proxy/ledger.ts";
import { startProxy } from "../proxy/server.ts";
import { type ArchiveCommandOptions, commandConfig, say, show, withArchive } from "./input-output.ts";
import { exitCodeOfEnd, passSignals, startOf } from "./processes.ts";
import { refuseUnknown } from "./usage.ts";

interface LaunchOptions extends ArchiveCommandOptions {
	readonly dryRun?: boolean;
}

/**
 * `palimpsest launch PROGRAM -- ARGS`: a proxy on a free port and the program behind it, with our terminal. The exit code is
 * the program's own.
 */
export async function launch(name: string, parameters: readonly string[], options: LaunchOptions): Promise<void> {
	const known = launchedPrograms.map((program) => program.name);
	const program = launchedPrograms.find((one) => one.name === name) ?? refuseUnknown("program", name, known);
	if (options.dryRun) return showPlan(program, parameters, options);
	const policy = proxyPolicy(await commandConfig(options));
	const folder = await mkdtemp(path.join(tmpdir(), "palimpsest-launch-"));
	try {
		await withArchive(options, policy, async (archive) => {
			const { upstreams } = await pointingOf(program, { port: 0, folder });
			const recallCommand = `${program.hasLoginShell ? ownCommandLine() : "palimpsest"} recall`;
			const proxy = await startProxy({ port: 0, upstreams, policy, archive, recallCommand });
			try {
				if (process.stderr.isTTY) say(`live page: http://127.0.0.1:${proxy.port}/palimpsest/`);
				const pointing = await pointingOf(program, { port: proxy.port, folder });
				process.exitCode = await runBehind(program, { pointing, parameters, options, folder });
			} finally {
				await proxy.close();
			}
			say(summaryOf(proxy.totals()));
		});
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

function pointingOf({ point }: LaunchedProgram, { port, folder }: { readonly port: number; readonly folder: string }) {
	return point({
		origin: `http://127.0.0.1:${port}`,
		folder,
		platform: process.platform,
		homeFolder: homedir(),
		projectFolder: process.cwd(),
		environment: process.env,
	});
}

interface Launch {
	readonly pointing: Pointing;
	readonly parameters: readonly string[];
	readonly options: ArchiveCommandOptions;
	readonly folder: string;
}

async function runBehind({ command, title }: LaunchedProgram, launch: Launch): Promise<number> {
	const { pointing, parameters, options, folder } = launch;
	for (const [name, text] of Object.entries(pointing.files))
		await writeFile(path.join(folder, name), text, { mode: 0o600 });
	const env = {
		...process.env,
		...pointing.environment,
		...recallEnvironment(options),
		...(await withOwnPath(folder)),
	};
	const words = [...pointing.parameters, ...parameters];
	// npm's commands are scripts on Windows, which only a shell can run.
	const shell = process.platform === "win32";
	const child = spawn(command, shell ? words.map(inWindowsShell) : words, { stdio: "inherit", env, shell });
	const keepSignals = passSignals(child);
	const ended = new Promise<number>((resolve) => {
		child.on("exit", (code, signal) => resolve(exitCodeOfEnd(code, signal)));
	});
	try {
		const started = await startOf(child);
		if (started.kind === "running") return await ended;
		say(`cannot run ${command} (${title}): ${started.reason}`);
		return started.exitCode;
	} finally {
		keepSignals();
	}
}

/** So that `palimpsest recall` in the program reads the proxy's archive, from any folder. */
function recallEnvironment(options: ArchiveCommandOptions): Record<string, string> {
	const { where, namespace } = archiveLocation({ ...options, environment: process.env });
	const isFolder = archivePlace(where) === "folder";
	return {
		...(options.archive !== undefined || isFolder
			? { PALIMPSEST_ARCHIVE: isFolder ? path.resolve(where) : where }
			: {}),
		...(options.namespace === undefined ? {} : { PALIMPSEST_NAMESPACE: namespace }),
	};
}

/** The program's shell finds `palimpsest`, also where it is not installed. */
async function withOwnPath(folder: string): Promise<Record<string, string>> {
	const words = ownCommand();
	if (words.length === 1) return {};
	const isWindows = process.platform === "win32";
	const file = path.join(folder, isWindows ? "palimpsest.cmd" : "palimpsest");
	const quoted = words.map(isWindows ? inWindowsShell : shellWord).join(" ");
	await writeFile(file, isWindows ? `@${quoted} %*\r\n` : `#!/bin/sh\nexec ${quoted} "$@"\n`);
	await chmod(file, 0o755);
	return { PATH: `${folder}${path.delimiter}${process.env.PATH ?? ""}` };
}

async function showPlan(
	program: LaunchedProgram,
	parameters: readonly string[],
	options: ArchiveCommandOptions,
): Promise<void> {
	const folder = path.join(tmpdir(), "palimpsest-launch-XXXXXX");
	const { upstreams, environment, files, parameters: ours } = await pointingOf(program, { port: 0, folder });
	const variables = { ...environment, ...recallEnvironment(options) };
	const lines = [
		...Object.entries(upstreams).map(([api, url]) => `upstream ${api}: ${url}`),
		...Object.entries(variables).map(([name, value]) => `set ${name}=${withoutSettings(value)}`),
		...Object.entries(files).map(([name, text]) => `file ${path.join(folder, name)}: ${withoutSettings(text)}`),
		`run ${[program.command, ...ours, ...parameters].map(shellWord).join(" ")}`,
	];
	show(`${lines.join("\n").replaceAll(unknownOrigin, "http://127.0.0.1:PORT")}\n`);
}

const unknownOrigin = "http://127.0.0.1:0";

/** JSON with our addresses alone: the settings that they are laid over hold keys. */
function withoutSettings(text: string): string {
	if (!text.startsWith("{")) return text;
	return JSON.stringify(JSON.parse(text), (_, value: unknown) => {
		const isInner = typeof value === "object" && value !== null;
		return isInner || (typeof value === "string" && value.includes(unknownOrigin)) ? value : "…";
	});
}

export function inWindowsShell(word: string): string {
	return `"${word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1")}"`;
}

/** One line on all requests. */
function summaryOf({ requests, tokensSent, tokensLeftOut, billed, billedUnedited }: ProxyTotals): string {
	const ratio = billedUnedited > 0 ? billed / billedUnedited : 1;
	const counted = (count: number) => Math.round(count).toLocaleString("en");
	return `${counted(requests)} requests, ${counted(tokensSent)} tokens sent, ${counted(tokensLeftOut)} left out, billed ${ratio.toFixed(2)} × raw`;
}

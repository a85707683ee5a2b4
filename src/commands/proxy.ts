import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { text as textOf } from "node:stream/consumers";
import type { Archive } from "../archive/archive.ts";
import { archiveLocation, probeArchive } from "../archive/open.ts";
import { apis } from "../billing/observed-caching.ts";
import { continuousPolicy } from "../config/config.ts";
import { PalimpsestError, withoutCredentials } from "../errors.ts";
import { anyProgram, usualVariables } from "../hosts/any-program.ts";
import type { LaunchedProgram, Pointing } from "../hosts/host.ts";
import { launchedPrograms } from "../hosts/hosts.ts";
import { keepNewEntries, linkEntries } from "../hosts/linked-folder.ts";
import { ownCommand, ownCommandLine, shellWord, windowsWord } from "../hosts/own-command.ts";
import { isLoopback } from "../http/address.ts";
import type { Log } from "../log.ts";
import { createOperatorLog, type LogKind } from "../log.ts";
import { logLevels } from "../policy/names.ts";
import { billText, keptWarmText, type ProxyStatus, totalsText, undecidedText } from "../proxy/ledger.ts";
import { checkUpstreams, defaultUpstreams, type Upstreams } from "../proxy/routes.ts";
import { startProxy } from "../proxy/server.ts";
import { memoryFolderFor } from "../sending/memory.ts";
import {
	type ArchiveCommandOptions,
	archiveVariables,
	commandConfig,
	logToStderr,
	printJson,
	recallCommandOf,
	saveAddressOf,
	say,
	show,
	shownName,
	withArchive,
} from "./input-output.ts";
import { exitCodeOfEnd, passSignals, startOf, untilSignal } from "./processes.ts";
import { refuseUnknown, refuseUsage } from "./usage.ts";

interface ProxyCommandOptions extends ArchiveCommandOptions {
	readonly port?: number;
	readonly host?: string;
	/** `api=URL`, several with commas between. */
	readonly upstream?: readonly string[];
	readonly holdout?: number;
	readonly keepWarm?: boolean;
	readonly log?: LogKind;
}

const defaultPort = 8787;

/** `palimpsest proxy`: runs until a signal ends it. */
export async function proxy(options: ProxyCommandOptions): Promise<void> {
	const { host = "127.0.0.1", port = defaultPort, holdout, log: kind = "text" } = options;
	if (!isLoopback(host)) {
		const message = `Expected --host to be on loopback; got ${JSON.stringify(host)}. This proxy has neither TLS nor a token, and serving other machines needs both: put a server that has them in front of it.`;
		throw new PalimpsestError("invalid_argument", message);
	}
	const upstreams = { ...defaultUpstreams, ...upstreamsOf(options.upstream ?? []) };
	const policy = continuousPolicy(await commandConfig(options));
	const level = () => policy.log_level;
	const { log, announce } = createOperatorLog({
		kind,
		isWanted: (of) => logLevels.indexOf(of) >= logLevels.indexOf(level()),
		inWords: logToStderr(level),
		say,
		write: (line) => void process.stderr.write(`${line}\n`),
	});
	await saveAddressOf(options);
	await withArchive(options, policy, async (archive) => {
		const running = await startProxy({
			port,
			upstreams,
			policy,
			archive,
			memoryFolder: memoryFolderFor(archiveLocation({ ...options, environment: process.env })),
			recallCommand: recallCommandOf(options),
			holdout,
			keepWarm: options.keepWarm ? "while_connected" : undefined,
			log,
		});
		await warnIfUnusable(archive, { options, log });
		const url = `http://127.0.0.1:${running.port}`;
		// Before the announcement, whose readers may end the proxy.
		const ended = untilSignal();
		const data = { event: "listening", url, archive: archive?.location ?? "none" };
		announce({ level: "notice", message: `proxy at ${url}, live page at ${url}/palimpsest/`, data });
		await ended;
		await running.close();
	});
}

/** Says at the start that the archive cannot be used: the proxy then sends everything on, and archives nothing. */
async function warnIfUnusable(
	archive: Archive | undefined,
	{ options, log }: { readonly options: ArchiveCommandOptions; readonly log: Log },
): Promise<void> {
	if (!archive) return;
	try {
		await probeArchive(archive, archiveLocation({ ...options, environment: process.env }));
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		const message = `${error.message} Until it can be used, no more results are masked.`;
		log({ level: "warning", message, data: { event: "archive_unavailable", code: error.code } });
	}
}

function upstreamsOf(given: readonly string[]): Upstreams {
	const named = given.flatMap((one) => one.split(","));
	return Object.fromEntries(
		named.map((one) => {
			const [, api = "", url = ""] = /^(\w+)=(.+)$/.exec(one) ?? [];
			if (apis.some((known) => known === api)) return [api, url];
			return refuseUsage(`expected --upstream as ${apis.join("|")}=URL`);
		}),
	);
}

/** `palimpsest proxy status` */
export async function proxyStatus({
	port = defaultPort,
	json,
}: {
	readonly port?: number;
	readonly json?: true;
}): Promise<void> {
	const status = JSON.parse(await textFrom(port)) as ProxyStatus;
	if (json) return printJson(status, 2);
	const { requests, faults, undecided, kept_warm: keptWarm, edited, held_out: heldOut, conversations } = status;
	const number = (value: number) => value.toLocaleString("en");
	const line = (name: string, one: typeof edited) =>
		`${name}: ${number(one.requests)} requests, tokens sent ${number(one.tokens_sent)}, left out ${number(one.tokens_left_out)}, billed ${billText(one)}`;
	const lines = [
		`${number(requests.requests)} requests, ${requests.edited} edited, ${requests.sent_again} sent again in another form${requests.threads > 0 ? `, ${number(requests.threads)} threads passed` : ""}`,
		`faults: ${Object.entries(faults)
			.map(([kind, count]) => `${kind.replaceAll("_", " ")} ${count}`)
			.join(", ")}`,
		...undecidedText(undecided),
		...keptWarmText(keptWarm),
		line("all", edited),
		...(heldOut.requests > 0 ? [line("held out", heldOut)] : []),
		...conversations.map((one) =>
			line(`${one.id.slice(0, 8)} (${shownName(one.model ?? one.api)}, ${one.state.replaceAll("_", " ")})`, one),
		),
	];
	show(`${lines.join("\n")}\n`);
}

/** Not by `fetch`, which refuses some ports and follows a proxy of the environment. */
async function textFrom(port: number): Promise<string> {
	try {
		const asked = request({ host: "127.0.0.1", port, path: "/palimpsest/status" }).end();
		const [response] = (await once(asked, "response")) as [IncomingMessage];
		const answer = await textOf(response);
		if (response.statusCode === 200) return answer;
	} catch {
		// The same as an answer of another program.
	}
	const message = `No palimpsest proxy answers on port ${port}. Start one with \`palimpsest proxy\`, or name its port with --port.`;
	throw new PalimpsestError("invalid_argument", message);
}

/** `palimpsest proxy env`: for `eval` in a shell. Prints nothing if no proxy answers, as the programs would then reach no provider. */
export async function proxyEnvironment({
	port = defaultPort,
	shell = process.platform === "win32" ? "powershell" : "sh",
}: {
	readonly port?: number;
	readonly shell?: Shell;
}): Promise<void> {
	await textFrom(port);
	const { environment } = await anyProgram("", usualVariables, {}).point({
		...surroundings(),
		origin: `http://127.0.0.1:${port}`,
		folder: "",
		given: [],
	});
	const lines = Object.entries(environment).map(([name, value]) => assignments[shell](name, value));
	show(`${lines.join("\n")}\n`);
}

const assignments = {
	sh: (name: string, value: string) => `export ${name}=${shellWord(value)}`,
	fish: (name: string, value: string) => `set -gx ${name} ${shellWord(value)}`,
	powershell: (name: string, value: string) => `$env:${name} = '${value}'`,
} as const;

export type Shell = keyof typeof assignments;

interface LaunchOptions extends ArchiveCommandOptions {
	/** `NAME=TEMPLATE`, for a program that is not known here. */
	readonly env?: readonly string[];
	readonly upstream?: readonly string[];
	readonly dryRun?: boolean;
	readonly keepWarm?: boolean;
}

/**
 * `palimpsest launch PROGRAM -- ARGS`: a proxy on a free port and the program that uses it, with our terminal. The exit code is
 * the program's own.
 */
export async function launch(name: string, parameters: readonly string[], options: LaunchOptions): Promise<void> {
	const program = options.env
		? anyProgram(name, options.env, upstreamsOf(options.upstream ?? []))
		: knownProgram(name, options);
	const policy = continuousPolicy(await commandConfig(options));
	if (options.dryRun) {
		// Refuses a policy as the launch does, and touches no archive.
		await withArchive({ archive: "memory" }, policy, async () => {});
		return showPlan(program, parameters, options);
	}
	await saveAddressOf(options);
	const folder = await mkdtemp(path.join(tmpdir(), "palimpsest-launch-"));
	try {
		await withArchive(options, policy, async (archive) => {
			const given = parameters;
			const { upstreams, refusesThreads } = await pointingOf(program, { port: 0, folder, given });
			const recallCommand = `${program.hasLoginShell ? ownCommandLine() : "palimpsest"} recall`;
			const memoryFolder = memoryFolderFor(archiveLocation({ ...options, environment: process.env }));
			const proxy = await startProxy({
				port: 0,
				upstreams,
				policy,
				archive,
				memoryFolder,
				recallCommand,
				refusesThreads,
				keepWarm: options.keepWarm ? "until_closed" : undefined,
			});
			let started = false;
			try {
				await warnIfUnusable(archive, { options, log: logToStderr(() => policy.log_level) });
				if (process.stderr.isTTY) say(`live page: http://127.0.0.1:${proxy.port}/palimpsest/`);
				const pointing = await pointingOf(program, { port: proxy.port, folder, given });
				const ended = await runBehind(program, { pointing, parameters, options, folder });
				started = ended.started;
				process.exitCode = ended.exitCode;
			} finally {
				await proxy.close();
			}
			if (started) say(totalsText(proxy.totals()));
		});
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

function knownProgram(name: string, { upstream }: LaunchOptions): LaunchedProgram {
	if (upstream) refuseUsage("--upstream is for programs that --env points at the proxy");
	const known = launchedPrograms.map((program) => program.name);
	return launchedPrograms.find((one) => one.name === name) ?? refuseUnknown("program", name, known);
}

function surroundings() {
	return {
		platform: process.platform,
		homeFolder: homedir(),
		projectFolder: process.cwd(),
		environment: process.env,
	};
}

function pointingOf(
	{ point }: LaunchedProgram,
	{ port, folder, given }: { readonly port: number; readonly folder: string; readonly given: readonly string[] },
) {
	return point({
		origin: `http://127.0.0.1:${port}`,
		folder,
		given,
		...surroundings(),
	});
}

interface Launch {
	readonly pointing: Pointing;
	readonly parameters: readonly string[];
	readonly options: ArchiveCommandOptions;
	readonly folder: string;
}

async function runBehind({ command, title }: LaunchedProgram, launch: Launch) {
	const { pointing, parameters, options, folder } = launch;
	const { files, linkedFolder } = pointing;
	for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text, { mode: 0o600 });
	const env = {
		...process.env,
		...pointing.environment,
		...archiveVariables(options),
		...(await withOwnPath(folder)),
	};
	if (linkedFolder !== undefined) await linkEntries(linkedFolder, folder);
	const words = [...pointing.parameters, ...(pointing.given ?? parameters)];
	// npm's commands are scripts on Windows, which only a shell can run.
	const shell = process.platform === "win32";
	const child = spawn(command, shell ? words.map(windowsWord) : words, { stdio: "inherit", env, shell });
	const keepSignals = passSignals(child);
	const ended = new Promise<number>((resolve) => {
		child.on("exit", (code, signal) => resolve(exitCodeOfEnd(code, signal)));
	});
	try {
		const started = await startOf(child);
		if (started.kind === "running") return { started: true, exitCode: await ended };
		say(`cannot run ${command} (${title}): ${started.reason}`);
		return { started: false, exitCode: started.exitCode };
	} finally {
		keepSignals();
		if (linkedFolder !== undefined) await keepNewEntries(linkedFolder, folder, [...Object.keys(files), ...ownCommands]);
	}
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

async function showPlan(
	program: LaunchedProgram,
	parameters: readonly string[],
	options: ArchiveCommandOptions,
): Promise<void> {
	const folder = path.join(tmpdir(), "palimpsest-launch-XXXXXX");
	const pointing = await pointingOf(program, { port: 0, folder, given: parameters });
	const { upstreams, environment, files, parameters: ours, given = parameters } = pointing;
	checkUpstreams(upstreams);
	const variables = { ...environment, ...archiveVariables(options) };
	const lines = [
		...Object.entries(upstreams).map(([api, url]) => `upstream ${api}: ${url}`),
		...Object.entries(variables).map(([name, value]) => `set ${name}=${withoutSettings(value)}`),
		...(await Promise.all(
			Object.entries(files).map(async ([name, text]) => {
				const json = name.endsWith(".toml") ? JSON.stringify((await import("smol-toml")).parse(text)) : text;
				return `file ${path.join(folder, name)}: ${withoutSettings(json)}`;
			}),
		)),
		`run ${[program.command, ...ours, ...given].map(shellWord).join(" ")}`,
	];
	show(withoutCredentials(`${lines.join("\n").replaceAll(unknownOrigin, "http://127.0.0.1:PORT")}\n`));
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

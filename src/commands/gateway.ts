import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { logLevels } from "../engine/policy/names.ts";
import type { PolicyLayer } from "../engine/policy/schema.ts";
import { windowsWord } from "../hosts/own-command.ts";
import { createOperatorLog, type LogKind } from "../log.ts";
import type { HostStreams } from "../mcp/gateway/child.ts";
import { ownerOf } from "../mcp/gateway/owner.ts";
import { continuousPolicy, ignoredWarning, loadConfig } from "../operations/config/config.ts";
import { archiveLocation, createArchiveSource } from "../storage/archive/open.ts";
import { openFigures } from "../storage/figures/store.ts";
import { readRegularFile } from "../storage/files/access.ts";
import { settingsFolder, stateFolder } from "../storage/files/state-folder.ts";
import { userKey } from "../storage/files/user-key.ts";
import { type ArchiveCommandOptions, configSources, logToStderr, recallCommandOf, say } from "./input-output.ts";
import { exitCodeOfEnd, passSignals, startOf } from "./processes.ts";
import { listOfNames, refuseUsage } from "./usage.ts";

interface GatewayCommandOptions extends ArchiveCommandOptions {
	/** A host's file of servers, all of which run behind one gateway. */
	readonly config?: string;
	/** Of the server's entry in the host's configuration. */
	readonly name?: string;
	readonly maxTokens?: number;
	readonly header?: readonly string[];
	readonly only?: string;
	readonly except?: string;
	readonly describeMax?: number;
	/** `unused`, or a file with the names of tools that keep their definitions as well. */
	readonly defer?: string;
	/** `false` by `--no-recall`. */
	readonly recall: "tool" | "server" | false;
	readonly log?: LogKind;
}

/**
 * `palimpsest gateway -- COMMAND ARGS…`, `palimpsest gateway URL` or `palimpsest gateway --config FILE`: runs until the server
 * or the host ends.
 */
export async function gateway(
	server: string | undefined,
	parameters: readonly string[],
	options: GatewayCommandOptions,
): Promise<void> {
	if ((server === undefined) === (options.config === undefined))
		refuseUsage("expected the command of a server, its URL, or --config with a file of servers");
	if (server === undefined) return gatewayOfMany(options);
	const shared = await gatewayOptions(options, [server, ...parameters]);
	const url = parameters.length === 0 && /^https?:\/\//i.test(server) ? addressOf(server) : undefined;
	if (url === undefined && options.header) refuseUsage("expected --header with the URL of a server");
	const streams = { input: process.stdin, output: process.stdout };
	if (url) {
		const { serveRemote } = await import("../mcp/gateway/remote.ts");
		const leave = () => process.stdin.destroy();
		for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, leave);
		await serveRemote(url, streams, { ...shared, headers: headersOf(options) });
	} else process.exitCode = await serveCommand(server, parameters, { streams, shared });
	shared.archive?.end();
	process.stdin.destroy();
}

async function gatewayOfMany(options: GatewayCommandOptions): Promise<void> {
	if (options.header) refuseUsage("expected --header with the URL of a server");
	const file = path.resolve(options.config ?? "");
	const { configuredServers, nameOfFile } = await import("./gateway-config.ts");
	const entries = await configuredServers(file, process.env);
	const { ownerNamed, ...shared } = await gatewayOptions({ ...options, name: nameOfFile(file) }, []);
	const owners = new Map(entries.map(({ name }) => [name, ownerNamed(`${name}@${nameOfFile(file)}`)]));
	const leaving = new AbortController();
	for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, () => leaving.abort());
	const { serveMany } = await import("../mcp/gateway/serve-many.ts");
	const streams = { input: process.stdin, output: process.stdout };
	await serveMany(entries, streams, { ...shared, owners, signal: leaving.signal, spawned });
	shared.archive?.end();
	process.stdin.destroy();
}

/** On Windows, npx and its like are scripts, which only a shell can run. */
function spawned(command: readonly string[]) {
	const shell = process.platform === "win32";
	const [program = "", ...words] = shell ? command.map(windowsWord) : command;
	return { program, words, shell };
}

function addressOf(text: string): URL {
	const url = URL.canParse(text) ? new URL(text) : refuseUsage("expected the URL of a server");
	if (url.username !== "" || url.password !== "")
		refuseUsage("expected a URL without a user and a password: give them by --header Authorization=VARIABLE");
	return url;
}

/** The exit code of the server, or why it cannot be started, as a shell says it. */
async function serveCommand(
	command: string,
	parameters: readonly string[],
	{ streams, shared }: { readonly streams: HostStreams; readonly shared: Awaited<ReturnType<typeof gatewayOptions>> },
): Promise<number> {
	const { program, words, shell } = spawned([command, ...parameters]);
	const child = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"], windowsHide: true, shell });
	const keepSignals = passSignals(child);
	try {
		const started = await startOf(child);
		if (started.kind === "not_started") {
			say(`cannot run ${command}: ${started.reason}`);
			return started.exitCode;
		}
		const { serveChild } = await import("../mcp/gateway/child.ts");
		const server = child as ChildProcessByStdio<Writable, Readable, null>;
		const { code, signal } = await serveChild(server, streams, { ...shared, name: path.basename(command) });
		return exitCodeOfEnd(code, signal);
	} finally {
		keepSignals();
	}
}

/** Values are in variables, since arguments are seen by every process. */
function headersOf({ header = [] }: GatewayCommandOptions): Record<string, string> {
	const pairs = header.map((one) => {
		const [, name = "", variable = ""] = /^([\w-]+)=([\w-]+)$/.exec(one) ?? [];
		const value = process.env[variable];
		if (name === "") return refuseUsage("expected --header as NAME=VARIABLE");
		if (!value) return refuseUsage(`expected the value of ${name} in the environment variable ${variable}`);
		return [name, value];
	});
	return Object.fromEntries(pairs);
}

const leastTokens = 100;
/** As `palimpsest run` does. */
const usualTokens = 4_000;

async function gatewayOptions(options: GatewayCommandOptions, server: readonly string[]) {
	const { maxTokens = Number.POSITIVE_INFINITY, only, except, describeMax, recall, log: kind = "text" } = options;
	if (maxTokens < leastTokens) refuseUsage(`expected --max-tokens to be at least ${leastTokens}, which a notice needs`);
	const config = await loadConfig(configSources(options));
	const policy = continuousPolicy(config);
	const layers: readonly PolicyLayer[] = [{ preset: "balanced" }, ...config.layers];
	const level = () => policy.log_level;
	const { log, onCallEnd } = createOperatorLog({
		kind,
		isWanted: (of) => logLevels.indexOf(of) >= logLevels.indexOf(level()),
		inWords: logToStderr(level),
		say,
		// The server writes to the same standard error, so that it is not captured.
		write: (line) => void process.stderr.write(`${line}\n`),
	});
	const ignored = ignoredWarning(config);
	if (ignored !== undefined) log({ level: "warning", message: ignored, data: { event: "policy_ignored" } });
	const figures = openFigures({ keep: policy.figures, projectFolder: process.cwd() });
	const key = await userKey(settingsFolder()).catch((error: NodeJS.ErrnoException) => {
		const message = "The key of this user cannot be kept: only this run can read its originals by the added tool";
		log({ level: "warning", message, data: { event: "no_user_key", error: error.code ?? error.name } });
		return randomBytes(32);
	});
	const ownerNamed = (entry: string | undefined) =>
		ownerOf({ entry, words: server, folder: process.cwd(), environment: process.env, key });
	const owner = ownerNamed(options.name);
	const showsCalls = kind === "json" || (kind === "text" && logLevels.indexOf("info") >= logLevels.indexOf(level()));
	return {
		policy,
		layers,
		maxTokens: options.maxTokens ?? (layers.some(setsLimit) ? undefined : usualTokens),
		archive: createArchiveSource({
			location: archiveLocation({ ...options, environment: process.env }),
			policy: () => policy,
		}),
		owner,
		ownerNamed,
		deferral: await toolUse(options, { owner, isRemembered: policy.figures !== "none" }),
		defers: options.defer !== undefined,
		choice: { only: listOfNames(only), except: listOfNames(except), describeMax },
		recall: recall === false ? ("command" as const) : recall,
		recallCommand: recallCommandOf(options),
		log,
		onCallEnd: showsCalls ? onCallEnd : undefined,
		onCut: ({ before, after }: { readonly before: number; readonly after: number }) =>
			figures.add({ kind: "result", by: "gateway", chars_before: before, chars_after: after }),
	};
}

/** In bytes. */
const largestList = 1_000_000;

async function toolUse(
	{ defer }: GatewayCommandOptions,
	{ owner, isRemembered }: { readonly owner: string; readonly isRemembered: boolean },
) {
	if (!isRemembered && defer === undefined) return undefined;
	const isFile = defer !== undefined && defer !== "unused";
	const kept = isFile ? (await readRegularFile(defer, largestList)).toString() : "";
	const { openToolUse } = await import("../mcp/gateway/tool-use.ts");
	const file = path.join(stateFolder(), "tools", `${owner}.jsonl`);
	return openToolUse({ file, session: randomUUID(), kept: kept.split(/[\s,]+/) });
}

function setsLimit({ truncate }: PolicyLayer): boolean {
	return truncate?.max_chars !== undefined || truncate?.max_tokens !== undefined;
}

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { quote } from "../engine/policy/errors.ts";
import { logLevels } from "../engine/policy/names.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError, withoutCredentials } from "../errors.ts";
import { anyProgram } from "../hosts/any-program.ts";
import type { LaunchedProgram } from "../hosts/host.ts";
import { launchedPrograms } from "../hosts/hosts.ts";
import { ownCommandAnywhere, shellWord } from "../hosts/own-command.ts";
import type { Log } from "../log.ts";
import { createOperatorLog, type LogKind } from "../log.ts";
import { continuousPolicy, ignoredWarning, loadConfig } from "../operations/config/config.ts";
import { type Address, hostInUrl, isLoopback, parseAddress } from "../operations/http/address.ts";
import { exceptingLoopback, networkProxyOf } from "../operations/http/network-proxy.ts";
import { openLargeTexts } from "../operations/large-texts.ts";
import { closingText } from "../proxy/closing.ts";
import { createKeys, keyForm, pageAddress } from "../proxy/keys.ts";
import { checkUpstreams, defaultUpstreams, type Upstreams, upstreamNames } from "../proxy/routes.ts";
import { addRunning, removeRunning } from "../proxy/running.ts";
import { journalFor } from "../proxy/sending/journal-redis.ts";
import { memoryFolderFor } from "../proxy/sending/memory.ts";
import { startProxy } from "../proxy/server.ts";
import type { Archive } from "../storage/archive/archive.ts";
import { archiveLocation, probeArchive } from "../storage/archive/open.ts";
import { openFigures } from "../storage/figures/store.ts";
import { type BehindProxy, pointingOf, startBehind } from "./behind-proxy.ts";
import {
	type ArchiveCommandOptions,
	archiveVariables,
	commandConfig,
	configSources,
	logToStderr,
	recallCommandOf,
	saveAddressOf,
	say,
	show,
	withArchive,
} from "./input-output.ts";
import { passSignals, untilSignal } from "./processes.ts";
import { callersOf, type ProxyCallersOptions, tlsOf } from "./proxy-callers.ts";
import { defaultPort } from "./proxy-status.ts";
import { refuseUnknown, refuseUsage } from "./usage.ts";

/** The time that running answers have to end after a signal. A second signal ends the proxy at once. */
const usualShutdownSeconds = 30;

interface ProxyCommandOptions extends ArchiveCommandOptions, ProxyCallersOptions {
	readonly port?: number;
	readonly host?: string;
	/** `ADDRESS:PORT`, in place of both. */
	readonly listen?: string;
	readonly shutdownSeconds?: number;
	/** `api=URL`, several with commas between. */
	readonly upstream?: readonly string[];
	readonly holdout?: number;
	readonly keepWarm?: boolean;
	readonly diagnose?: boolean;
	readonly private?: boolean;
	readonly metrics?: boolean;
	/** A file with the key of its pages. */
	readonly keyFile?: string;
	readonly log?: LogKind;
}

/** `palimpsest proxy`: runs until a signal ends it. */
export async function proxy(options: ProxyCommandOptions): Promise<void> {
	const { holdout, shutdownSeconds = usualShutdownSeconds, log: kind = "text" } = options;
	const { host, port } = addressOf(options);
	const tls = await tlsOf(options);
	const upstreams = { ...defaultUpstreams, ...upstreamsOf(options.upstream ?? []) };
	const config = await loadConfig({ ...configSources(options), servesOthers: true });
	const policy = continuousPolicy(config);
	const level = () => policy.log_level;
	const { log, announce } = createOperatorLog({
		kind,
		isWanted: (of) => logLevels.indexOf(of) >= logLevels.indexOf(level()),
		inWords: logToStderr(level),
		say,
		write: (line) => void process.stderr.write(`${line}\n`),
	});
	const keys = createKeys(options.keyFile === undefined ? undefined : await keyIn(options.keyFile));
	const ignored = ignoredWarning(config);
	if (ignored !== undefined) log({ level: "warning", message: ignored, data: { event: "policy_ignored" } });
	const keep = keptFigures(policy, options);
	const location = archiveLocation({ ...options, environment: process.env });
	const callers = await callersOf(options, { host, location, policy, keep, log });
	try {
		await saveAddressOf(options);
		await withArchive(options, policy, async (archive) => {
			const running = await startProxy({
				keys,
				figures: openFigures({ keep }),
				host,
				port,
				callers,
				tls,
				upstreams,
				policy,
				archive,
				memoryFolder: memoryFolderFor(location),
				journal: await journalFor(location, policy),
				recallCommand: callers ? undefined : recallCommandOf(options),
				holdout,
				metrics: options.metrics,
				keepWarm: options.keepWarm ? "while_connected" : undefined,
				diagnoses: options.diagnose,
				largeTexts: openLargeTexts(),
				log,
			});
			await warnIfUnusable(archive, { options, log });
			const url = `${tls ? "https" : "http"}://${hostInUrl(host)}:${running.port}`;
			// Before the announcement, whose readers may end the proxy.
			const ended = untilSignal();
			const data = { event: "listening", url, archive: archive?.location ?? "none" };
			// Its clients on this machine talk to it by plain HTTP on loopback.
			const unlist = isLoopback(host) && !tls ? await listed({ address: url, keys }, log) : async () => {};
			// A log is kept, and others may read it.
			const page = process.stderr.isTTY && kind === "text" ? pageAddress(url, keys) : "the address of `proxy status`";
			announce({ level: "notice", message: `proxy at ${url}, live page at ${page}`, data });
			const signal = await ended;
			announce({ level: "notice", message: "shutting down", data: { event: "shutting_down", signal } });
			await unlist();
			await running.close({ answersMs: shutdownSeconds * 1_000 });
			const totals = running.totals();
			const { asked: requests, tokensSent: tokens_sent, tokensLeftOut: tokens_left_out } = totals;
			const message = closingText(totals, { address: url, isKept: policy.figures !== "none" });
			announce({ level: "notice", message, data: { event: "closed", url, requests, tokens_sent, tokens_left_out } });
		});
	} finally {
		await callers?.end();
	}
}

/** Throws `invalid_argument`. */
function addressOf({ listen, host = "127.0.0.1", port = defaultPort }: ProxyCommandOptions): Address {
	if (listen !== undefined) return parseAddress(listen, { host, port });
	return { host: host.replace(/^\[(.*)\]$/, "$1"), port };
}

/** Lists a proxy while it runs, and returns what takes it from the list. A list that cannot be written costs only its use. */
async function listed(proxy: Parameters<typeof addRunning>[0], log: Log): Promise<() => Promise<void>> {
	try {
		await addRunning(proxy);
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
		const message = `The list of running proxies cannot be written (${code}): \`palimpsest proxy status\` does not find this one.`;
		log({ level: "notice", message, data: { event: "not_listed", code } });
	}
	return () => removeRunning(proxy.address);
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

/** A key that lasts over restarts, for programs that cannot ask for it. Throws `invalid_argument`. */
async function keyIn(file: string): Promise<string> {
	const text = await readFile(file, "utf8").catch(() => "");
	if (keyForm.test(text.trim())) return text.trim();
	const message = `Expected --key-file to name a file with a key of 32 to 200 letters, digits, "_" and "-", such as \`openssl rand -hex 32\` prints; got ${quote(file)}.`;
	throw new PalimpsestError("invalid_argument", message);
}

function upstreamsOf(given: readonly string[]): Upstreams {
	const named = given.flatMap((one) => one.split(","));
	return Object.fromEntries(
		named.map((one) => {
			const [, api = "", url = ""] = /^(\w+)=(.+)$/.exec(one) ?? [];
			if (upstreamNames.some((known) => known === api)) return [api, url];
			return refuseUsage(`expected --upstream as ${upstreamNames.join("|")}=URL`);
		}),
	);
}

interface LaunchOptions extends ArchiveCommandOptions {
	readonly port?: number;
	/** `NAME=TEMPLATE`, for a program that is not known here. */
	readonly env?: readonly string[];
	readonly upstream?: readonly string[];
	readonly dryRun?: boolean;
	readonly keepWarm?: boolean;
	readonly diagnose?: boolean;
	readonly private?: boolean;
	readonly firstParty?: boolean;
}

/**
 * `palimpsest launch PROGRAM ARGS`: a proxy on the given port, else on a free one, and the program that uses it, with our
 * terminal. The exit code is the program's own.
 */
export async function launch(name: string, given: readonly string[], options: LaunchOptions): Promise<void> {
	// All after the name is the program's.
	const words = given[0] === "--" ? given.slice(1) : given;
	const named = programNamed(name, options);
	const [command, ...others] = words;
	if (named.isLibrary && command === undefined)
		refuseUsage(
			`expected the command of a program that uses the ${named.title}, such as \`launch ${name} node agent.js\``,
		);
	const program = named.isLibrary ? { ...named, command: String(command) } : named;
	const parameters = named.isLibrary ? others : words;
	const policy = continuousPolicy(await commandConfig(options));
	if (options.dryRun) {
		// Refuses a policy as the launch does, and touches no archive.
		await withArchive({ archive: "memory" }, policy, async () => {});
		return showPlan(program, parameters, options);
	}
	await saveAddressOf(options);
	const keep = keptFigures(policy, options);
	const folder = await mkdtemp(path.join(tmpdir(), "palimpsest-launch-"));
	const where = { parameters, firstParty: options.firstParty ?? true, projectFolder: process.cwd() };
	try {
		await withArchive(options, policy, async (archive) => {
			const { upstreams, refusesThreads, network } = await pointingOf(program, { ...where, port: 0, folder });
			const recallCommand = `${program.hasLoginShell ? ownCommandAnywhere() : "palimpsest"} recall`;
			const location = archiveLocation({ ...options, environment: process.env });
			const keys = createKeys();
			const proxy = await startProxy({
				keys,
				figures: openFigures({ keep, program: program.name, projectFolder: process.cwd() }),
				port: options.port ?? 0,
				upstreams,
				network,
				policy,
				archive,
				memoryFolder: memoryFolderFor(location),
				journal: await journalFor(location, policy),
				recallCommand,
				refusesThreads,
				keepWarm: options.keepWarm ? "until_closed" : undefined,
				diagnoses: options.diagnose,
				largeTexts: openLargeTexts(),
			});
			let started = false;
			const address = `http://127.0.0.1:${proxy.port}`;
			const log = logToStderr(() => policy.log_level);
			const unlist = await listed({ address, program: program.name, keys }, log);
			try {
				await warnIfUnusable(archive, { options, log });
				if (process.stderr.isTTY) say(`live page: ${pageAddress(address, keys)}`);
				const pointing = await pointingOf(program, { ...where, port: proxy.port, folder });
				const hooks = keep === "private" ? keep : undefined;
				const ended = await runBehind(program, { pointing, parameters, options, keep: hooks, folder, address });
				started = ended.started;
				process.exitCode = ended.exitCode;
			} finally {
				await unlist();
				await proxy.close();
			}
			if (!started) return;
			const { name, title = name } = program;
			const isKept = keep !== "none";
			say(closingText(proxy.totals(), { address, isKept, program: { name, title, upstreams } }));
		});
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

function keptFigures({ figures }: Policy, { private: isPrivate }: { readonly private?: boolean }): Policy["figures"] {
	return isPrivate && figures === "all" ? "private" : figures;
}

/** A program that is known here, or another one that `env` points at a proxy. Refuses wrong usage. */
export function programNamed(
	name: string,
	{ env, upstream }: Pick<LaunchOptions, "env" | "upstream">,
): LaunchedProgram {
	const upstreams = upstreamsOf(upstream ?? []);
	if (env) return anyProgram(name, env, upstreams);
	const known = launchedPrograms.map((program) => program.name);
	const program = launchedPrograms.find((one) => one.name === name) ?? refuseUnknown("program", name, known);
	return upstream ? withUpstreams(program, upstreams) : program;
}

/** The same program, with other upstreams than its own settings name. */
function withUpstreams(program: LaunchedProgram, upstreams: Upstreams): LaunchedProgram {
	const point: LaunchedProgram["point"] = async (where) => {
		const firstParty = where.firstParty && upstreams.anthropic === undefined;
		const own = await program.point({ ...where, firstParty });
		const used = Object.keys(own.upstreams);
		const unused = Object.keys(upstreams).find((api) => !used.includes(api));
		if (unused !== undefined)
			refuseUsage(`expected --upstream for the API of ${program.title} (${used.join(", ")}); got ${unused}`);
		return { ...own, upstreams: { ...own.upstreams, ...upstreams } };
	};
	return { ...program, point };
}

async function runBehind(program: LaunchedProgram, behind: BehindProxy) {
	const running = await startBehind(program, { ...behind, how: { stdio: "inherit" } });
	const keepSignals = passSignals(running.child);
	try {
		const started = await running.started;
		if (started.kind === "running") return { started: true, exitCode: await running.ended };
		say(`cannot run ${program.command} (${program.title}): ${started.reason}`);
		return { started: false, exitCode: started.exitCode };
	} finally {
		keepSignals();
		await running.keepFiles();
	}
}

async function showPlan(
	program: LaunchedProgram,
	parameters: readonly string[],
	options: LaunchOptions,
): Promise<void> {
	const folder = path.join(tmpdir(), "palimpsest-launch-XXXXXX");
	const { port = 0 } = options;
	const given = { parameters, firstParty: options.firstParty ?? true, projectFolder: process.cwd() };
	const pointing = await pointingOf(program, { ...given, port, folder });
	const { upstreams, environment, files, parameters: ours, ownParameters = parameters } = pointing;
	checkUpstreams(upstreams);
	const variables = { ...environment, ...archiveVariables(options), ...exceptingLoopback(process.env) };
	const lines = [
		...Object.entries(upstreams).map(([api, url]) => `upstream ${api}: ${url}`),
		...Object.entries(upstreams).flatMap(([api, url]) => {
			const proxy = networkProxyOf(new URL(url), { ...process.env, ...pointing.network });
			return proxy ? [`${api} is reached through ${proxy.url.host} (${proxy.variable})`] : [];
		}),
		...Object.entries(variables).map(([name, value]) => `set ${name}=${withoutSettings(value)}`),
		...(await Promise.all(
			Object.entries(files).map(async ([name, text]) => {
				const json = name.endsWith(".toml") ? JSON.stringify((await import("smol-toml")).parse(text)) : text;
				return `file ${path.join(folder, name)}: ${withoutSettings(json)}`;
			}),
		)),
		`run ${[program.command, ...ours, ...ownParameters].map(shellWord).join(" ")}`,
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

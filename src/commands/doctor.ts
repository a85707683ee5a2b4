import { once } from "node:events";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { resolvePolicy } from "../engine/policy/layers.ts";
import { describePolicy } from "../engine/policy/reference.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import { settingsProblem } from "../formats/json-text/settings.ts";
import { loadCounter } from "../formats/tokens/counter.ts";
import { tableDate } from "../formats/tokens/price-table.ts";
import { usualHookChars } from "../hosts/hook-answers.ts";
import { enteredHooks, hookTarget, pluginModule } from "../hosts/hooks.ts";
import { hookHosts, ownPluginHosts, serverHosts } from "../hosts/hosts.ts";
import { hasOwnPlugin, hostStates } from "../hosts/install.ts";
import { continuousPolicy, ignoredWarning, loadConfig } from "../operations/config/config.ts";
import { parseAddress } from "../operations/http/address.ts";
import { counted } from "../operations/window-words.ts";
import { archiveLocation, openArchiveOfPolicy } from "../storage/archive/open.ts";
import { readRegularFile } from "../storage/files/access.ts";
import { version } from "../version.ts";
import { type EnteredStart, entryStart, startProblem, toolsOffered } from "./entered-starts.ts";
import { type ArchiveCommandOptions, configSources, printJson, show } from "./input-output.ts";
import { wayAtWork } from "./own-plugin.ts";

interface Finding {
	readonly name: string;
	readonly state: "ok" | "warning" | "failed";
	readonly found: string;
	readonly advice?: string;
}

/** `palimpsest doctor` */
export async function doctor(
	options: ArchiveCommandOptions & { readonly json?: boolean; readonly http?: string },
): Promise<void> {
	const { policy, finding } = await checkPolicy(options);
	const findings: readonly Finding[] = [
		checkNode(),
		finding,
		await checkArchive(options, policy),
		await checkTokenizer(),
		checkPrices(),
		await checkPort(options.http ?? true),
		...(await checkHosts()),
	];
	if (options.json) printJson({ version, findings }, 2);
	else show(findings.map(findingLine).join(""));
	if (findings.some(({ state }) => state === "failed")) process.exitCode = 1;
}

const marks = { ok: "ok     ", warning: "warning", failed: "FAILED " } as const;

function findingLine({ name, state, found, advice }: Finding): string {
	const indent = " ".repeat(20);
	const lines = [found, ...(advice ? [advice] : [])].join("\n").split("\n");
	return `${marks[state]}  ${name.padEnd(9)}  ${lines.join(`\n${indent}`)}\n`;
}

/** As `engines` in package.json says. */
const oldest = 20;

function checkNode(): Finding {
	const { node: version } = process.versions;
	const found = `Node.js ${version}`;
	if (Number.parseInt(version, 10) >= oldest) return { name: "node", state: "ok", found };
	return { name: "node", state: "failed", found, advice: `Install Node.js ${oldest} or later.` };
}

async function checkPolicy(options: ArchiveCommandOptions): Promise<{ finding: Finding; policy: Policy }> {
	try {
		const config = await loadConfig(configSources(options));
		const { policy, file } = config;
		const continuous = continuousPolicy(config);
		const files = [file, config.found].filter((one) => one !== null).join(" and ");
		const other = `Proxy, gateway and plugins start from preset ${continuous.preset}. Wording: ${continuous.locale}.`;
		const found = [
			`${files || "no file, so the defaults and the environment"}: ${describePolicy(policy)}`,
			...(continuous.preset === policy.preset ? [] : [other]),
		].join("\n");
		const advice = ignoredWarning(config);
		const state = advice === undefined ? { state: "ok" as const } : { state: "warning" as const, advice };
		return { policy, finding: { name: "policy", found, ...state } };
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		const advice = "palimpsest policy check lists every field that cannot be used.";
		return { policy: resolvePolicy([]), finding: { name: "policy", state: "failed", found: error.message, advice } };
	}
}

const probe = { text: "Written by palimpsest doctor, and deleted afterwards.", kind: "result" } as const;

/** Writes and reads in a namespace of its own. */
async function checkArchive(options: ArchiveCommandOptions, policy: Policy): Promise<Finding> {
	const name = "archive";
	let advice: { readonly advice?: string } = { advice: "Correct --archive or PALIMPSEST_ARCHIVE." };
	try {
		const location = archiveLocation({ ...options, environment: process.env });
		advice = {};
		const archive = await openArchiveOfPolicy({ ...location, namespace: `doctor-${process.pid}` }, policy);
		if (!archive) {
			const advice = "Remove --archive none and PALIMPSEST_ARCHIVE, so that masked results can be recalled.";
			return { name, state: "warning", found: "none: nothing is kept, so nothing can be recalled", advice };
		}
		try {
			const [ref = ""] = await archive.put([probe]);
			const { text } = await archive.get(ref);
			await archive.clear();
			const found = `${archive.location}: written and read`;
			if (text === probe.text) return { name, state: "ok", found };
			return {
				name,
				state: "failed",
				found,
				advice: "The archive returned a different text from the one written. Check the disk.",
			};
		} finally {
			await archive.close();
		}
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		return { name, state: "failed", found: error.message, ...advice };
	}
}

async function checkTokenizer(): Promise<Finding> {
	const name = "tokenizer";
	try {
		const tokens = (await loadCounter("o200k_base"))("Palimpsest");
		if (tokens > 0) return { name, state: "ok", found: `o200k_base counts: "Palimpsest" is ${tokens} tokens` };
	} catch {
		// Any error means that files of the package are missing or damaged.
	}
	return { name, state: "failed", found: "o200k_base cannot be read", advice: "Install palimpsest-mcp again." };
}

const oldDays = 60;

/** Prices change every few weeks, and the table is that of the release. */
function checkPrices(): Finding {
	const days = Math.max(0, Math.floor((Date.now() - tableDate) / 86_400_000));
	const read = new Date(tableDate).toISOString().slice(0, 10);
	const found = `the table of prices is of ${read}, ${counted(days, "day")} old`;
	if (days <= oldDays) return { name: "prices", state: "ok", found };
	return { name: "prices", state: "warning", found, advice: "Install a newer version, or set [prices] in the policy." };
}

async function checkPort(address: string | true): Promise<Finding> {
	const { host, port } = parseAddress(address);
	const place = `${host}:${port}`;
	const server = createServer();
	try {
		server.listen({ host, port, exclusive: true });
		await once(server, "listening");
		return { name: "port", state: "ok", found: `${place} is free` };
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		const isTaken = code === "EADDRINUSE";
		const found = isTaken ? `${place} is taken` : `cannot listen at ${place}: ${code}`;
		const advice = isTaken
			? "It may be a Palimpsest server that already runs. If not, choose another port: palimpsest serve --http :PORT."
			: "Choose an address of this machine and a port that this user may open: palimpsest serve --http :PORT.";
		return { name: "port", state: "warning", found, advice };
	} finally {
		server.close();
	}
}

/** Starts everything of ours that is entered in the user's settings, as the hosts do. */
async function checkHosts(): Promise<readonly Finding[]> {
	const where = { platform: process.platform, environment: process.env, homeFolder: homedir() };
	const states = await Promise.all(
		serverHosts.map(async (host) => (await hostStates(host, where)).map((state) => ({ host: host.name, ...state }))),
	);
	const present = states.flat().filter(({ state }) => state !== "no file");
	return [await checkEntries(present), ...(await checkGateways(present))];
}

type PresentHost = Awaited<ReturnType<typeof hostStates>>[number] & { readonly host: string };

/** Starts each server that is behind the gateway. */
async function checkGateways(present: readonly PresentHost[]): Promise<readonly Finding[]> {
	const entered = present.flatMap(({ host, servers }) =>
		servers.filter(({ kind }) => kind === "gateway").map(({ name, entry }) => ({ name: `${host} ${name}`, entry })),
	);
	if (entered.length === 0) return [];
	const found = await Promise.all(
		entered.map(async ({ name, entry }) => {
			const start = entryStart(entry);
			if (start?.kind !== "server") return { said: `${name}: not started, since the host fills in its variables` };
			const offered = await toolsOffered(start);
			if ("tools" in offered) return { said: `${name}: ${offered.tools} tools` };
			return { said: `${name}: fails (${offered.problem})`, isBroken: true };
		}),
	);
	const text = found.map(({ said }) => said).join(", ");
	if (!found.some(({ isBroken }) => isBroken)) return [{ name: "gateway", state: "ok", found: text }];
	const advice = "palimpsest uninstall HOST --gateway SERVER lets the host start it directly; see whether that works.";
	return [{ name: "gateway", state: "failed", found: text, advice }];
}

async function checkEntries(present: readonly PresentHost[]): Promise<Finding> {
	const name = "hosts";
	const problemOf = oncePerStart();
	const plugins = await installedPlugins();
	const servers = present.flatMap(({ host, state, entry, file, problem, servers }): EnteredPart[] => {
		// A host with our plugin or gateway needs no entry of its own.
		const isReached = plugins.includes(host) || servers.some(({ kind }) => kind === "gateway");
		if (state === "not installed" && isReached) return [];
		const otherwise = state === "installed" ? "installed, not started" : state;
		return [{ part: host, start: entryStart(entry), otherwise, unreadable: problem && `${file}: ${problem}` }];
	});
	const others = [...servers, ...(await hookStarts())];
	const found = await Promise.all(
		others.map(async ({ part, start, otherwise, unreadable }) => {
			if (unreadable !== undefined) return { part, unreadable, state: `unreadable, ${unreadable}` };
			if (start === undefined) return { part, state: otherwise };
			const problem = await problemOf(start);
			return { part, problem, state: problem === undefined ? "installed" : `fails (${problem})` };
		}),
	);
	const ofPlugins = await Promise.all(
		plugins.map(async (host) => ({ part: `${host} with our plugin`, state: await wayAtWork(host) })),
	);
	const text = [...found, ...ofPlugins].map(({ part, state }) => `${part}: ${state}`).join(", ");
	if (found.some((one) => one.unreadable !== undefined))
		return {
			name,
			state: "failed",
			found: text,
			advice: "Correct the file at that place: its own program cannot read it either.",
		};
	const broken = found.find(({ problem }) => problem !== undefined)?.part;
	if (broken !== undefined) {
		const [host, kind] = broken.split(" ");
		const advice = `palimpsest ${kind === "hook" ? "hook install" : "install"} ${host} adds a command that starts.`;
		return { name, state: "failed", found: text, advice };
	}
	const twice = plugins.find((host) =>
		found.some(({ part, state }) => part.split(" ")[0] === host && state.startsWith("installed")),
	);
	if (twice !== undefined) {
		const advice = `${twice} has our plugin and a second entry of ours: palimpsest uninstall ${twice}, or palimpsest hook uninstall ${twice}, removes that entry.`;
		return { name, state: "warning", found: text, advice };
	}
	const isReached = present.some(({ servers }) => servers.some(({ kind }) => kind === "gateway"));
	if (plugins.length > 0 || isReached || found.some(({ state }) => state.startsWith("installed")))
		return { name, state: "ok", found: text || "the gateway alone" };
	const advice = `palimpsest install ${present[0]?.host ?? "HOST"} adds the server; palimpsest install lists the hosts.`;
	return { name, state: "warning", found: text || "no host configuration was found", advice };
}

/** Most hosts have the same entry. */
function oncePerStart() {
	const problems = new Map<string, Promise<string | undefined>>();
	return (start: EnteredStart) => {
		const key = JSON.stringify(start);
		const problem = problems.get(key) ?? startProblem(start);
		problems.set(key, problem);
		return problem;
	};
}

interface EnteredPart {
	readonly part: string;
	readonly start: EnteredStart | undefined;
	readonly otherwise: string;
	/** The file and what is wrong in it. */
	readonly unreadable?: string | undefined;
}

/** The hosts that have installed our plugin themselves. */
async function installedPlugins(): Promise<readonly string[]> {
	const where = { platform: process.platform, environment: process.env, homeFolder: homedir() };
	const found = ownPluginHosts.map(async (host) => ((await hasOwnPlugin(host, where)) ? [host.name] : []));
	return (await Promise.all(found)).flat();
}

const mostSettingsBytes = 10_000_000;

/** Hooks and plugins, in the files of the user. */
async function hookStarts(): Promise<readonly EnteredPart[]> {
	const parts = hookHosts.map(async (host): Promise<readonly EnteredPart[]> => {
		const target = hookTarget(host, { isForProject: false, mostChars: usualHookChars });
		const bytes = await readRegularFile(target.file, mostSettingsBytes).catch(() => "");
		const text = bytes.toString().replace(/^\uFEFF/, "");
		const otherwise = "installed, not started";
		const { name } = host;
		if (host.kind === "plugin") {
			const file = pluginModule(text);
			return file === undefined ? [] : [{ part: `${name} plugin`, start: { kind: "module", file }, otherwise }];
		}
		try {
			const lines = enteredHooks(text, target);
			return lines.map((line) => ({ part: `${name} hook`, start: { kind: "hook", line }, otherwise }));
		} catch (error) {
			const unreadable = `${target.file}: ${settingsProblem(error as Error)}`;
			return [{ part: `${name} hook`, start: undefined, otherwise, unreadable }];
		}
	});
	return (await Promise.all(parts)).flat();
}

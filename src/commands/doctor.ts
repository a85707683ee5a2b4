import { once } from "node:events";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { type ArchiveLocation, openArchiveOfPolicy } from "../archive/open.ts";
import { archiveLocation } from "../config/archive.ts";
import { PalimpsestError } from "../errors.ts";
import { type HostSurroundings, hosts } from "../hosts/hosts.ts";
import { hostStates } from "../hosts/install.ts";
import { parseAddress } from "../mcp/http/address.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { describePolicy } from "../policy/reference.ts";
import type { Policy } from "../policy/schema.ts";
import { loadCounter } from "../tokens/counter.ts";
import { version } from "../version.ts";
import { type ArchiveCommandOptions, type CommonOptions, configOf, printJson, show } from "./input-output.ts";

/** The options of `palimpsest doctor`. */
export interface DoctorOptions extends CommonOptions, ArchiveCommandOptions {
	readonly json?: boolean;
	/** `HOST:PORT` that `serve --http` is to have. */
	readonly http?: string;
}

/** `palimpsest doctor`: looks at everything that has to work, and says what to do about what does not. */
export async function doctor(options: DoctorOptions): Promise<void> {
	const ofPolicy = await checkPolicy(options);
	const { platform, env: environment } = process;
	const findings: readonly Finding[] = [
		checkNode(process.versions.node),
		ofPolicy.finding,
		await checkLocation(options, ofPolicy.policy),
		await checkTokenizer(),
		await checkPort(options.http ?? true),
		await checkHosts({ platform, environment, homeFolder: homedir() }),
	];
	if (options.json) printJson({ version, findings }, 2);
	else show(findings.map(lineOf).join(""));
	if (findings.some(({ state }) => state === "failed")) process.exitCode = 1;
}

async function checkPolicy(options: DoctorOptions): Promise<{ finding: Finding; policy: Policy }> {
	try {
		const { policy, file } = await configOf(options);
		const found = `${file?.path ?? "no file, so the defaults and the environment"}: ${describePolicy(policy)}`;
		return { policy, finding: { name: "policy", state: "ok", found } };
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		const advice = "palimpsest policy check lists every field that cannot be used.";
		const finding = { name: "policy", state: "failed", found: error.message, advice } as const;
		return { policy: resolvePolicy([]), finding };
	}
}

async function checkLocation(options: DoctorOptions, policy: Policy): Promise<Finding> {
	try {
		return await checkArchive(archiveLocation({ ...options, environment: process.env }), policy);
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		return { name: "archive", state: "failed", found: error.message, advice: "Mend --archive or PALIMPSEST_ARCHIVE." };
	}
}

async function checkTokenizer(): Promise<Finding> {
	const name = "tokenizer";
	try {
		const tokens = (await loadCounter("o200k_base"))("Palimpsest");
		if (tokens > 0) return { name, state: "ok", found: `o200k_base counts: "Palimpsest" is ${tokens} tokens` };
	} catch {
		// Whatever it is, the package's files are not as they were packed.
	}
	return { name, state: "failed", found: "o200k_base cannot be read", advice: "Install palimpsest-mcp again." };
}

const marks = { ok: "ok     ", warning: "warning", failed: "FAILED " } as const;

function lineOf({ name, state, found, advice }: Finding): string {
	const indent = " ".repeat(20);
	const lines = [found, ...(advice ? [advice] : [])].join("\n").split("\n");
	return `${marks[state]}  ${name.padEnd(9)}  ${lines.join(`\n${indent}`)}\n`;
}

const name = "archive";

const probe = { text: "Written by palimpsest doctor, and thrown away again.", kind: "result" } as const;

/** Whether the archive takes an original and gives it back: tried in a namespace of its own, which is emptied again. */
export async function checkArchive(location: ArchiveLocation, policy: Policy): Promise<Finding> {
	try {
		const archive = await openArchiveOfPolicy({ ...location, namespace: `doctor-${process.pid}` }, policy);
		if (!archive) {
			const advice = "Leave out --archive none, and PALIMPSEST_ARCHIVE, to be able to recall what was masked.";
			return { name, state: "warning", found: "none: nothing is kept, so nothing can be recalled", advice };
		}
		try {
			const [ref] = await archive.put([probe]);
			const { text } = await archive.get(ref ?? "");
			await archive.clear();
			const found = `${archive.location}: written and read`;
			if (text === probe.text) return { name, state: "ok", found };
			return { name, state: "failed", found, advice: "What was read is not what was written: look at the disk." };
		} finally {
			await archive.close();
		}
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		return { name, state: "failed", found: error.message };
	}
}

/** Which hosts are on this machine, and which of them know the server. */
export async function checkHosts(where: HostSurroundings): Promise<Finding> {
	const states = await Promise.all(
		hosts.map(async (host) => (await hostStates(host, where)).map(({ state }) => ({ host: host.name, state }))),
	);
	const present = states.flat().filter(({ state }) => state !== "no file");
	const found = present.map(({ host, state }) => `${host}: ${state}`).join(", ");
	if (present.some(({ state }) => state === "installed")) return { name: "hosts", state: "ok", found };
	const [first] = present;
	return {
		name: "hosts",
		state: "warning",
		found: found || "no configuration of a host was found",
		advice: `palimpsest install ${first?.host ?? "HOST"} enters the server; palimpsest install lists the hosts.`,
	};
}

/** The oldest major version of Node.js that the package says it runs on. */
const oldest = 20;

/** Whether this Node.js is one that the package runs on. */
export function checkNode(version: string): Finding {
	const found = `Node.js ${version}`;
	if (Number.parseInt(version, 10) >= oldest) return { name: "node", state: "ok", found };
	return { name: "node", state: "failed", found, advice: `Install Node.js ${oldest} or later.` };
}

/** Whether the address of `palimpsest serve --http` is free. */
export async function checkPort(address: string | true): Promise<Finding> {
	const { host, port } = parseAddress(address);
	const place = `${host}:${port}`;
	const server = createServer();
	try {
		server.listen({ host, port, exclusive: true });
		await once(server, "listening");
		return { name: "port", state: "ok", found: `${place} is free` };
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		const another = "palimpsest serve --http :PORT";
		if (code === "EADDRINUSE") {
			const advice = `It may be a server of ours that runs already; else choose another: ${another}.`;
			return { name: "port", state: "warning", found: `${place} is taken`, advice };
		}
		const advice = `Choose an address of this machine, and a port that its user may open: ${another}.`;
		return { name: "port", state: "warning", found: `${place} cannot be listened at: ${code}`, advice };
	} finally {
		server.close();
	}
}

/** What was found out about one thing that has to work. */
export interface Finding {
	/** What was looked at, such as `archive`. */
	readonly name: string;
	readonly state: "ok" | "warning" | "failed";
	/** In a sentence. */
	readonly found: string;
	/** What to do about it; absent where nothing has to be done. */
	readonly advice?: string;
}

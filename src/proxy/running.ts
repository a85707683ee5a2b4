import { readFile, unlink } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { hostname } from "node:os";
import path from "node:path";
import { text as textOf } from "node:stream/consumers";
import { isJsonObject } from "../conversation/json.ts";
import { inFolder, namesIn, putFile } from "../files/disk.ts";
import { stateFolder } from "../files/state-folder.ts";

// The list of running proxies: a file for each of them in the user's folder for state.

/** A proxy that runs on this machine. */
export interface RunningProxy {
	/** Such as http://127.0.0.1:8787. */
	readonly address: string;
	readonly pid: number;
	/** The program that `launch` has started behind it, by the name that `launch` takes. */
	readonly program?: string;
	/** In ms since 1970. */
	readonly started: number;
}

/**
 * Lists a proxy of this process that listens at `address`. It may stay listed after a crash: `listRunning` asks each proxy.
 * Rejects with the error of the file system.
 */
export async function addRunning(
	{ address, program }: Pick<RunningProxy, "address" | "program">,
	folder = runningFolder(),
): Promise<void> {
	const started = Date.now();
	const entry = {
		address,
		pid: process.pid,
		...(program === undefined ? {} : { program }),
		started,
		machine: hostname(),
	};
	const pieces = [Buffer.from(`${JSON.stringify(entry)}\n`)];
	await inFolder(folder, () => putFile({ file: fileOf(address, folder), pieces, at: started, sync: false }));
}

/** Takes a proxy of this process from the list. */
export async function removeRunning(address: string, folder = runningFolder()): Promise<void> {
	await unlink(fileOf(address, folder)).catch(() => {});
}

/** The proxies of this user on this machine that answer, the latest first. Entries of proxies that have ended are deleted. */
export async function listRunning(folder = runningFolder()): Promise<readonly RunningProxy[]> {
	const names = await namesIn(folder).catch(() => []);
	const files = names.filter((name) => name.endsWith(ending)).map((name) => path.join(folder, name));
	const found = await Promise.all(files.map(runningIn));
	return found.flat().sort((a, b) => b.started - a.started);
}

const ending = ".json";

function runningFolder(): string {
	return path.join(stateFolder(), "running");
}

/** A name of its own, so that no proxy deletes the entry of a later one. Machines may share a home. */
function fileOf(address: string, folder: string): string {
	const machine = hostname().replace(/[^\w.-]/g, "_");
	return path.join(folder, `${machine}-${process.pid}-${new URL(address).port}${ending}`);
}

type Entry = RunningProxy & { readonly machine: string };

async function runningIn(file: string): Promise<RunningProxy[]> {
	const entry = await entryIn(file);
	if (!entry || entry.machine !== hostname()) return [];
	const { machine: _, ...running } = entry;
	const state = isAlive(entry.pid) ? await stateOf(entry) : "ended";
	if (state === "running") return [running];
	if (state === "ended") await unlink(file).catch(() => {});
	return [];
}

async function entryIn(file: string): Promise<Entry | undefined> {
	try {
		const entry: unknown = JSON.parse(await readFile(file, "utf8"));
		return isEntry(entry) ? entry : undefined;
	} catch {
		return undefined;
	}
}

function isEntry(value: unknown): value is Entry {
	if (!isJsonObject(value)) return false;
	const { address, pid, program, started, machine } = value;
	return (
		typeof address === "string" &&
		/^http:\/\/(?:127(?:\.\d{1,3}){3}|localhost|\[::1\]):\d+$/.test(address) &&
		Number.isSafeInteger(pid) &&
		(pid as number) > 0 &&
		(program === undefined || typeof program === "string") &&
		Number.isFinite(started) &&
		typeof machine === "string"
	);
}

function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		// A process of another user.
		return (error as NodeJS.ErrnoException).code === "EPERM";
	}
}

/** The time that a proxy on this machine may take to answer; it may be busy, or suspended. */
const longestProbeMs = 1_000;

/** Another process may have the id by now, and another server the port. */
async function stateOf({ address, pid }: RunningProxy): Promise<"running" | "ended" | "silent"> {
	const signal = AbortSignal.timeout(longestProbeMs);
	try {
		const answer: unknown = JSON.parse(await textFrom(`${address}/palimpsest/healthz`, signal));
		return isJsonObject(answer) && answer.status === "ok" && answer.pid === pid ? "running" : "ended";
	} catch {
		return signal.aborted ? "silent" : "ended";
	}
}

/** The text at an address on loopback; not by `fetch`, which refuses some ports. Rejects without an answer of the status 200. */
export async function textFrom(url: string, signal?: AbortSignal): Promise<string> {
	const response = await new Promise<IncomingMessage>((resolve, reject) => {
		request(url, { agent: false, ...(signal ? { signal } : {}) }, resolve)
			.on("error", reject)
			.end();
	});
	const answer = await textOf(response);
	if (response.statusCode !== 200) throw new Error(`The answer has the status ${response.statusCode}.`);
	return answer;
}

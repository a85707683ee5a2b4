import { randomBytes } from "node:crypto";
import { readFile, unlink } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { hostname } from "node:os";
import path from "node:path";
import { isJsonObject } from "../engine/conversation/json.ts";
import { inFolder, namesIn, putFile } from "../storage/files/disk.ts";
import { stateFolder } from "../storage/files/state-folder.ts";
import { isSame, type ProxyKeys, proofOf } from "./keys.ts";

// The list of running proxies: a file for each of them in the user's folder for state, which this user alone can read.

/** A proxy that runs on this machine. */
export interface RunningProxy {
	/** Such as http://127.0.0.1:8787. */
	readonly address: string;
	readonly pid: number;
	readonly keys: ProxyKeys;
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
	{ address, program, keys }: Pick<RunningProxy, "address" | "program" | "keys">,
	folder = runningFolder(),
): Promise<void> {
	const started = Date.now();
	const entry = {
		address,
		pid: process.pid,
		keys,
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

/**
 * The proxies of this user on this machine that answer and prove that they are in the list, the latest first. Entries of proxies
 * that have ended are deleted.
 */
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
	const { address, pid, keys, program, started, machine } = value;
	return (
		typeof address === "string" &&
		/^http:\/\/(?:127(?:\.\d{1,3}){3}|localhost|\[::1\]):\d+$/.test(address) &&
		Number.isSafeInteger(pid) &&
		(pid as number) > 0 &&
		isJsonObject(keys) &&
		typeof keys.page === "string" &&
		typeof keys.secret === "string" &&
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

const mostHealthBytes = 10_000;

/** Another process may have the id by now, and another server the port. */
async function stateOf({ address, pid, keys }: RunningProxy): Promise<"running" | "ended" | "silent"> {
	const signal = AbortSignal.timeout(longestProbeMs);
	const challenge = randomBytes(16).toString("hex");
	try {
		const path = `healthz?challenge=${challenge}`;
		const answer: unknown = JSON.parse(await textFrom(address, path, { signal, mostBytes: mostHealthBytes }));
		const isOurs = isJsonObject(answer) && answer.status === "ok" && answer.pid === pid;
		return isOurs && isSame(String(answer.proof), proofOf(keys, challenge)) ? "running" : "ended";
	} catch {
		return signal.aborted ? "silent" : "ended";
	}
}

/** For a status of many conversations, and a proxy that is busy. */
const [mostStatusBytes, longestStatusMs] = [64 * 1024 * 1024, 10_000];

/** The status of a listed proxy, as JSON text. Rejects if it has ended. */
export function statusTextOf({ address, keys }: RunningProxy): Promise<string> {
	const signal = AbortSignal.timeout(longestStatusMs);
	return textFrom(address, "status", { signal, mostBytes: mostStatusBytes, key: keys.page });
}

/** A text of a proxy on loopback; not by `fetch`, which refuses some ports. Rejects without an answer of the status 200. */
async function textFrom(
	address: string,
	path: string,
	limits: { readonly signal: AbortSignal; readonly mostBytes: number; readonly key?: string },
): Promise<string> {
	const { signal, mostBytes, key } = limits;
	const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` };
	const response = await new Promise<IncomingMessage>((resolve, reject) => {
		request(`${address}/palimpsest/${path}`, { agent: false, signal, headers }, resolve).on("error", reject).end();
	});
	const pieces: Buffer[] = [];
	let bytes = 0;
	// Leaving the loop early closes the connection.
	for await (const piece of response as AsyncIterable<Buffer>) {
		pieces.push(piece);
		bytes += piece.length;
		if (bytes > mostBytes) throw new Error(`The answer has more than ${mostBytes} bytes.`);
	}
	if (response.statusCode !== 200) throw new Error(`The answer has the status ${response.statusCode}.`);
	return Buffer.concat(pieces).toString("utf8");
}

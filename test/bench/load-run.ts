import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { builtUrl } from "./import-built.ts";
import { judgeAnswer, type LoadOutcome } from "./load-answer.ts";
import type { LoadCall } from "./load-calls.ts";
import { openLoadClient } from "./load-client.ts";
import { type MemorySample, watchMemory } from "./load-memory.ts";

/** A load on one server. */
export interface LoadOptions {
	readonly server: "palimpsest" | "echo";
	/** Each client goes through them in turns; where they begin is spread evenly, so that sizes are mixed at any time. */
	readonly calls: readonly LoadCall[];
	readonly clients: number;
	/** Calls of each client, one behind the other. */
	readonly callsOfClient: number;
}

/** What came of it. */
export interface LoadFigures {
	readonly seconds: number;
	/** Seconds of a processor that the server took, where the system tells. */
	readonly processor: number | undefined;
	/** Bytes of the requests. */
	readonly bytes: number;
	readonly outcomes: Readonly<Record<LoadOutcome, number>>;
	/** Each in ms. */
	readonly pings: readonly number[];
	readonly memory: readonly MemorySample[];
}

const serve = ["serve", "--http", "127.0.0.1:0", "--archive", "none", "--max-message-bytes", "64000000"];
const commands = {
	palimpsest: [fileURLToPath(builtUrl("cli.ts")), ...serve],
	echo: [fileURLToPath(new URL("load-echo-server.js", import.meta.url))],
};
const pingerScript = fileURLToPath(new URL("load-pinger.js", import.meta.url));

/** A server in a process of its own. */
export interface LoadServer {
	readonly url: string;
	readonly pid: number | undefined;
	end(): Promise<void>;
}

/** Starts a server in an empty folder, which goes when it ends; with a file of another build, the server of that one. */
export async function startServer(which: LoadOptions["server"], build?: string): Promise<LoadServer> {
	const folder = mkdtempSync(join(tmpdir(), "palimpsest-bench-"));
	const command = build === undefined ? commands[which] : [resolve(build), ...serve];
	const server = spawn(process.execPath, command, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
	const url = await addressOf(server);
	return {
		url,
		pid: server.pid,
		async end() {
			server.kill("SIGTERM");
			await once(server, "close");
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

/** A process that asks a server again and again. */
export interface Pinger {
	/** How long each answer took since the last time that this was asked, in ms. */
	times(): Promise<number[]>;
	end(): void;
}

/** Starts to ping a server, or to get the path that is given; by default with a pause of 5 ms. */
export function startPinger(
	url: string,
	{ path, pauseMs = 5 }: { readonly path?: string | undefined; readonly pauseMs?: number } = {},
): Pinger {
	const pinger = fork(pingerScript, [url, `${pauseMs}`, ...(path === undefined ? [] : [path])]);
	return {
		async times() {
			const told = once(pinger, "message");
			pinger.send("how long?");
			const [times] = await told;
			return times as number[];
		},
		end: () => pinger.disconnect(),
	};
}

/** Starts a server, and calls it from many clients at once. */
export async function runLoad({ server: which, calls, clients, callsOfClient }: LoadOptions): Promise<LoadFigures> {
	const server = await startServer(which);
	const { url } = server;
	const opened = await Promise.all(Array.from({ length: clients }, () => openLoadClient(url)));
	const pinger = startPinger(url);
	const callAt = (client: number, turn: number): LoadCall => {
		const call = calls[(Math.floor((client * calls.length) / clients) + turn) % calls.length];
		if (call === undefined) throw new Error("Expected at least one call.");
		return call;
	};
	// Every client's first call is not counted: it is the one in which servers load what they need.
	await Promise.all(opened.map((client, index) => client.post(callAt(index, 0).body)));
	await pinger.times();
	const outcomes = { right: 0, wrong: 0, error: 0, busy: 0 };
	let [bytes, done] = [0, 0];
	const memory = watchMemory(server.pid, () => done);
	const began = performance.now();
	await Promise.all(
		opened.map(async (client, index) => {
			for (let turn = 0; turn < callsOfClient; turn++) {
				const { body, answer } = callAt(index, turn);
				bytes += body.byteLength;
				// A connection that breaks is an error like any other, and no end of the run.
				const response = await client.post(body).catch(() => undefined);
				outcomes[response === undefined ? "error" : judgeAnswer(response, answer)] += 1;
				done += 1;
			}
		}),
	);
	const seconds = (performance.now() - began) / 1_000;
	const samples = memory.end();
	const processor = processorSeconds(server.pid);
	const pings = await pinger.times();
	pinger.end();
	for (const client of opened) client.close();
	await server.end();
	return { seconds, processor, bytes, outcomes, pings, memory: samples };
}

/** Linux tells it in hundredths of a second, user and system apart. */
export function processorSeconds(process: number | undefined): number | undefined {
	try {
		const fields = readFileSync(`/proc/${process}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
		return (Number(fields[11]) + Number(fields[12])) / 100;
	} catch {
		return undefined;
	}
}

function addressOf(server: ChildProcess): Promise<string> {
	let said = "";
	return new Promise((resolve, reject) => {
		server.stderr?.on("data", (chunk: Buffer) => {
			said += String(chunk);
			const [url] = /http:\/\/[^\s/]+(?=\/mcp)/.exec(said) ?? [];
			if (url !== undefined) resolve(url);
		});
		server.once("close", () => reject(new Error(`The server ended: ${said}`)));
	});
}

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { projectFolder } from "./project-folder.ts";

/** A proxy in a process of its own. */
export interface ProxyProcess {
	readonly id: number | undefined;
	/** Such as http://127.0.0.1:40123. */
	readonly address: string;
	/** Resolves when it has answered at once three times in a row, at the earliest after a pause. */
	readonly idle: () => Promise<void>;
}

/** The built command in front of an upstream for all APIs, with the preset `balanced` and an archive of files of its own. */
export async function withProxy<T>(
	upstream: string,
	work: (proxy: ProxyProcess) => Promise<T>,
	command = `${projectFolder}/dist/cli.js`,
): Promise<T> {
	const folder = await mkdtemp(join(tmpdir(), "palimpsest-bench-"));
	const upstreams = ["anthropic", "openai", "gemini"].map((api) => `${api}=${upstream}`).join(",");
	const parameters = ["proxy", "--port", "0", "--archive", `${folder}/archive`, "--upstream", upstreams];
	try {
		return await withProcess([command, ...parameters], folder, work);
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

/** A proxy that only copies the request and the answer. */
export function withCopyingProxy<T>(upstream: string, work: (proxy: ProxyProcess) => Promise<T>): Promise<T> {
	const file = fileURLToPath(new URL("copying-proxy.js", import.meta.url));
	return withProcess([file, upstream], tmpdir(), work);
}

async function withProcess<T>(
	command: readonly string[],
	folder: string,
	work: (proxy: ProxyProcess) => Promise<T>,
): Promise<T> {
	const child = spawn(process.execPath, command, {
		cwd: folder,
		env: { PATH: process.env.PATH, HOME: folder },
		stdio: ["ignore", "ignore", "pipe"],
	});
	try {
		const address = await addressIn(child);
		return await work({ id: child.pid, address, idle: () => idle(address) });
	} finally {
		if (child.exitCode === null && child.signalCode === null) {
			child.kill();
			await once(child, "exit");
		}
	}
}

function addressIn(child: ChildProcess): Promise<string> {
	return new Promise((resolve, reject) => {
		let text = "";
		child.once("exit", () => reject(new Error(`The proxy ended before it listened: ${text}`)));
		child.stderr?.on("data", (piece: Buffer) => {
			text += piece;
			const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
			if (address !== undefined) resolve(address);
		});
	});
}

/** An agent takes longer between two requests. */
export const pauseMs = 150;
const [atOnceMs, longestWaitMs] = [5, 10_000];

async function idle(address: string): Promise<void> {
	await setTimeout(pauseMs);
	const end = performance.now() + longestWaitMs;
	for (let quick = 0; quick < 3 && performance.now() < end; ) {
		const { whole } = await timeOf(address, { method: "GET", path: "/palimpsest/healthz" });
		quick = whole <= atOnceMs ? quick + 1 : 0;
		await setTimeout(5);
	}
}

export interface TimedAnswer {
	readonly status: number;
	/** Milliseconds from the call on. */
	readonly firstByte: number;
	readonly whole: number;
}

/** Sends a request and reads the answer to its end. */
export function timeOf(
	base: string,
	asked: {
		readonly path: string;
		readonly method?: string;
		readonly body?: string | Uint8Array;
		readonly headers?: Readonly<Record<string, string>>;
	},
): Promise<TimedAnswer> {
	const { path, method = "POST", body, headers } = asked;
	return new Promise((resolve, reject) => {
		const start = performance.now();
		let firstByte = 0;
		const request = sendRequest(base + path, { method, headers: { "content-type": "application/json", ...headers } });
		request.on("error", reject);
		request.on("response", (response) => {
			response.once("data", () => {
				firstByte = performance.now() - start;
			});
			response.resume();
			response.on("error", reject);
			response.on("end", () => {
				resolve({ status: response.statusCode ?? 0, firstByte, whole: performance.now() - start });
			});
		});
		request.end(body);
	});
}

/** A server that answers at once; `take` sees the bodies that arrive there. */
export async function withUpstream<T>(
	work: (address: string) => Promise<T>,
	take: (body: Buffer, request: IncomingMessage) => void = () => {},
): Promise<T> {
	const server = createServer((request, response) => {
		const pieces: Buffer[] = [];
		request.on("data", (piece: Buffer) => pieces.push(piece));
		request.on("end", () => {
			take(Buffer.concat(pieces), request);
			response.writeHead(200, { "Content-Type": "text/event-stream" });
			response.end('event: message_stop\ndata: {"type":"message_stop"}\n\n');
		});
	});
	// On a busy machine a connection is used again after a long time.
	Object.assign(server, { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 });
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	try {
		return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
	} finally {
		server.closeAllConnections();
		server.close();
	}
}

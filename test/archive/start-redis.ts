import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@redis/client";
import { afterAll } from "vitest";
import { scratchFolder } from "../support/scratch-folder.ts";

/** Whether Redis can be started here; in CI it has to. */
export const hasRedis = process.env.CI !== undefined || spawnSync("redis-server", ["--version"]).status === 0;

if (!hasRedis) process.stderr.write("Skipped: redis-server is not installed (Debian: apt-get install redis-server).\n");

const running = new Set<ChildProcess>();
afterAll(() => {
	for (const child of running) child.kill("SIGKILL");
});

/** A Redis of the test's own: nothing on the disk but what `extra` asks for. */
export interface OwnRedis {
	readonly url: string;
	readonly start: () => Promise<void>;
	readonly kill: () => Promise<void>;
	/** Stops it from answering without closing its connections. */
	readonly freeze: (frozen: boolean) => void;
}

export async function startRedis(extra: readonly string[] = []): Promise<OwnRedis> {
	const [folder, port] = [await scratchFolder(), await freePort()];
	const url = `redis://127.0.0.1:${port}`;
	let child: ChildProcess | undefined;
	const own: OwnRedis = {
		url,
		async start() {
			const given = ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, "--save", "", ...extra];
			child = spawn("redis-server", given, { stdio: "ignore" });
			running.add(child);
			await untilReady(url);
		},
		async kill() {
			if (child === undefined) return;
			running.delete(child);
			child.kill("SIGKILL");
			if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
		},
		freeze: (frozen) => {
			child?.kill(frozen ? "SIGSTOP" : "SIGCONT");
		},
	};
	await own.start();
	return own;
}

async function untilReady(url: string): Promise<void> {
	for (let attempt = 0; attempt < 200; attempt += 1) {
		const client = createClient({ url, socket: { reconnectStrategy: false } });
		client.on("error", () => {});
		try {
			await client.connect();
			await client.ping();
			return;
		} catch {
			await pause(25);
		} finally {
			client.destroy();
		}
	}
	throw new Error("redis-server does not answer");
}

async function freePort(): Promise<number> {
	const server = createServer().listen(0, "127.0.0.1");
	await once(server, "listening");
	const address = server.address();
	server.close();
	if (address === null || typeof address === "string") throw new Error("no port");
	return address.port;
}

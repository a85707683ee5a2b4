import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@redis/client";
import { freePort } from "../../load/free-port.ts";
import { atEnd } from "../../support/at-end.ts";
import { patience } from "../../support/patience.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

/** Whether Redis can be started here; in CI it has to. */
export const hasRedis = process.env.CI !== undefined || spawnSync("redis-server", ["--version"]).status === 0;

if (!hasRedis) process.stderr.write("Skipped: redis-server is not installed (Debian: apt-get install redis-server).\n");

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
			await untilReady(url, child);
		},
		async kill() {
			if (child === undefined) return;
			child.kill("SIGKILL");
			if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
		},
		freeze: (frozen) => {
			child?.kill(frozen ? "SIGSTOP" : "SIGCONT");
		},
	};
	atEnd("file", () => child?.kill("SIGKILL"));
	await own.start();
	return own;
}

const clients = new Map<string, ReturnType<typeof connect>>();

/**
 * Sends commands as they are, for what an archive has no function for. Over one connection for each Redis: the package makes all
 * its commands anew where a client differs from the last one, ours and that of an archive in turn.
 */
export async function connectRedis({ url }: { readonly url: string }) {
	const connecting = clients.get(url) ?? connect(url);
	clients.set(url, connecting);
	const client = await connecting;
	return {
		send: (commands: readonly (readonly string[])[]) =>
			Promise.all(commands.map((command) => client.sendCommand([...command]))),
	};
}

async function connect(url: string) {
	const client = createClient({ url, RESP: 2 });
	// A test may kill its Redis, and the end of a file does.
	client.on("error", () => clients.delete(url));
	atEnd("file", () => {
		clients.delete(url);
		client.destroy();
	});
	await client.connect();
	return client;
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
	const end = performance.now() + patience.timeout;
	while (performance.now() < end && child.exitCode === null) {
		const client = createClient({ url, socket: { reconnectStrategy: false } });
		client.on("error", () => {});
		try {
			await client.connect();
			const about = await client.info("server");
			if (about.includes(`\nprocess_id:${child.pid}\r`)) return;
			throw new Error("another Redis");
		} catch {
			await pause(25);
		} finally {
			client.destroy();
		}
	}
	throw new Error("redis-server does not answer");
}

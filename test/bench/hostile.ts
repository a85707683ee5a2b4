import { connect } from "node:net";
import { hostileConversations } from "./hostile-conversations.ts";
import { hostileGateway } from "./hostile-gateway.ts";
import { hostileProxy } from "./hostile-proxy.ts";
import { hostileServe } from "./hostile-serve.ts";
import { openLoadClient } from "./load-client.ts";
import { startPinger, startServer } from "./load-run.ts";
import { atMost, duration, progress, type Section, short } from "./section.ts";
import { quantile } from "./statistics.ts";

const seconds = 10;

/** A request that no tool needs, and that the schemas of the protocol would check key by key. */
export interface HostileRequest {
	readonly name: string;
	readonly body: Uint8Array;
}

/** One whose body comes in chunks of a byte, each of which costs the server as much as one of 64 kB. */
interface InTinyChunks extends HostileRequest {
	readonly inTinyChunks?: true;
}

/** What one kind of request did to everybody else, each time in ms. */
interface HostileFigures {
	readonly name: string;
	readonly megabytes: number;
	readonly requests: number;
	readonly refused: number;
	readonly pings: readonly number[];
	readonly health: readonly number[];
}

const keys = (count: number): string => Array.from({ length: count }, (_, index) => `"k${index}":0`).join(",");

/** The attacks, after a request like any other. */
export function hostileRequests(): HostileRequest[] {
	const message = (method: string, params: string) =>
		Buffer.from(`{"jsonrpc":"2.0","id":7,"method":"${method}","params":{${params}}}`);
	const call = (more: string) => message("tools/call", `"name":"truncate_output","arguments":{"text":"x"},${more}`);
	return [
		{ name: "ping as any other, for comparison", body: message("ping", "") },
		{ name: "ping, 200 000 keys in params", body: message("ping", keys(200_000)) },
		{ name: "tools/call, 1.3 million keys in _meta", body: call(`"_meta":{${keys(1_300_000)}}`) },
		{ name: "ping, 20 000 keys in params", body: message("ping", keys(20_000)) },
	];
}

/** How long others wait while one client sends messages of many keys outside of a call's arguments, or tiny chunks. */
export async function hostile(): Promise<Section> {
	const all: HostileFigures[] = [];
	const inTinyChunks = {
		name: "1 MB in chunks of a byte",
		body: Buffer.alloc(1_000_000, " "),
		inTinyChunks: true,
	} as const;
	for (const request of [...hostileRequests(), inTinyChunks]) {
		progress(`hostile: ${request.name}`);
		all.push(await underAttack(request));
	}
	const ofGateway = await hostileGateway();
	const ofServe = await hostileServe();
	const conversations = await hostileConversations();
	const ofProxy = await hostileProxy();
	return {
		title: "One hostile client over HTTP",
		notes: [
			`\`npm run bench -- hostile\`: one client sends these requests one after the other for ${seconds} s, while a second one pings in its own session and a third one requests \`/healthz\`, each from a separate process. The server refuses those of many keys with 413 before any schema reads them, and the one in chunks of a byte with 400 after 64 kB.`,
		],
		tables: [
			{
				columns: ["request", "size", "sent", "refused", "ping p50", "p99", "max", "healthz p99", "max"],
				rows: all.map(({ name, megabytes, requests, refused, pings, health }) => [
					name,
					megabytes < 0.1 ? `${short(megabytes * 1_000)} kB` : `${short(megabytes)} MB`,
					String(requests),
					String(refused),
					...[0.5, 0.99, 1].map((share) => duration(quantile(pings, share))),
					...[0.99, 1].map((share) => duration(quantile(health, share))),
				]),
			},
			...ofGateway.tables,
			...ofServe.tables,
			...conversations.tables,
			...ofProxy.tables,
		],
		targets: [
			// The first row is what the machine does by itself.
			...all
				.slice(1)
				.flatMap(({ name, pings, health }) => [
					atMost(`${name}: ping p99 of another client`, 250, quantile(pings, 0.99), "ms"),
					atMost(`${name}: longest /healthz`, 1, Math.max(...health) / 1_000, "s"),
				]),
			...ofGateway.targets,
			...ofServe.targets,
			...conversations.targets,
			...ofProxy.targets,
		],
	};
}

async function underAttack({ name, body, inTinyChunks }: InTinyChunks): Promise<HostileFigures> {
	const server = await startServer("palimpsest");
	const attacker = await openLoadClient(server.url);
	const [pinger, health] = [startPinger(server.url), startPinger(server.url, { path: "/healthz" })];
	const post = async () => (inTinyChunks ? statusOfChunks(server.url, body) : (await attacker.post(body)).status);
	// The first times are those of processes that load what they need.
	await post();
	await Promise.all([pinger.times(), health.times()]);
	const until = performance.now() + seconds * 1_000;
	const statuses: number[] = [];
	while (performance.now() < until) statuses.push(await post());
	const [pings, answers] = await Promise.all([pinger.times(), health.times()]);
	for (const one of [pinger, health]) one.end();
	attacker.close();
	await server.end();
	const refused = statuses.filter((status) => status >= 400).length;
	return { name, megabytes: body.byteLength / 1e6, requests: statuses.length, refused, pings, health: answers };
}

/** Sends a body in chunks of a byte, and resolves with the status of the answer, which may come before the last of them. */
function statusOfChunks(url: string, body: Uint8Array): Promise<number> {
	const { hostname, port } = new URL(url);
	const head = [
		"POST /mcp HTTP/1.1",
		`Host: ${hostname}`,
		"Content-Type: application/json",
		"Accept: application/json, text/event-stream",
		"Transfer-Encoding: chunked",
	];
	const chunks = Buffer.from(
		Buffer.from(body)
			.toString("latin1")
			.replace(/[\s\S]/g, "1\r\n$&\r\n"),
		"latin1",
	);
	return new Promise((resolve, reject) => {
		const socket = connect(Number(port), hostname);
		socket.on("error", reject);
		socket.on("data", (answer) => {
			socket.destroy();
			resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(String(answer))?.[1]));
		});
		socket.write(`${head.join("\r\n")}\r\n\r\n`);
		socket.write(chunks);
		socket.write("0\r\n\r\n");
	});
}

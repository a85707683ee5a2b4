import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { mask as Mask } from "../../src/index.ts";
import { openaiMessages } from "./conversation-shapes.ts";
import { generateConversation } from "./generate-conversation.ts";
import { builtUrl, importBuilt } from "./import-built.ts";
import { type LoadClient, messageOf, openLoadClient } from "./load-client.ts";
import { atLeast, atMost, duration, progress, type Section, short } from "./section.ts";
import { quantile } from "./statistics.ts";

const clients = 50;
const callsOfClient = Number(process.env.LOAD_CALLS ?? 20);
const megabytes = [0.1, 0.2, 0.4, 1, 2, 5];
const charactersOfMessage = 1500;

/** A call, and what its answer has to hold. */
interface LoadCall {
	readonly body: Uint8Array;
	readonly answer: string;
}

interface Load {
	readonly seconds: number;
	/** Seconds of a processor that the server took, where the system tells. */
	readonly processor: number | undefined;
	readonly bytes: number;
	/** Answers that were not the expected one. */
	readonly wrong: number;
	readonly pings: readonly number[];
}

const scripts = {
	ours: fileURLToPath(builtUrl("cli.ts")),
	echo: fileURLToPath(new URL("load-echo-server.js", import.meta.url)),
	pinger: fileURLToPath(new URL("load-pinger.js", import.meta.url)),
};

/** Many clients over HTTP at once, and how long a ping takes meanwhile. */
export async function load(): Promise<Section> {
	const { mask } = await importBuilt<{ mask: typeof Mask }>("index.ts");
	progress("load: conversations");
	const conversations = Array.from({ length: clients }, (_, index) => conversationOf(index, megabytes[index % 6] ?? 1));
	const calls = (expected: readonly unknown[]): LoadCall[] =>
		conversations.map((messages, index) => ({
			body: messageOf("tools/call", { name: "mask_conversation", arguments: { messages } }),
			answer: JSON.stringify(expected[index]),
		}));
	const masked: unknown[] = [];
	for (const messages of conversations) masked.push((await mask(messages, {})).conversation);

	progress("load: echo");
	const echo = await runLoad(scripts.echo, [], calls(conversations));
	progress("load: palimpsest");
	const serve = ["serve", "--http", "127.0.0.1:0", "--archive", "none", "--max-message-bytes", "64000000"];
	const ours = await runLoad(scripts.ours, serve, calls(masked));
	const single: Load[] = [];
	for (const size of [5, 20]) {
		progress(`load: one client, ${size} MB`);
		const several = [1, 2, 3].map((seed) => conversationOf(seed, size));
		const asked = { context_window: 200_000, respond_with: "report" };
		const guards = several.map((messages) => ({
			body: messageOf("tools/call", { name: "guard_context", arguments: { messages, ...asked } }),
			answer: '"fits":true',
		}));
		single.push(await runLoad(scripts.ours, serve, guards, { atOnce: 1, each: 6 }));
	}
	const [of5, of20] = single;
	const rate = ({ bytes, seconds }: Load) => bytes / 1e6 / seconds;
	const row = (name: string, one: Load) => [
		name,
		duration(one.seconds * 1_000),
		`${short(rate(one))} MB/s`,
		one.processor === undefined ? "" : duration(one.processor * 1_000),
		...[0.5, 0.99, 1].map((share) => duration(quantile(one.pings, share))),
		String(one.wrong),
	];
	return {
		title: "Many clients over HTTP",
		notes: [
			`${clients} clients with sessions, ${callsOfClient} calls each, of ${clients} conversations of ${megabytes[0]} to ${megabytes.at(-1)} MB, against a tool of the bare SDK that gives back what it gets. Pings come from a process of their own.`,
		],
		tables: [
			{
				columns: ["server", "time", "requests", "processor", "ping p50", "p99", "max", "wrong answers"],
				rows: [
					row("echo", echo),
					row("palimpsest", ours),
					...(of5 ? [row("palimpsest, one client, 5 MB", of5)] : []),
					...(of20 ? [row("palimpsest, one client, 20 MB", of20)] : []),
				],
			},
		],
		targets: [
			atLeast("throughput of 50 clients, × bare SDK echo", 0.5, rate(ours) / rate(echo)),
			atMost("wrong answers", 0, ours.wrong, ""),
			...(of5 ? [atMost("ping p99 while 5 MB calls run", 100, quantile(of5.pings, 0.99), "ms")] : []),
			...(of20 ? [atMost("ping p99 while 20 MB calls run", 250, quantile(of20.pings, 0.99), "ms")] : []),
		],
	};
}

function conversationOf(seed: number, size: number) {
	return openaiMessages(generateConversation(seed + 1, Math.ceil((size * 1e6) / charactersOfMessage)));
}

async function runLoad(
	script: string,
	parameters: readonly string[],
	calls: readonly LoadCall[],
	{ atOnce, each } = { atOnce: clients, each: callsOfClient },
): Promise<Load> {
	const folder = mkdtempSync(join(tmpdir(), "palimpsest-bench-"));
	const server = spawn(process.execPath, [script, ...parameters], { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
	const url = await addressOf(server);
	const opened = await Promise.all(Array.from({ length: atOnce }, () => openLoadClient(url)));
	const pinger = fork(scripts.pinger, [url]);
	// Every client's first call is not counted: it is the one in which servers load what they need.
	await Promise.all(opened.map((client, index) => client.post(calls[index % calls.length]?.body ?? Buffer.from("{}"))));
	await pingsOf(pinger);
	const began = performance.now();
	let [bytes, wrong] = [0, 0];
	const run = async (client: LoadClient, first: number): Promise<void> => {
		for (let turn = 0; turn < each; turn++) {
			const call = calls[first % calls.length];
			if (!call) return;
			bytes += call.body.byteLength;
			if (!(await client.post(call.body)).includes(call.answer)) wrong += 1;
		}
	};
	await Promise.all(opened.map(run));
	const seconds = (performance.now() - began) / 1_000;
	const processor = processorSeconds(server.pid);
	const pings = await pingsOf(pinger);
	pinger.disconnect();
	for (const client of opened) client.close();
	server.kill("SIGTERM");
	await once(server, "close");
	rmSync(folder, { recursive: true, force: true });
	return { seconds, processor, bytes, wrong, pings };
}

/** Linux tells it in hundredths of a second, user and system apart. */
function processorSeconds(process: number | undefined): number | undefined {
	try {
		const fields = readFileSync(`/proc/${process}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
		return (Number(fields[11]) + Number(fields[12])) / 100;
	} catch {
		return undefined;
	}
}

async function pingsOf(pinger: ChildProcess): Promise<number[]> {
	const told = once(pinger, "message");
	pinger.send("how long?");
	const [times] = await told;
	return times as number[];
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

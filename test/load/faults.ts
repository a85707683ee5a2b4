import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { callTool, type ToolAnswer } from "./call-tool.ts";
import { freePort } from "./free-port.ts";
import { type OwnProcess, ownProcess } from "./start-process.ts";

/** How a run with faults goes. */
export interface FaultOptions {
	/** The built command. */
	readonly cli: string;
	/** What the run is measured in: by calls it does not mind how busy the machine is. */
	readonly unit: "seconds" | "answered calls";
	/** How long it is, in that unit. */
	readonly length: number;
	/** Servers on one Redis, of which one is killed so often, in turn, in that unit. */
	readonly servers: number;
	readonly killEvery: number;
	/** When Redis is killed and started anew, in that unit from the beginning. */
	readonly redisKills: readonly number[];
	readonly clients: number;
}

/** What came of it. */
export interface FaultFigures {
	/** Calls that were answered in the end, and attempts that failed before. */
	readonly answered: number;
	readonly retried: number;
	/** Calls that nobody answered within a minute after the last fault. */
	readonly lost: number;
	readonly serversKilled: number;
	readonly redisKilled: number;
	/** Placeholders that reached a client, and those whose original could be read back word for word at the end. */
	readonly promised: number;
	readonly recalled: number;
}

/** How long a client goes on to try once nothing is killed any more, in ms. */
const patience = 60_000;
const turns = 8;

/** Runs servers on one Redis under load while they and Redis are killed, and then reads back what they promised. */
export async function runFaults(options: FaultOptions): Promise<FaultFigures> {
	const { cli, unit, length, servers: count, killEvery, redisKills, clients } = options;
	const home = await mkdtemp(join(tmpdir(), "palimpsest-faults-"));
	const redisPort = await freePort();
	// What Redis has taken is on its disk: what it promises outlives its own end.
	const redis = ownProcess({
		command: "redis-server",
		parameters: [
			...["--port", `${redisPort}`, "--bind", "127.0.0.1", "--dir", home, "--save", ""],
			...["--appendonly", "yes", "--appendfsync", "always"],
		],
		isReady: () => pingRedis(redisPort),
	});
	const urls: string[] = [];
	const servers: OwnProcess[] = [];
	for (let index = 0; index < count; index += 1) {
		const url = `http://127.0.0.1:${await freePort()}`;
		urls.push(url);
		const archive = ["--archive", `redis://127.0.0.1:${redisPort}`];
		servers.push(
			ownProcess({
				command: process.execPath,
				parameters: [cli, "serve", "--http", new URL(url).host, "--stateless", ...archive, "--log", "off"],
				environment: { PATH: process.env.PATH, HOME: home, USERPROFILE: home },
				isReady: () => fetch(`${url}/healthz`),
			}),
		);
	}
	const figures = { answered: 0, retried: 0, lost: 0, serversKilled: 0, redisKilled: 0 };
	const promised = new Map<string, string>();
	const retrying = async (tool: string, parameters: Record<string, unknown>): Promise<ToolAnswer | undefined> => {
		while (!isOver || performance.now() - overSince < patience) {
			try {
				const url = urls[Math.floor(Math.random() * count)] ?? "";
				const answer = await callTool({ url, tool, parameters });
				// Without its archive a server takes nothing out, and says so.
				if (!/^\[archive_unavailable\]/.test(answer.content[0]?.text ?? "")) return answer;
			} catch {
				// The next attempt goes to any server.
			}
			figures.retried += 1;
			await pause(100);
		}
		figures.lost += 1;
		return undefined;
	};
	let begun = 0;
	const progress = () => (unit === "seconds" ? (performance.now() - begun) / 1_000 : figures.answered);
	const until = async (at: number): Promise<void> => {
		while (!isOver && progress() < at) await pause(20);
	};
	let [isOver, overSince] = [false, 0];
	const client = async (name: number): Promise<void> => {
		for (let index = 0; !isOver; index += 1) {
			const messages = conversation(`client ${name} call ${index}`);
			const answer = await retrying("mask_conversation", { messages, policy: { mask: { window_turns: 1 } } });
			if (answer?.isError) throw new Error(answer.content[0]?.text);
			if (!answer) continue;
			figures.answered += 1;
			for (const [ref, text] of promisesOf(answer, messages)) promised.set(ref, text);
		}
	};
	const killServers = async (): Promise<void> => {
		for (let kill = 1; kill * killEvery < length; kill += 1) {
			await until(kill * killEvery);
			const server = servers[kill % count];
			await server?.kill();
			figures.serversKilled += 1;
			void server?.start().catch(() => {});
		}
	};
	const killRedis = async (): Promise<void> => {
		for (const at of redisKills) {
			await until(at);
			await redis.kill();
			await pause(500);
			await redis.start();
			figures.redisKilled += 1;
		}
	};
	try {
		await redis.start();
		await Promise.all(servers.map((server) => server.start()));
		begun = performance.now();
		const working = Array.from({ length: clients }, (_, name) => client(name));
		const killing = [killServers(), killRedis()];
		await until(length);
		await Promise.all(killing);
		[isOver, overSince] = [true, performance.now()];
		await Promise.all(working);
		let recalled = 0;
		for (const [ref, text] of promised) {
			overSince = performance.now();
			const answer = await retrying("recall_original", { ref, max_tokens: 10_000 });
			const [block] = answer?.content ?? [];
			if (block?.text?.endsWith(`\n${text}`)) recalled += 1;
		}
		return { ...figures, promised: promised.size, recalled };
	} finally {
		await Promise.all([...servers, redis].map((one) => one.kill()));
		await rm(home, { recursive: true, force: true, maxRetries: 5 });
	}
}

interface Message {
	readonly role: string;
	readonly content: string | null;
	readonly tool_call_id?: string;
	readonly tool_calls?: readonly unknown[];
}

function conversation(name: string): Message[] {
	const messages: Message[] = [{ role: "user", content: "Read it all." }];
	for (let turn = 0; turn < turns; turn += 1) {
		const id = `${name} ${turn}`;
		const call = { id, type: "function", function: { name: "read_file", arguments: "{}" } };
		const lines = Array.from({ length: 30 }, (_, line) => `${id} line ${line}: the quick brown fox`);
		messages.push({ role: "assistant", content: null, tool_calls: [call] });
		messages.push({ role: "tool", tool_call_id: id, content: lines.join("\n") });
	}
	return messages;
}

/** The references of an answer's placeholders, with what stood there. */
function promisesOf({ structuredContent }: ToolAnswer, asked: readonly Message[]): [string, string][] {
	const answered = (structuredContent?.messages ?? []) as readonly Message[];
	return answered.flatMap(({ content }, index): [string, string][] => {
		const [, ref] = /\br[ée]f=([a-z0-9]+)/.exec(content ?? "") ?? [];
		return ref === undefined ? [] : [[ref, asked[index]?.content ?? ""]];
	});
}

function pingRedis(port: number): Promise<void> {
	return new Promise((resolve, reject) => {
		const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
		socket.once("data", (answer) => {
			socket.destroy();
			if (answer.toString().startsWith("+PONG")) resolve();
			else reject(new Error("not ready"));
		});
		socket.once("error", reject);
	});
}

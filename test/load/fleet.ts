import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@redis/client";
import { readConversation } from "../../src/formats/detect.ts";
import { conversationKey } from "../../src/proxy/sending/identity.ts";
import { residentBytes } from "../bench/load-memory.ts";
import { processorSeconds } from "../bench/load-run.ts";
import { createRandom, pick } from "../bench/random.ts";
import { outputOf } from "../proxy/sessions.ts";
import { type Block, type Said, type Seen, startFleetProvider } from "./fleet-provider.ts";
import { freePort } from "./free-port.ts";
import { type OwnProcess, ownProcess } from "./start-process.ts";

export interface FleetOptions {
	/** The built command; several for a fleet of several versions. */
	readonly cli: readonly string[];
	readonly instances: number;
	/** Where originals and states are kept. */
	readonly archive: "redis" | "files";
	readonly conversations: number;
	readonly turns: number;
	/** The turn of the first request that comes through the fleet: those before it went to the provider. */
	readonly from: number;
	/** Characters of a result; one in six has ten times as many and is cut. */
	readonly chars: number;
	/** Conversations that go on at once. */
	readonly atOnce: number;
	readonly seed: number;
	/** Where each request comes: to an instance chosen by chance, to the same one for each conversation, or to all at the same moment. */
	readonly spread: "by_chance" | "kept" | "race";
	/** Settings of the policy. */
	readonly set: readonly string[];
	/** Kills instances and Redis, pauses it for 10 s, and lets it run full. `instances_while_away`: instances also while Redis is paused. */
	readonly faults: "none" | "all" | "instances_while_away";
}

export interface FleetFigures extends Omit<Seen, "bodies"> {
	readonly requests: number;
	/** Requests that the client never got an answer to, and those that it sent again after its connection broke. */
	readonly failed: number;
	readonly retried: number;
	/** Requests that came before the one before them was planned on. */
	readonly hurried: number;
	readonly bodies: Seen["bodies"];
	/** Median time from the client to the provider, and processor time of all instances a request, in ms. */
	readonly medianMs: number;
	readonly processorMs: number;
	/** Bytes of the instances at the end, and of Redis for each conversation, by the kind of key. */
	readonly resident: readonly number[];
	readonly redisBytes: Readonly<Record<string, number>>;
	readonly faults: readonly string[];
	/** Requests without new decisions by reason, since each instance was started last. */
	readonly undecided: readonly unknown[];
}

/** Conversations of agents through a fleet of proxies on this machine. */
export async function runFleet(options: FleetOptions): Promise<FleetFigures> {
	const { archive, conversations, turns, from, chars, atOnce, seed, faults, spread } = options;
	const home = await mkdtemp(join(tmpdir(), "palimpsest-fleet-"));
	const provider = await startFleetProvider({
		// An instance that has its answer has planned on, so a later one would be sent with the next decisions.
		answerAfterMs: spread === "race" ? 500 : 0,
	});
	const redisPort = await freePort();
	const redisUrl = `redis://127.0.0.1:${redisPort}`;
	const redis = ownProcess({
		command: "redis-server",
		parameters: [
			...["--port", `${redisPort}`, "--bind", "127.0.0.1", "--dir", home, "--save", ""],
			// What it promises outlives its own end. Without faults no disk of this machine is to be measured.
			...["--appendonly", options.faults === "none" ? "no" : "yes"],
			...["--enable-debug-command", "local"],
		],
		isReady: async () => {
			const client = createClient({ url: redisUrl, socket: { reconnectStrategy: false } });
			client.on("error", () => {});
			await client.connect();
			await client.ping();
			client.destroy();
		},
	});
	await writeFile(join(home, "key"), pageKey);
	const instances = await startInstances(options, { home, redisUrl, provider: provider.url });
	const client = connectTo(redisUrl);
	const counted = { requests: 0, failed: 0, retried: 0, hurried: 0 };
	const sentAt = new Map<string, number>();
	const times: number[] = [];
	const told: string[] = [];
	let isOver = false;

	const converse = async (conversation: string, among = instances): Promise<void> => {
		const random = createRandom(seed + 7_919 * Number(conversation));
		const history: Said[] = [{ role: "user", content: `Do part ${conversation} of the work.` }];
		let name: string | undefined;
		for (let turn = 1; turn <= turns; turn += 1) {
			const [request, isDirect] = [`${conversation} ${turn}`, turn < from];
			const body = JSON.stringify({ ...requestForm, messages: history });
			const answer = isDirect ? provider.answer(request, body) : await ask(request, body, { random, among });
			counted.requests += isDirect ? 0 : 1;
			if (!answer) {
				counted.failed += 1;
				return;
			}
			const called = answer.find(({ type }) => type === "tool_use") as Block & { readonly id: string };
			const length = random() < 1 / 6 ? 10 * chars : chars;
			const output = outputOf(Number(conversation) * 1_000 + turn, length);
			provider.expect(conversation, called.id, output.length);
			if (archive === "redis" && faults === "none" && history.length > 1 && !isDirect) {
				name ??= conversationKey(readConversation({ messages: history }).transcript);
				if (!(await isTold(name as string, history.length))) counted.hurried += 1;
			} else await pause(isDirect ? 0 : 20);
			history.push({ role: "assistant", content: answer });
			history.push({ role: "user", content: [{ type: "tool_result", tool_use_id: called.id, content: output }] });
		}
	};
	/** Whether the last request is planned on, and other instances can know. */
	const isTold = async (name: string, messages: number): Promise<boolean> => {
		const key = `palimpsest:states:{default}:branches:${name}`;
		for (let attempt = 0; attempt < 300; attempt += 1) {
			const values = await client.hVals(key);
			if (values.some((value) => value.startsWith(`${messages} `))) return true;
			await pause(10);
		}
		return false;
	};
	/** The content of the answer, from any instance that gives one. */
	const ask = async (
		name: string,
		body: string,
		{ random, among }: { readonly random: () => number; readonly among: typeof instances },
	): Promise<readonly Block[] | undefined> => {
		const headers = { "Content-Type": "application/json", "X-Api-Key": "sk-of-the-fleet", "X-Fleet": name };
		for (let attempt = 0; attempt < 300; attempt += 1) {
			const own = among[Number(name.split(" ")[0]) % among.length] as (typeof among)[number];
			const chosen = spread === "race" ? among : [spread === "kept" ? own : pick(random, among)];
			sentAt.set(name, performance.now());
			try {
				const answers = await Promise.all(
					chosen.map(async ({ url }) => {
						const answer = await fetch(`${url}/v1/messages`, { method: "POST", headers, body });
						return { status: answer.status, ...((await answer.json()) as { content?: readonly Block[] }) };
					}),
				);
				const wrong = answers.find(({ status }) => status !== 200);
				if (wrong) {
					told.push(`${name}: ${wrong.status}`);
					return undefined;
				}
				times.push((provider.seen.bodies.get(name)?.at ?? 0) - (sentAt.get(name) as number));
				return answers[0]?.content;
			} catch {
				// The connection of an instance that was killed.
				counted.retried += 1;
				await pause(50);
			}
		}
		return undefined;
	};
	const restart = async (one: OwnProcess): Promise<void> => {
		await one.kill();
		await one.start();
	};
	const work = async (): Promise<void> => {
		const all = conversations * turns;
		const until = async (share: number) => {
			while (!isOver && counted.requests < share * all) await pause(20);
		};
		const killAny = async (at: number) => {
			const one = instances[at % instances.length] as (typeof instances)[number];
			await restart(one.process);
			told.push(`instance ${at % instances.length} killed`);
		};
		for (let step = 1; step <= 4; step += 1) {
			await until(step * 0.05);
			await killAny(step);
		}
		await until(0.3);
		await restart(redis);
		told.push("Redis killed and started");
		await until(0.4);
		redis.running()?.kill("SIGSTOP");
		await pause(5_000);
		if (faults === "instances_while_away") await killAny(1);
		await pause(5_000);
		redis.running()?.kill("SIGCONT");
		told.push("Redis paused for 10 s");
		await until(0.6);
		await client.sendCommand(["CONFIG", "SET", "maxmemory", "1mb"]);
		await until(0.7);
		await client.sendCommand(["CONFIG", "SET", "maxmemory", "0"]);
		told.push("Redis full for a tenth of the requests");
		for (let step = 1; step <= 4; step += 1) {
			await until(0.7 + step * 0.05);
			await killAny(step);
		}
	};
	try {
		await redis.start();
		await client.connect();
		await Promise.all(instances.map(({ process }) => process.start()));
		// A process that has just started is slow, and so is each that was killed.
		for (let index = 0; index < warmUps * instances.length; index += 1) {
			await converse(`${conversations + 1 + index}`, [
				instances[index % instances.length] as (typeof instances)[number],
			]);
		}
		Object.assign(counted, { requests: 0, hurried: 0 });
		provider.forget();
		times.length = 0;
		const before = await usedBytes(client);
		const processorBefore = sumOf(instances.map(({ process }) => processorSeconds(process.running()?.pid) ?? 0));
		const waiting = Array.from({ length: conversations }, (_, index) => String(index + 1));
		const workers = Array.from({ length: atOnce }, async () => {
			for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await converse(next);
		});
		const faulty = faults === "none" ? Promise.resolve() : work();
		await Promise.all(workers);
		isOver = true;
		await faulty;
		const processor =
			sumOf(instances.map(({ process }) => processorSeconds(process.running()?.pid) ?? 0)) - processorBefore;
		const resident = instances.map(({ process }) => residentBytes(process.running()?.pid) ?? 0);
		const redisBytes = archive === "redis" ? await bytesByKind(client, { before, conversations }) : {};
		const undecided = await Promise.all(
			instances.map(async ({ url }) => {
				const headers = { Authorization: `Bearer ${pageKey}` };
				return ((await (await fetch(`${url}/palimpsest/status`, { headers })).json()) as { undecided: unknown })
					.undecided;
			}),
		);
		const { bodies, ...seen } = provider.seen;
		const medianMs = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
		const processorMs = (1_000 * processor) / counted.requests;
		return { ...counted, ...seen, bodies, medianMs, processorMs, resident, redisBytes, faults: told, undecided };
	} finally {
		client.destroy();
		await Promise.all([...instances.map(({ process }) => process), redis].map((one) => one.kill()));
		provider.close();
		await rm(home, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** Conversations of each instance, before which most of its code has not been compiled. */
const warmUps = 5;
const pageKey = "key-of-the-pages-of-a-fleet-under-test";

/** The model checks for every account the messages that reasoning is bound to. */
const requestForm = {
	model: "claude-fable-5-2",
	max_tokens: 1_000,
	thinking: { type: "adaptive" },
	system: "You are an agent.",
	tools: [{ name: "bash", description: "Runs a command.", input_schema: { type: "object" } }],
};

async function startInstances(
	{ cli, instances: count, archive, set }: FleetOptions,
	{ home, redisUrl, provider }: { readonly home: string; readonly redisUrl: string; readonly provider: string },
) {
	const instances: { readonly url: string; readonly process: OwnProcess }[] = [];
	for (let index = 0; index < count; index += 1) {
		const port = await freePort();
		const own = join(home, `${index}`);
		const url = `http://127.0.0.1:${port}`;
		const where = archive === "redis" ? redisUrl : join(own, "archive");
		const process_ = ownProcess({
			command: process.execPath,
			parameters: [
				...[cli[index % cli.length] as string, "proxy", "--port", `${port}`, "--archive", where, "--log", "off"],
				...["--key-file", join(home, "key")],
				...["--upstream", `anthropic=${provider}`, ...set.flatMap((one) => ["--set", one])],
			],
			environment: { PATH: process.env.PATH, HOME: own, USERPROFILE: own },
			isReady: () => fetch(`${url}/readyz`),
		});
		instances.push({ url, process: process_ });
	}
	return instances;
}

const connectTo = (url: string) => createClient({ url }).on("error", () => {});

type Client = ReturnType<typeof connectTo>;

async function usedBytes(client: Client): Promise<number> {
	return Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
}

/** Bytes of Redis for each conversation: of all, and of the states by the kind of key. */
async function bytesByKind(
	client: Client,
	{ before, conversations }: { readonly before: number; readonly conversations: number },
): Promise<Record<string, number>> {
	const bytes: Record<string, number> = { all: (await usedBytes(client)) - before };
	for await (const keys of client.scanIterator({ MATCH: "palimpsest:states:*", COUNT: 1_000 })) {
		for (const key of keys) {
			const kind = String(key).split(":")[3] ?? "";
			bytes[kind] = (bytes[kind] ?? 0) + Number(await client.sendCommand(["MEMORY", "USAGE", String(key)]));
		}
	}
	return Object.fromEntries(Object.entries(bytes).map(([kind, sum]) => [kind, Math.round(sum / conversations)]));
}

function sumOf(values: readonly number[]): number {
	return values.reduce((sum, value) => sum + value, 0);
}

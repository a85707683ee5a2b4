import { appendFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { LoadOutcome } from "../bench/load-answer.ts";
import { startPinger } from "../bench/load-run.ts";
import { createRandom } from "../bench/random.ts";
import { quantile } from "../bench/statistics.ts";
import { freePort } from "./free-port.ts";
import type { ProcessFigures } from "./process-figures.ts";
import type { SoakLine } from "./soak-verdict.ts";
import { ownProcess } from "./start-process.ts";

/** One request of a client, and what came of it. */
export interface Called {
	/** Such as the tool. */
	readonly what: string;
	readonly outcome: LoadOutcome;
	/** For a person who looks for the cause. */
	readonly why?: string;
}

/** A face of the product that runs in a process of its own, and what its clients do. */
export interface Face {
	readonly name: "serve" | "proxy";
	readonly url: string;
	/** The path that is asked for instead of an MCP ping. */
	readonly pingPath: string | undefined;
	figures(): Promise<ProcessFigures>;
	/** What else is worth a line. */
	more(): Promise<Readonly<Record<string, number>>>;
	/** One client from its first request to its last; it goes when it is no longer asked for the next. */
	client(random: () => number): AsyncGenerator<Called, void>;
	/** The same, of a client that attacks. */
	hostile(random: () => number): AsyncGenerator<Called, void>;
	end(): Promise<void>;
}

export interface FaceOptions {
	/** The built command. */
	readonly cli: string;
	/** A descriptor, or none, for what the process writes to standard error. */
	readonly log: number | "ignore";
	readonly seed: number;
	readonly clients: number;
}

export interface SoakOptions {
	readonly face: Face;
	readonly seconds: number;
	readonly clients: number;
	/** How long a client waits between two requests on average. */
	readonly waitSeconds: number;
	readonly seed: number;
	/** The JSON Lines file. */
	readonly file: string;
	readonly onLine: (line: SoakLine) => void;
	/** Hears of each answer that was not as it should be. */
	readonly onWrong: (called: Called) => void;
}

/** Between two attacks, in seconds on average. */
const hostileWait = 2;
const pingPauseMs = 100;
/** For an answer. */
const longestMs = 60_000;

/**
 * Puts a mixed load on a face, and writes a line of figures each minute: the first quiet figures after a third of the
 * time, when all clients have gone for a moment, the last ones at the end.
 */
export async function soak(options: SoakOptions): Promise<SoakLine[]> {
	const { face, seconds, clients, waitSeconds, seed, file, onLine, onWrong } = options;
	const began = performance.now();
	const elapsed = () => (performance.now() - began) / 1_000;
	const lines: SoakLine[] = [];
	let [calls, wrong, left] = [0, 0, false];
	const rest = resting();
	const work = async (index: number, live: Face["client"], wait: number): Promise<void> => {
		const random = createRandom(seed + index * 7_919);
		while (!left) {
			await rest.begin();
			if (left) return;
			await pause(random() * wait * 1_000);
			try {
				const life = live(random);
				for (;;) {
					const next = await Promise.race([life.next(), pause(longestMs, "late" as const, { ref: false })]);
					if (next === "late") throw new Error(`no answer in ${longestMs / 1_000} s`);
					if (next.done) break;
					calls += 1;
					if (next.value.outcome !== "right") {
						wrong += 1;
						onWrong(next.value);
					}
					if (!rest.isResting() && !left) await pause(random() * 2 * wait * 1_000);
					if (rest.isResting() || left) {
						await life.return();
						break;
					}
				}
			} catch (error) {
				wrong += 1;
				onWrong({ what: `client: ${error instanceof Error ? error.message : error}`, outcome: "error" });
			}
			rest.end();
		}
	};
	const idle = await startIdleServer();
	const pinger = startPinger(face.url, { path: face.pingPath, pauseMs: pingPauseMs });
	const idlePinger = startPinger(idle.url, { path: "/", pauseMs: pingPauseMs });
	await pause(500);
	// The first times are those of processes that load all that they need.
	await Promise.all([pinger.times(), idlePinger.times()]);
	const [all, allIdle]: [number[], number[]] = [[], []];
	const watch = watching(face);
	const note = async (kind: SoakLine["kind"]): Promise<void> => {
		const [times, idleTimes] = await Promise.all([pinger.times(), idlePinger.times()]);
		all.push(...times);
		allIdle.push(...idleTimes);
		const [last, lastIdle] = kind === "end" ? [all, allIdle] : [times, idleTimes];
		const line: SoakLine = {
			face: face.name,
			kind,
			seconds: Math.round(elapsed() * 10) / 10,
			calls,
			wrong,
			...watch.take(),
			pings: last.length,
			pingP50: shareOf(last, 0.5),
			pingP99: shareOf(last, 0.99),
			pingMost: shareOf(last, 1),
			idleP99: shareOf(lastIdle, 0.99),
			...(await face.more().catch(() => ({}))),
		};
		lines.push(line);
		await appendFile(file, `${JSON.stringify(line)}\n`);
		onLine(line);
	};
	const quiet = async (kind: SoakLine["kind"]): Promise<void> => {
		await rest.rest();
		watch.restart();
		// What is kept open for the next request goes within seconds, on a busy machine later. Node.js closes a connection
		// that never sends a request after 60 to 90 s.
		await pause(Math.min(15_000, 1_500 + seconds * 10));
		const warm = lines.find((line) => line.kind === "quiet")?.descriptors ?? Number.POSITIVE_INFINITY;
		for (let more = 0; more < 90; more += 1) {
			const { descriptors = 0 } = await face.figures();
			if (descriptors <= warm) break;
			watch.restart();
			await pause(1_000);
		}
		await note(kind);
		rest.resume();
	};
	const working = Array.from({ length: clients }, (_, index) => work(index, face.client, waitSeconds));
	working.push(work(clients, face.hostile, hostileWait));
	const every = Math.min(60, seconds / 18);
	let isWarm = false;
	try {
		for (let next = every; next <= seconds; next += every) {
			await pause(Math.max(0, next - elapsed()) * 1_000);
			await note("minute");
			if (isWarm || elapsed() < seconds / 3) continue;
			isWarm = true;
			await quiet("quiet");
		}
		await quiet("end");
	} finally {
		left = true;
		rest.resume();
		await Promise.all(working);
		watch.end();
		pinger.end();
		idlePinger.end();
		await Promise.all([face.end(), idle.kill()]);
	}
	return lines;
}

/** A server that does nothing: its pings tell what the machine adds while other programs work. */
async function startIdleServer() {
	const port = await freePort();
	const url = `http://127.0.0.1:${port}`;
	const script = `require("node:http").createServer((_, response) => response.end("{}")).listen(${port}, "127.0.0.1")`;
	const server = ownProcess({
		command: process.execPath,
		parameters: ["-e", script],
		isReady: () => fetch(url),
	});
	await server.start();
	return { url, kill: server.kill };
}

const shareOf = (times: readonly number[], share: number) =>
	times.length === 0 ? undefined : Number(quantile(times, share).toFixed(2));

/** Clients that work, and can be asked to go for a moment. */
function resting() {
	let [working, isResting] = [0, false];
	return {
		isResting: () => isResting,
		async begin(): Promise<void> {
			while (isResting) await pause(20);
			working += 1;
		},
		end() {
			working -= 1;
		},
		/** Waits until the last one has gone. */
		async rest(): Promise<void> {
			isResting = true;
			while (working > 0) await pause(20);
		},
		resume() {
			isResting = false;
		},
	};
}

/** Reads the figures of a process each second, and gives what they were since they were taken last. */
function watching(face: Face) {
	let seen: ProcessFigures[] = [];
	let processor = 0;
	let isOver = false;
	const watch = async (): Promise<void> => {
		while (!isOver) {
			const figures = await face.figures().catch(() => undefined);
			if (figures) seen.push(figures);
			await pause(1_000);
		}
	};
	void watch();
	const numbers = (name: keyof ProcessFigures) =>
		seen.map((figures) => figures[name]).filter((value) => value !== undefined);
	const least = (name: keyof ProcessFigures) => (numbers(name).length === 0 ? undefined : Math.min(...numbers(name)));
	const most = (name: keyof ProcessFigures) => (numbers(name).length === 0 ? undefined : Math.max(...numbers(name)));
	return {
		/** Forgets what was seen. */
		restart() {
			seen = [];
		},
		take() {
			const residents = numbers("resident");
			const mean = residents.reduce((sum, value) => sum + value, 0) / residents.length;
			const taken = {
				resident: residents.length === 0 ? undefined : Math.round(mean),
				residentMost: most("resident"),
				// Garbage comes and goes; the least is nearest to what is held.
				heap: least("heap"),
				descriptors: least("descriptors"),
				descriptorsMost: most("descriptors"),
				threads: least("threads"),
				threadsMost: most("threads"),
				timers: least("timers"),
				processor: round((most("processor") ?? 0) - processor),
				ownProcessor: round((process.cpuUsage().user + process.cpuUsage().system) / 1e6),
			};
			processor = most("processor") ?? processor;
			seen = [];
			return taken;
		},
		end() {
			isOver = true;
		},
	};
}

const round = (value: number) => Math.round(value * 100) / 100;

import { mkdtemp, rm } from "node:fs/promises";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callTool } from "./call-tool.ts";
import { freePort } from "./free-port.ts";
import { ownProcess } from "./start-process.ts";

/** How a soak goes. */
export interface SoakOptions {
	/** The built command. */
	readonly cli: string;
	/** Small calls over one process. */
	readonly calls: number;
	readonly clients: number;
	/** How often memory and handles are read. */
	readonly samples: number;
	readonly onSample?: (sample: SoakSample) => void;
}

/** What the process held after so many calls, as its own metrics tell. */
export interface SoakSample {
	readonly calls: number;
	/** Bytes. */
	readonly resident: number;
	readonly heap: number;
	/** Open files and sockets, and handles of the event loop. */
	readonly files: number;
	readonly handles: number;
}

/** What came of it. */
export interface SoakFigures {
	/** Calls that were not answered as they should be. */
	readonly wrong: number;
	/** What the server counted. */
	readonly counted: number;
	readonly samples: readonly SoakSample[];
	/**
	 * Growth over the second half, in bytes a call, by the line that fits best: of the heap through the least of every
	 * four samples, since garbage comes and goes between them.
	 */
	readonly heapSlope: number;
	readonly residentSlope: number;
}

const text = Array.from({ length: 40 }, (_, line) => `line ${line} of a small output`).join("\n");

/** Makes small calls over one process without end, one after the other by each client. */
export async function runSoak({ cli, calls, clients, samples: count, onSample }: SoakOptions): Promise<SoakFigures> {
	const home = await mkdtemp(join(tmpdir(), "palimpsest-soak-"));
	const url = `http://127.0.0.1:${await freePort()}`;
	const server = ownProcess({
		command: process.execPath,
		parameters: [cli, "serve", "--http", new URL(url).host, "--stateless", "--archive", "none", "--metrics"],
		// With little room garbage goes soon: what stays is what is held, and a leak of 300 bytes a call would end the run.
		environment: { PATH: process.env.PATH, HOME: home, USERPROFILE: home, NODE_OPTIONS: "--max-old-space-size=96" },
		isReady: () => fetch(`${url}/healthz`),
	});
	const agent = new Agent({ keepAlive: true, maxSockets: clients });
	let [begun, wrong] = [0, 0];
	const client = async (until: number): Promise<void> => {
		while (begun < until) {
			begun += 1;
			const parameters = { text: `call ${begun}\n${text}`, max_chars: 400 };
			const answer = await callTool({ url, tool: "truncate_output", parameters, agent }).catch(() => undefined);
			if (answer?.structuredContent?.truncated !== true) wrong += 1;
		}
	};
	const samples: SoakSample[] = [];
	try {
		await server.start();
		for (let index = 1; index <= count; index += 1) {
			const until = Math.round((calls * index) / count);
			await Promise.all(Array.from({ length: clients }, () => client(until)));
			const metrics = await (await fetch(`${url}/metrics`)).text();
			const sample = {
				calls: until,
				resident: metricOf(metrics, "process_resident_memory_bytes"),
				heap: metricOf(metrics, "nodejs_heap_size_used_bytes"),
				files: metricOf(metrics, "process_open_fds"),
				handles: metricOf(metrics, "nodejs_active_handles_total"),
			};
			samples.push(sample);
			onSample?.(sample);
		}
		const metrics = await (await fetch(`${url}/metrics`)).text();
		const counted = metricOf(metrics, 'palimpsest_calls_total{tool="truncate_output",outcome="ok"}');
		const later = samples.slice(Math.floor(count / 2));
		const least = (heap: readonly SoakSample[]) => heap.reduce((one, other) => (other.heap < one.heap ? other : one));
		const floor = later.flatMap((_, index) => (index % 4 === 0 ? [least(later.slice(index, index + 4))] : []));
		return {
			wrong,
			counted,
			samples,
			heapSlope: slopeOf(floor.map(({ calls: x, heap }) => [x, heap])),
			residentSlope: slopeOf(later.map(({ calls: x, resident }) => [x, resident])),
		};
	} finally {
		agent.destroy();
		await server.kill();
		await rm(home, { recursive: true, force: true, maxRetries: 5 });
	}
}

function metricOf(metrics: string, name: string): number {
	const line = metrics.split("\n").find((one) => one.startsWith(`${name} `));
	return Number(line?.slice(name.length + 1) ?? Number.NaN);
}

/** The slope of the line that fits points best, by least squares. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
	const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
	const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
	const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
	return above / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}

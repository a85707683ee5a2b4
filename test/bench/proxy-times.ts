import { setTimeout } from "node:timers/promises";
import { requestOf, turnsOf } from "../proxy/sessions.ts";
import { pauseMs, type TimedAnswer, timeOf, withCopyingProxy, withProxy, withUpstream } from "./proxy-process.ts";
import { atMost, duration, progress, short, type Table, type Target } from "./section.ts";
import { median, quantile } from "./statistics.ts";

/** Requests after the first. */
const sizes = [
	{ name: "200 kB", bytes: 200_000, rounds: 60 },
	{ name: "1 MB", bytes: 1_000_000, rounds: 60 },
	{ name: "5 MB", bytes: 5_000_000, rounds: 30 },
];
const [resultChars, smallChars] = [4_000, 500];
const [mostMedian, mostOfAll] = [2.5, 5];
const firstByteRounds = 60;
const [processes, startMs] = [7, 1_500];

export const timesNote = [
	"Added time: a session of Anthropic's Messages of this size that grows by a turn of 500 characters at each request, sent directly, through a proxy that only copies (`test/bench/copying-proxy.ts`), and through `palimpsest proxy` with `balanced` and an archive of files, in turns.",
	`Added is the time to the end of the answer, less that of the request sent directly, divided by the time of \`JSON.stringify(JSON.parse(body))\`. An agent takes a second or more between two requests; so each request waits ${pauseMs} ms, and then until the proxy answers at once.`,
	`“First” is the first request of a process, ${startMs / 1_000} s after its start: the median of ${processes} processes. “First byte”: requests of three turns, of which nothing is edited.`,
].join(" ");

/** What the proxy adds to a request of a session. */
export async function measureTimes(): Promise<{ readonly tables: readonly Table[]; readonly targets: Target[] }> {
	const rows: string[][] = [];
	const targets: Target[] = [];
	for (const size of sizes) {
		progress(`proxy: ${size.name}`);
		const { samples, plain } = await sessionOf(size);
		const ratios = samples.map(({ own, parsed }) => own / parsed);
		const copying = samples.map(({ copied, parsed }) => copied / parsed);
		const cells = (values: readonly number[]) => [`${short(median(values))} ×`, `${short(Math.max(...values))} ×`];
		rows.push([
			size.name,
			duration(median(samples.map(({ parsed }) => parsed))),
			duration(plain),
			...cells(ratios),
			...cells(copying),
			`${duration(Math.max(0, median(samples.map(({ own }) => own))))}`,
		]);
		const what = `proxy, ${size.name}: added to a request, of parsing and writing its JSON`;
		targets.push(atMost(`${what}, median`, mostMedian, median(ratios)));
		targets.push(atMost(`${what}, most`, mostOfAll, Math.max(...ratios)));
	}
	progress("proxy: first byte, first request");
	const firstByte = await firstByteOf();
	targets.push(atMost("proxy: added to the first byte of the answer, no edit, median", 2, firstByte.median, "ms"));
	const first = await firstOf(sizes[0]?.bytes ?? 0);
	targets.push(atMost("proxy, 200 kB: added to the first request of a process (aim)", 60, median(first), "ms"));
	const columns = [
		"request",
		"parse and write",
		"directly",
		"added, median",
		"most",
		"copied, median",
		"most",
		"added",
	];
	const spread = (values: readonly number[]) =>
		`${duration(quantile(values, 0.25))}–${duration(quantile(values, 0.75))}, most ${duration(Math.max(...values))}`;
	return {
		tables: [
			{ caption: "Added to a request, as × parsing and writing its JSON", columns, rows },
			{
				caption: "Added once, and to a request without an edit",
				columns: ["what", "median", "quartiles"],
				rows: [
					["first byte of the answer", duration(firstByte.median), spread(firstByte.own)],
					["first byte, a proxy that only copies", duration(median(firstByte.copied)), spread(firstByte.copied)],
					["first request of a process, 200 kB", duration(median(first)), spread(first)],
				],
			},
		],
		targets,
	};
}

/** Milliseconds. */
interface Sample {
	readonly parsed: number;
	/** Through the proxy, less directly. */
	readonly own: number;
	/** The same through a proxy that only copies. */
	readonly copied: number;
}

async function sessionOf({ bytes, rounds }: { readonly bytes: number; readonly rounds: number }) {
	return withBoth(async (contenders) => {
		const large = Math.ceil(bytes / (resultChars + 400));
		const turns = turnsOf(large + rounds, resultChars).map((turn, index) =>
			index < large ? turn : { ...turn, output: turn.output.slice(0, smallChars) },
		);
		const samples: Sample[] = [];
		const direct: number[] = [];
		for (let round = 0; round <= rounds; round += 1) {
			const { path, body } = compactRequest(turns.slice(0, large + round));
			const before = timesOfJson(body);
			const times = await inTurns(round, contenders, { path, body });
			const parsed = median([...before, ...timesOfJson(body)]);
			const { directly, own, copied } = times;
			if (round === 0) continue;
			direct.push(directly.whole);
			samples.push({ parsed, own: own.whole - directly.whole, copied: copied.whole - directly.whole });
		}
		return { samples, plain: median(direct) };
	});
}

/** As agent programs write it. */
function compactRequest(turns: ReturnType<typeof turnsOf>): { readonly path: string; readonly body: string } {
	const { path, body } = requestOf("anthropic", turns);
	return { path, body: JSON.stringify(JSON.parse(String(body))) };
}

function timesOfJson(body: string): number[] {
	return [1, 2, 3].map(() => {
		globalThis.gc?.({ type: "minor" });
		const start = performance.now();
		const written = JSON.stringify(JSON.parse(body));
		const time = performance.now() - start;
		if (written.length !== body.length) throw new Error("Expected compact JSON.");
		return time;
	});
}

async function firstByteOf() {
	const { path, body } = compactRequest(turnsOf(3, resultChars));
	return withBoth(async (contenders) => {
		const [own, copied]: [number[], number[]] = [[], []];
		for (let round = 0; round <= firstByteRounds; round += 1) {
			const times = await inTurns(round, contenders, { path, body });
			if (round === 0) continue;
			own.push(times.own.firstByte - times.directly.firstByte);
			copied.push(times.copied.firstByte - times.directly.firstByte);
		}
		return { own, copied, median: Math.max(0, median(own)) };
	});
}

async function firstOf(bytes: number): Promise<number[]> {
	const { path, body } = compactRequest(turnsOf(Math.ceil(bytes / (resultChars + 400)), resultChars));
	return withUpstream(async (upstream) => {
		const samples: number[] = [];
		for (let count = 0; count < processes; count += 1) {
			const added = await withProxy(upstream, async ({ address }) => {
				await setTimeout(startMs);
				const directly: number[] = [];
				for (let time = 0; time < 5; time += 1) directly.push((await timeOf(upstream, { path, body })).whole);
				return (await timeOf(address, { path, body })).whole - median(directly);
			});
			samples.push(added);
		}
		return samples;
	});
}

type Contender = readonly [name: "directly" | "own" | "copied", send: (asked: Asked) => Promise<TimedAnswer>];

interface Asked {
	readonly path: string;
	readonly body: string;
}

/** The three ways in which a request is sent. */
async function withBoth<T>(work: (contenders: readonly Contender[]) => Promise<T>): Promise<T> {
	return withUpstream((upstream) =>
		withCopyingProxy(upstream, (copying) =>
			withProxy(upstream, async (proxy) => {
				await setTimeout(startMs);
				return work([
					["directly", (asked) => timeOf(upstream, asked)],
					["copied", (asked) => timeOf(copying.address, asked)],
					[
						"own",
						async (asked) => {
							const time = await timeOf(proxy.address, asked);
							await proxy.idle();
							return time;
						},
					],
				]);
			}),
		),
	);
}

/** Each of them once, another one first in each round. */
async function inTurns(round: number, contenders: readonly Contender[], asked: Asked) {
	const times = new Map<Contender[0], TimedAnswer>();
	for (let place = 0; place < contenders.length; place += 1) {
		const [name, send] = contenders[(round + place) % contenders.length] as Contender;
		globalThis.gc?.({ type: "minor" });
		const time = await send(asked);
		if (time.status !== 200) throw new Error(`Expected the answer of the upstream; got status ${time.status}.`);
		times.set(name, time);
	}
	return Object.fromEntries(times) as Record<Contender[0], TimedAnswer>;
}

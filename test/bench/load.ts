import { type LoadKind, loadCalls } from "./load-calls.ts";
import { generatedConversation, recordedConversations } from "./load-conversations.ts";
import { memoryTrend } from "./load-memory.ts";
import { type LoadFigures, runLoad } from "./load-run.ts";
import { atLeast, atMost, duration, progress, type Section, short, type Target } from "./section.ts";
import { quantile } from "./statistics.ts";

const clients = 50;
const callsOfClient = Number(process.env.LOAD_CALLS ?? 20);
const generatedMegabytes = [0.1, 0.2, 0.4, 1, 2, 5];

/**
 * Most that memory may grow over the second half of the calls, in percent of its level. At full size that is some 12 kB a
 * call, a fortieth of a mean request; less cannot be told from what 50 calls at once hold at the one moment and not at the
 * other. Requests that were held for a minute after their answer made 38 % in a run of 1 500 calls.
 */
const mostGrowth = 10;

/** One row of the tables: a server under a load. */
interface Run {
	readonly name: string;
	readonly figures: LoadFigures;
}

/** Both servers under the same load. */
interface Pair {
	readonly what: string;
	readonly echo: LoadFigures;
	readonly ours: LoadFigures;
}

/** Many clients over HTTP at once, and how long a ping takes meanwhile. */
export async function load(): Promise<Section> {
	progress("load: generated conversations");
	const generated = Array.from({ length: clients }, (_, index) =>
		generatedConversation(index, generatedMegabytes[index % generatedMegabytes.length] ?? 1),
	);
	const pairs = [(await bothUnder("generated", generated, ["mask"])).pair];
	const notes = [
		`${clients} clients with sessions, ${callsOfClient} calls each, compared with tools of the bare SDK that return their input. Pings come from a separate process. The whole structured content of each answer is compared with the library's. “Generated”: \`mask_conversation\` with ${clients} conversations of ${generatedMegabytes[0]} to ${generatedMegabytes.at(-1)} MB.`,
	];
	const recorded = recordedConversations();
	if (recorded === undefined)
		notes.push("There are no recorded conversations next to this checkout, so no rows on them.");
	else {
		progress("load: recorded conversations");
		const { sessions, joined } = recorded;
		const all = [...sessions, ...joined];
		const { pair, calls, changing } = await bothUnder("recorded", all, ["mask", "guard", "guard for edits"]);
		pairs.push(pair);
		const sizes = (texts: readonly string[]) => {
			const megabytes = texts.map((text) => Buffer.byteLength(text) / 1e6);
			return `${Math.min(...megabytes).toFixed(1)} to ${Math.max(...megabytes).toFixed(1)} MB`;
		};
		notes.push(
			`“Recorded”: ${sessions.length} recorded sessions of ${sizes(sessions)} in all formats, and ${joined.length} of ${sizes(joined)}, joined from several. \`mask_conversation\`, \`guard_context\`, and \`guard_context\` with \`respond_with: "edits"\` in equal shares: ${changing} of the ${calls} calls change the conversation. Every call comes some ${short((clients * callsOfClient) / calls)} times, and the product remembers its counts.`,
		);
	}
	const single: Run[] = [];
	for (const size of [5, 20]) {
		progress(`load: one client, ${size} MB`);
		const several = [1, 2, 3].map((seed) => generatedConversation(seed, size));
		const { ours: calls } = await loadCalls(several, ["guard for edits"]);
		const figures = await runLoad({ server: "palimpsest", calls, clients: 1, callsOfClient: 6 });
		single.push({ name: `palimpsest, one client, ${size} MB`, figures });
	}
	const runs: Run[] = [
		...pairs.flatMap(({ what, echo, ours }) => [
			{ name: `echo, ${what}`, figures: echo },
			{ name: `palimpsest, ${what}`, figures: ours },
		]),
		...single,
	];
	return {
		title: "Many clients over HTTP",
		notes,
		tables: [
			{
				columns: ["server", "time", "requests", "processor", "ping p50", "p99", "max", "wrong", "errors", "busy"],
				rows: runs.map(rowOf),
			},
			{
				caption: "Resident memory of the server; growth by the line that fits best after a third of the calls",
				columns: ["server", "first", "level", "most", "last", "kB a call", "MB in 1 000 calls", "in the second half"],
				rows: runs.flatMap(memoryRowOf),
			},
		],
		targets: [...pairs.flatMap(targetsOfPair), ...single.flatMap(targetsOfSingle)],
	};
}

async function bothUnder(what: string, conversations: readonly string[], kinds: readonly LoadKind[]) {
	const calls = await loadCalls(conversations, kinds);
	progress(`load: ${what}, echo`);
	const echo = await runLoad({ server: "echo", calls: calls.echo, clients, callsOfClient });
	progress(`load: ${what}, palimpsest`);
	const ours = await runLoad({ server: "palimpsest", calls: calls.ours, clients, callsOfClient });
	return { pair: { what, echo, ours }, calls: calls.ours.length, changing: calls.changing };
}

function rowOf({ name, figures }: Run): string[] {
	const { seconds, processor, pings, outcomes } = figures;
	return [
		name,
		duration(seconds * 1_000),
		`${short(rateOf(figures))} MB/s`,
		processor === undefined ? "" : duration(processor * 1_000),
		...[0.5, 0.99, 1].map((share) => duration(quantile(pings, share))),
		...[outcomes.wrong, outcomes.error, outcomes.busy].map(String),
	];
}

function memoryRowOf({ name, figures }: Run): string[][] {
	const trend = memoryTrend(figures.memory);
	if (trend === undefined) return [];
	const { first, level, most, last, slope, growth } = trend;
	return [
		[
			name,
			...[first, level, most, last].map((bytes) => `${Math.round(bytes / 1e6)} MB`),
			...[slope / 1e3, (slope * 1_000) / 1e6, growth * 100].map((value) => value.toFixed(1)),
		].map((cell, index, row) => (index === row.length - 1 ? `${cell} %` : cell)),
	];
}

function targetsOfPair({ what, echo, ours }: Pair): Target[] {
	const trend = memoryTrend(ours.memory);
	return [
		atLeast(`${what}: throughput of ${clients} clients, × bare SDK echo`, 0.5, rateOf(ours) / rateOf(echo)),
		atMost(`${what}: wrong answers`, 0, ours.outcomes.wrong, ""),
		atMost(`${what}: errors and busy answers`, 0, ours.outcomes.error + ours.outcomes.busy, ""),
		...(trend === undefined
			? []
			: [atMost(`${what}: memory after warm-up, growth in the second half`, mostGrowth, trend.growth * 100, "%")]),
	];
}

function targetsOfSingle({ name, figures }: Run): Target[] {
	const [size, limit] = name.endsWith(" 5 MB") ? [5, 100] : [20, 250];
	return [atMost(`ping p99 while ${size} MB calls run`, limit, quantile(figures.pings, 0.99), "ms")];
}

/** Megabytes of requests a second. */
function rateOf({ bytes, seconds }: LoadFigures): number {
	return bytes / 1e6 / seconds;
}

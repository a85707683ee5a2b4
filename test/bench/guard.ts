import type { CallTimes } from "./call-times-child.ts";
import { guardContenders } from "./guard-contenders.ts";
import type { PeerOutcome } from "./guard-peers-child.ts";
import { guardTimes } from "./guard-times.ts";
import { runChild } from "./run-child.ts";
import { atLeast, atMost, duration, progress, type Section, short, type Table, type Target } from "./section.ts";
import { growthExponent, median, quantile } from "./statistics.ts";

const sizes = [100, 300, 1000, 3000, 10_000, 30_000];
const peerSizes = [100, 1000];
const peerRounds = 3;
/** Sizes in MB of JSON, and the milliseconds that the call after one more turn may take. */
const callSizes = [
	{ megabytes: 0.1, most: 10, warmUp: 40, rounds: 31 },
	{ megabytes: 1, most: 50, warmUp: 12, rounds: 15 },
	{ megabytes: 10, most: 600, warmUp: 3, rounds: 7 },
];

/** The library's `mask` and `guard` with the preset `balanced`, `guard` by the number of messages, and compared with its peers. */
export async function guard(): Promise<Section> {
	const calls = await measureCalls();
	const scaling = await measureScaling();
	const peers = await measurePeers();
	return {
		title: "Guarding a conversation",
		notes: [
			"“One call”: `mask` and `guard` with the preset `balanced`, on parsed conversations of OpenAI's format; the guard halves them. “First” is a conversation that the process has not seen, “next” the same with one more turn. One process a row, warm.",
			"“First call, by size”: `guard` of the library on new OpenAI chat messages, reduced to some 15 % of their tokens.",
			"Compared with its peers: the budget is half of the conversation. LangChain uses the same exact counter (gpt-tokenizer, o200k_base); Mastra's limiter estimates; Vercel's pruning and Mastra's filter count nothing and have no budget. A dash means that the format has none.",
		],
		tables: [calls.table, scaling.table, ...peers.tables],
		targets: [...calls.targets, scaling.target, ...peers.targets],
	};
}

async function measureCalls(): Promise<{ table: Table; targets: Target[] }> {
	const rows: string[][] = [];
	const targets: Target[] = [];
	for (const { megabytes, most, warmUp, rounds } of callSizes) {
		for (const tool of ["mask", "guard"]) {
			progress(`guard: ${tool} of ${megabytes} MB`);
			const times = await runChild<CallTimes>("call-times-child.ts", [tool, megabytes, warmUp, rounds]);
			const { messages, tokensBefore, tokensAfter, first, next } = times;
			rows.push([
				tool,
				short(megabytes),
				short(messages),
				`${short(tokensBefore)} → ${short(tokensAfter)}`,
				...timeCells(first),
				...timeCells(next),
			]);
			targets.push(atMost(`${tool} of ${megabytes} MB, balanced, the next turn`, most, median(next), "ms"));
		}
	}
	const columns = ["call", "MB of JSON", "messages", "tokens", "first", "quartiles", "next", "quartiles"];
	return { table: { caption: "One call, `balanced`", columns, rows }, targets };
}

function timeCells(times: readonly number[]): [string, string] {
	return [duration(median(times)), `${duration(quantile(times, 0.25))}–${duration(quantile(times, 0.75))}`];
}

async function measureScaling(): Promise<{ table: Table; target: Target }> {
	const rows: string[][] = [];
	const points: { x: number; y: number }[] = [];
	for (const [size, times] of await guardTimes(sizes)) {
		const firsts = times.map(({ first }) => first);
		const { characters = 0, tokensBefore = 0, tokensAfter = 0 } = times[0] ?? {};
		points.push({ x: size, y: median(firsts) });
		rows.push([
			short(size),
			short(characters / 1e6),
			`${short(tokensBefore)} → ${short(tokensAfter)}`,
			duration(median(firsts)),
			`${duration(quantile(firsts, 0.25))}–${duration(quantile(firsts, 0.75))}`,
			duration(median(firsts) / size),
			duration(median(times.map(({ parse }) => parse))),
		]);
	}
	return {
		table: {
			caption: "First call, by size",
			columns: ["messages", "MB of JSON", "tokens", "median", "quartiles", "a message", "JSON.parse, for scale"],
			rows,
		},
		target: atMost("guard, 100 to 30 000 messages: growth exponent", 1.1, growthExponent(points), ""),
	};
}

async function measurePeers(): Promise<{ tables: Table[]; targets: Target[] }> {
	const tables: Table[] = [];
	const targets: Target[] = [];
	for (const size of peerSizes) {
		const outcomes = guardContenders.map((): PeerOutcome[] => []);
		for (let round = 1; round <= peerRounds; round++) {
			for (const [index, { name }] of guardContenders.entries()) {
				progress(`guard: ${name}, ${size} messages, round ${round}`);
				outcomes[index]?.push(await runChild<PeerOutcome>("guard-peers-child.ts", [name, size, round]));
			}
		}
		const ratios = outcomes.map((own) =>
			own.map(({ milliseconds }, round) => milliseconds / (outcomes[0]?.[round]?.milliseconds ?? 1)),
		);
		tables.push({
			caption: `Compared with its peers, ${size} messages`,
			...(size < 1_000 ? {} : { isPublished: { without: ["range", "messages"] } }),
			columns: [
				"way",
				"counts",
				"median",
				"× ours",
				"range",
				"tokens",
				"within budget",
				"messages",
				"broken pairs",
				"ids lost",
				"error flags lost",
				"task kept",
			],
			rows: guardContenders.map(({ name, counts }, index) => {
				const own = outcomes[index] ?? [];
				return [name, counts, ...ratioCells(own, ratios[index] ?? []), ...outcomeCells(own)];
			}),
		});
		if (size !== 1000) continue;
		for (const [index, { name, counts }] of guardContenders.entries()) {
			if (counts !== "exact" || name.startsWith("palimpsest")) continue;
			targets.push(
				atLeast(`guard, 1 000 messages: ${name} with an exact counter takes`, 500, median(ratios[index] ?? [])),
			);
		}
	}
	return { tables, targets };
}

function ratioCells(outcomes: readonly PeerOutcome[], ratios: readonly number[]): string[] {
	const time = median(outcomes.map(({ milliseconds }) => milliseconds));
	return [duration(time), `${short(median(ratios))} ×`, `${short(Math.min(...ratios))}–${short(Math.max(...ratios))}`];
}

/** All rounds together: each is another conversation. */
function outcomeCells(outcomes: readonly PeerOutcome[]): string[] {
	const judgements = outcomes.map(({ judgement }) => judgement);
	const total = (values: readonly (number | null)[]) =>
		values.every((value) => value === null) ? "–" : short(values.reduce<number>((sum, value) => sum + (value ?? 0), 0));
	const within = outcomes.filter(({ judgement, budget }) => judgement.tokens <= budget).length;
	const share = median(outcomes.map(({ judgement, tokensBefore }) => judgement.tokens / tokensBefore));
	return [
		`${Math.round(share * 100)} %`,
		`${within} of ${outcomes.length}`,
		short(median(judgements.map(({ messages }) => messages))),
		total(judgements.map(({ brokenPairs }) => brokenPairs)),
		total(judgements.map(({ idsLost }) => idsLost)),
		total(judgements.map(({ errorFlagsLost }) => errorFlagsLost)),
		`${judgements.filter(({ taskKept }) => taskKept).length} of ${judgements.length}`,
	];
}

import type { ReplayCold } from "./replay-cold-child.ts";
import { replaySources } from "./replay-conversations.ts";
import type { ReplayGrowth } from "./replay-growth-child.ts";
import { runChild } from "./run-child.ts";
import { atMost, duration, progress, type Section, short, type Table, type Target } from "./section.ts";
import { median, quantile } from "./statistics.ts";

const rounds = 5;

/** What replaying histories takes: by their length, and beside counting their tokens. */
export async function replay(): Promise<Section> {
	const growth = await measureGrowth();
	const cold = await measureCold();
	return {
		title: "Replaying a conversation",
		notes: [
			"Everything that `palimpsest replay` does except its lower bound. Times are processor times.",
			"Twice the length: a history is cut in half by characters, and each half is replayed by itself. The time of the whole is divided by the mean time of its halves: 2 is linear. A token is four characters, so that counting does not hide the growth of the rest. “All recorded” is 55 real conversations joined into one.",
			"Compared with counting: the conversation with the most tool turns, under all policies, divided by the time of counting each text once. Each in a new process.",
		],
		tables: [growth.table, cold.table],
		targets: [...growth.targets, cold.target],
	};
}

async function measureGrowth(): Promise<{ table: Table; targets: Target[] }> {
	const columns: ReplayGrowth[] = [];
	for (const source of replaySources) {
		progress(`replay: twice the length, ${source}`);
		columns.push(await runChild<ReplayGrowth>("replay-growth-child.ts", [source]));
	}
	const names = columns[0]?.policies.map(({ policy }) => policy) ?? [];
	const worst = columns.map(({ policies }) =>
		policies.reduce((most, one) => (one.ratio > most.ratio ? one : most), { policy: "", ratio: 0 }),
	);
	return {
		table: {
			caption: "Twice the length: time of a history over that of its halves",
			columns: [
				"policy",
				...columns.map(
					({ messages, characters }, index) =>
						`${replaySources[index]} (${short(messages)} messages, ${short(characters / 1e6)} MB)`,
				),
			],
			rows: names.map((name, row) => [
				name,
				...columns.map(({ policies }) => {
					const { ratio = 0, whole = 0 } = policies[row] ?? {};
					return `${ratio.toFixed(2)} × (${duration(whole)})`;
				}),
			]),
		},
		targets: worst.map(({ policy, ratio }, index) => {
			const what = `replay, ${replaySources[index]}: twice the length, the slowest to grow (${policy})`;
			return { ...atMost(what, 2.3, ratio), measured: `${ratio.toFixed(2)} x` };
		}),
	};
}

async function measureCold(): Promise<{ table: Table; target: Target }> {
	const source = replaySources[0] ?? "generated";
	const counts: ReplayCold[] = [];
	const replays: ReplayCold[] = [];
	for (let round = 1; round <= rounds; round++) {
		progress(`replay: all policies, ${source}, round ${round}`);
		counts.push(await runChild<ReplayCold>("replay-cold-child.ts", [source, "count"]));
		replays.push(await runChild<ReplayCold>("replay-cold-child.ts", [source, "replay"]));
	}
	const ratios = replays.map(({ time }, round) => time / (counts[round]?.time ?? 1));
	const [{ tokens = 0, messages = 0, policies = 0 } = {}] = counts;
	return {
		table: {
			caption: "All policies, compared with counting",
			columns: ["conversation", "messages", "tokens", "policies", "counting, cold", "replaying, cold", "× counting"],
			rows: [
				[
					source,
					short(messages),
					short(tokens),
					String(policies),
					duration(median(counts.map(({ time }) => time))),
					duration(median(replays.map(({ time }) => time))),
					`${short(median(ratios))} × (${short(quantile(ratios, 0.25))}–${short(quantile(ratios, 0.75))})`,
				],
			],
		},
		target: atMost(`replay, ${source}: ${policies} policies, over counting its tokens once, cold`, 20, median(ratios)),
	};
}

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
			"Reading a history, deciding at each of its LLM calls, billing every call, finding what is used later and whether it was in view, and the bound of that: all that `palimpsest replay` does, but for the optimum, whose time is calls × turns. Times are those of the processor (user and system, garbage collection included), which other work on the machine moves less than the clock.",
			"Twice the length: a history is cut where half of its characters are behind, and the halves are replayed each on its own. The table has the time of the whole over the mean time of its halves, which together hold the same messages: 2 is linear. Medians of 11 rounds in one process, in turns, each on objects that the product has not seen; tokens are taken as four characters each, so that counting does not hide how the rest grows. “All recorded” is 55 real conversations one behind the other, as if they were one.",
			"Beside counting: the conversation with the most tool turns (432 where recorded ones are there), under all policies of the first table, what they have in common read once, over counting each of its texts once. Each time a process of its own, that has loaded its modules and tables and has run nothing of either.",
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
			caption: "All policies, beside counting",
			columns: ["conversation", "messages", "tokens", "policies", "counting, cold", "replaying, cold", "× counting"],
			rows: [
				[
					source,
					short(messages),
					short(tokens),
					String(policies),
					duration(median(counts.map(({ time }) => time))),
					duration(median(replays.map(({ time }) => time))),
					`${short(median(ratios))} × (${short(quantile(ratios, 0.25))} – ${short(quantile(ratios, 0.75))})`,
				],
			],
		},
		target: atMost(`replay, ${source}: ${policies} policies, over counting its tokens once, cold`, 20, median(ratios)),
	};
}

import { median, quantile } from "./statistics.ts";

/** Something to be timed beside others. */
export interface Contender {
	readonly name: string;
	/** Is timed. What it answers goes to the next `prepare`, and keeps the work from being optimised away. */
	readonly run: () => unknown;
	/** Is called before each run and is not timed: empties caches, makes a fresh copy of what `run` changes in place. */
	readonly prepare?: () => unknown;
}

/** The times of one contender, in milliseconds, one for each round. */
export interface Timing {
	readonly name: string;
	readonly samples: readonly number[];
	readonly median: number;
}

/** How often to measure. */
export interface Rounds {
	/** Rounds that are measured; a round runs every contender once. */
	readonly rounds: number;
	/** Rounds before those, thrown away. Default 1. */
	readonly warmUp?: number;
	/** A contender that has used up this many milliseconds is left out of later rounds. Default: no end. */
	readonly budgetMilliseconds?: number;
}

/**
 * Times contenders in turns (A B C, C B A, A B C, ...) so that a slow phase of the machine falls on all of them. Young
 * garbage is collected before each run where the process allows it.
 */
export async function measureInterleaved(
	contenders: readonly Contender[],
	{ rounds, warmUp = 1, budgetMilliseconds = Number.POSITIVE_INFINITY }: Rounds,
): Promise<Timing[]> {
	const samples = contenders.map((): number[] => []);
	const spent = contenders.map(() => 0);
	for (let round = -warmUp; round < rounds; round++) {
		const order = contenders.map((_, index) => index);
		if (round % 2 !== 0) order.reverse();
		for (const index of order) {
			const contender = contenders[index];
			if (contender === undefined || (spent[index] ?? 0) > budgetMilliseconds) continue;
			const elapsed = await timeOnce(contender);
			spent[index] = (spent[index] ?? 0) + elapsed;
			// One that is so slow that it will not be run again is measured by the run that was meant to warm it up.
			if (round >= 0 || elapsed > budgetMilliseconds) samples[index]?.push(elapsed);
		}
	}
	return contenders.map(({ name }, index) => {
		const own = samples[index] ?? [];
		return { name, samples: own, median: median(own) };
	});
}

/** Milliseconds of one run. */
export async function timeOnce({ run, prepare }: Contender): Promise<number> {
	await prepare?.();
	// Collecting all of it takes longer than what is timed where peers hold hundreds of megabytes of tables.
	globalThis.gc?.({ type: "minor" });
	const started = performance.now();
	const answer = run();
	if (answer instanceof Promise) await answer;
	return performance.now() - started;
}

/** A ratio of two contenders' times, taken round by round. */
export interface Ratio {
	readonly median: number;
	/** The quartiles of the rounds' ratios. */
	readonly low: number;
	readonly high: number;
}

/** How many times longer `slower` took than `faster`. */
export function ratioOf(slower: Timing, faster: Timing): Ratio {
	const rounds = Math.min(slower.samples.length, faster.samples.length);
	const ratios = Array.from(
		{ length: rounds },
		(_, round) => (slower.samples[round] ?? 0) / (faster.samples[round] ?? 1),
	);
	// One that was too slow for every round is held against the median of the other.
	if (rounds < 3) return { median: slower.median / faster.median, low: Math.min(...ratios), high: Math.max(...ratios) };
	return { median: median(ratios), low: quantile(ratios, 0.25), high: quantile(ratios, 0.75) };
}

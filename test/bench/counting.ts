import { type CountingContender, countingContenders } from "./counting-contenders.ts";
import { type CountingState, type KindResult, measureCounting } from "./measure-counting.ts";
import { type Ratio, ratioOf, type Timing } from "./measure-interleaved.ts";
import { atLeast, type Section, short, type Table, type Target } from "./section.ts";
import { geometricMean } from "./statistics.ts";

/** Exact counting beside other libraries. */
export async function counting(): Promise<Section> {
	const contenders = await countingContenders();
	const results = await measureCounting(contenders);
	const differing = results.flatMap(({ sample, differing }) => differing.map((name) => `${name} on ${sample.kind}`));
	return {
		title: "Counting tokens",
		notes: [
			"Texts of up to 8 000 characters, some 200 000 of each kind, o200k_base, in turns. Cold: tables loaded, but no text seen. Warm: the same texts again at once. Lived in: again, in a process that has counted 320 000 other words.",
			differing.length === 0
				? "All counters gave the same number for every text."
				: `Another count than ours: ${differing.join(", ")}.`,
		],
		tables: [
			{
				...tableOf("Cold: MB/s of ours, and how many times longer the others take", results, contenders, "cold"),
				isPublished: true,
			},
			tableOf("Warm", results, contenders, "warm"),
			tableOf("Lived in", results, contenders, "lived in"),
		],
		targets: targetsOf(results, contenders),
	};
}

function ratiosOf(result: KindResult, state: CountingState): Ratio[] {
	const [ours, ...others] = result[state];
	return ours === undefined ? [] : others.map((other) => ratioOf(other, ours));
}

function tableOf(
	caption: string,
	results: readonly KindResult[],
	contenders: readonly CountingContender[],
	state: CountingState,
): Table {
	const others = contenders.slice(1);
	const remembered = state === "warm" ? ["remembered: MB/s"] : [];
	const speed = (characters: number, { median }: Timing) => short(characters / 1000 / median);
	return {
		caption,
		columns: ["text", "palimpsest", ...others.map(({ name }) => name), ...remembered],
		rows: [
			...results.map((result) => [
				result.sample.kind,
				...result[state].slice(0, 1).map((timing) => speed(result.characters, timing)),
				...ratiosOf(result, state).map(({ median, low, high }) => `${short(median)} × (${short(low)}–${short(high)})`),
				...remembered.map(() => speed(result.characters, result.remembered)),
			]),
			[
				"geometric mean",
				"",
				...others.map((_, index) => `${short(meanRatio(results, state, index))} ×`),
				...remembered.map(() => ""),
			],
		],
	};
}

function meanRatio(results: readonly KindResult[], state: CountingState, other: number): number {
	return geometricMean(results.map((result) => ratiosOf(result, state)[other]?.median ?? Number.NaN));
}

function targetsOf(results: readonly KindResult[], contenders: readonly CountingContender[]): Target[] {
	const slowest = (["cold", "warm", "lived in"] as const).map((state): Target => {
		const ratios = results.flatMap((result) =>
			ratiosOf(result, state).map(({ median }, index) => ({
				median,
				what: `${contenders[index + 1]?.name} on ${result.sample.kind}`,
			})),
		);
		const { median, what } = ratios.reduce((least, each) => (each.median < least.median ? each : least));
		return atLeast(`counting ${state}, never slower; the closest is ${what}, which takes`, 1, median);
	});
	const mean = (state: CountingState, limit: number) =>
		atLeast(
			`counting ${state}: gpt-tokenizer takes, in the geometric mean of the kinds`,
			limit,
			meanRatio(results, state, 0),
		);
	return [mean("cold", 4), mean("warm", 8), mean("lived in", 8), ...slowest];
}

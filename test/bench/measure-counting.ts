import { type CountingContender, otherWords } from "./counting-contenders.ts";
import { type Contender, measureInterleaved, type Timing } from "./measure-interleaved.ts";
import { loadProductCounter } from "./product-counter.ts";
import { type SampleTexts, sampleTexts } from "./sample-texts.ts";
import { progress } from "./section.ts";
import { median } from "./statistics.ts";

/** What a counter has seen before it is measured. */
export type CountingState = "cold" | "warm" | "lived in";

/** One kind of text under every counter, in the order of the contenders; times of one pass over the texts. */
export interface KindResult extends Readonly<Record<CountingState, readonly Timing[]>> {
	readonly sample: SampleTexts;
	readonly characters: number;
	readonly remembered: Timing;
	/** Names of counters that answer another number than ours. */
	readonly differing: readonly string[];
}

const rounds = { rounds: 7, budgetMilliseconds: 3000 };
// One pass takes ours some milliseconds: too short to be measured well.
const passesOfWarm = 5;

/** Measures every kind cold and warm, then all of them once more in counters that have seen much else. */
export async function measureCounting(contenders: readonly CountingContender[]): Promise<KindResult[]> {
	const samples = sampleTexts();
	const fresh: (Omit<KindResult, "lived in"> & { readonly stateless: readonly (Timing | undefined)[] })[] = [];
	for (const sample of samples) {
		progress(`counting: ${sample.kind}, cold and warm`);
		fresh.push(await measureFresh(sample, contenders));
	}
	const words = otherWords();
	for (const { count, forget } of contenders) {
		if (forget === undefined) continue;
		for (let start = 0; start < words.length; start += 1000) count(words.slice(start, start + 1000).join(" "));
	}
	const results: KindResult[] = [];
	for (const { stateless, ...result } of fresh) {
		progress(`counting: ${result.sample.kind}, lived in`);
		const timings = await measureWarm(result.sample, contenders);
		results.push({ ...result, "lived in": contenders.map((_, index) => pickTiming(stateless[index], timings[index])) });
	}
	return results;
}

async function measureFresh(sample: SampleTexts, contenders: readonly CountingContender[]) {
	const { texts } = sample;
	const { count: remembering } = await loadProductCounter();
	const cold = await measureInterleaved(
		contenders.map(({ name, count, forget }): Contender => {
			const run = () => passOver(texts, count);
			return forget === undefined ? { name, run } : { name, run, prepare: forget };
		}),
		rounds,
	);
	// What keeps nothing between texts was measured already.
	const stateless = contenders.map(({ forget }, index) => (forget === undefined ? cold[index] : undefined));
	for (const { forget } of contenders) forget?.();
	const warm = await measureWarm(sample, contenders);
	const counts = contenders.map(({ count }) => texts.map(count).join());
	return {
		sample,
		characters: texts.reduce((sum, text) => sum + text.length, 0),
		cold,
		warm: contenders.map((_, index) => pickTiming(stateless[index], warm[index])),
		stateless,
		remembered: await measureRemembered(texts, remembering),
		differing: contenders.filter((_, index) => counts[index] !== counts[0]).map(({ name }) => name),
	};
}

/** Times one pass, of several that follow on one that is not timed; `undefined` for what keeps nothing. */
async function measureWarm(
	{ texts }: SampleTexts,
	contenders: readonly CountingContender[],
): Promise<(Timing | undefined)[]> {
	const keeping = contenders.filter(({ forget }) => forget !== undefined);
	const timings = await measureInterleaved(
		keeping.map(({ name, count }) => ({
			name,
			prepare: () => passOver(texts, count),
			run: () => repeat(passesOfWarm, () => passOver(texts, count)),
		})),
		rounds,
	);
	return contenders.map(({ name }) => {
		const timing = timings.find((each) => each.name === name);
		return timing === undefined ? undefined : ofOnePass(timing);
	});
}

async function measureRemembered(texts: readonly string[], count: (text: string) => number): Promise<Timing> {
	const [timing] = await measureInterleaved(
		[{ name: "remembered", run: () => repeat(passesOfWarm, () => passOver(texts, count)) }],
		rounds,
	);
	if (timing === undefined) throw new Error("Expected a timing.");
	return ofOnePass(timing);
}

function passOver(texts: readonly string[], count: (text: string) => number): number {
	return texts.reduce((sum, text) => sum + count(text), 0);
}

function repeat(times: number, pass: () => number): number {
	let sum = 0;
	for (let index = 0; index < times; index++) sum += pass();
	return sum;
}

function ofOnePass({ name, samples }: Timing): Timing {
	const own = samples.map((sample) => sample / passesOfWarm);
	return { name, samples: own, median: median(own) };
}

function pickTiming(stateless: Timing | undefined, measured: Timing | undefined): Timing {
	const timing = stateless ?? measured;
	if (timing === undefined) throw new Error("Expected each counter to be measured.");
	return timing;
}

import { type CountingContender, countingContenders } from "./counting-contenders.ts";
import { timeOnce } from "./measure-interleaved.ts";
import { pathologicalKinds } from "./pathological-kinds.ts";
import { loadProductCounter } from "./product-counter.ts";
import { englishProse } from "./sample-texts.ts";
import { atMost, duration, progress, type Section, short, type Table, type Target } from "./section.ts";
import { median } from "./statistics.ts";

const small = 1_000_000;
const large = 10_000_000;
const rounds = 3;
const letterSizes = [1_000, 8_000, 32_000];
// Longer than that nobody waits.
const patienceMilliseconds = 2000;

/** Unbroken runs and other texts that make exact counters slow. */
export async function pathological(): Promise<Section> {
	const { createBare } = await loadProductCounter();
	const { table, targets } = await measureKinds(createBare);
	return {
		title: "Hard texts",
		notes: [
			`Our counter, cold, on 1 MB and 10 MB (UTF-8) of each kind; nanoseconds a byte, medians of ${rounds} rounds in which both sizes and 1 MB of English prose (README files) take turns, each with a new counter that remembers nothing.`,
			"The time of the other exact counters grows with the square of a run: here with one letter, repeated. A dash means more than some seconds.",
		],
		tables: [table, await letterTable(await countingContenders())],
		targets,
	};
}

async function measureKinds(createBare: () => (text: string) => number): Promise<{ table: Table; targets: Target[] }> {
	const plain = englishProse(small);
	const time = (text: string) => {
		const count = createBare();
		return timeOnce({ name: "ours", run: () => count(text) });
	};
	for (let warmUp = 0; warmUp < 3; warmUp++) await time(plain);
	const results: { kind: string; atSmall: number; atLarge: number; growth: number; toProse: number }[] = [];
	for (const { kind, make } of pathologicalKinds) {
		progress(`pathological: ${kind}`);
		const texts = [make(small), make(large)] as const;
		await time(make(small / 10));
		const times: { prose: number; small: number; large: number }[] = [];
		for (let round = 0; round < rounds; round++) {
			const before = await time(plain);
			const atSmall = [await time(texts[0]), await time(texts[0])];
			const atLarge = await time(texts[1]);
			const after = await time(plain);
			times.push({ prose: (before + after) / 2, small: Math.min(...atSmall), large: atLarge });
		}
		const nanoseconds = (milliseconds: number, bytes: number) => (milliseconds * 1e6) / bytes;
		results.push({
			kind,
			atSmall: nanoseconds(median(times.map((each) => each.small)), small),
			atLarge: nanoseconds(median(times.map((each) => each.large)), large),
			growth: median(times.map((each) => (each.large / each.small) * (small / large))),
			toProse: median(times.map((each) => each.large / large / (each.prose / Buffer.byteLength(plain)))),
		});
	}
	const most = (of: (result: (typeof results)[number]) => number) =>
		results.reduce((worst, result) => (of(result) > of(worst) ? result : worst));
	const growth = most((result) => result.growth);
	const toProse = most((result) => result.toProse);
	return {
		table: {
			caption: "Ours by kind",
			columns: ["kind", "ns/byte at 1 MB", "at 10 MB", "10 MB / 1 MB", "10 MB / English prose"],
			rows: results.map((result) => [
				result.kind,
				short(result.atSmall),
				short(result.atLarge),
				`${short(result.growth)} ×`,
				`${short(result.toProse)} ×`,
			]),
		},
		targets: [
			atMost(`hard texts: time a byte at 10 MB of that at 1 MB; the worst is ${growth.kind}`, 1.5, growth.growth),
			atMost(`hard texts: time a byte of that of prose; the worst is ${toProse.kind}`, 25, toProse.toProse),
		],
	};
}

/** One letter, repeated, under every counter; a counter that took long is not asked for more. */
async function letterTable(contenders: readonly CountingContender[]): Promise<Table> {
	const rows: string[][] = [];
	for (const { name, count, forget } of contenders) {
		const cells: string[] = [];
		let last = 0;
		for (const size of letterSizes) {
			progress(`pathological: ${name}, one letter, ${size}`);
			if (last > patienceMilliseconds) {
				cells.push("–");
				continue;
			}
			const text = "a".repeat(size);
			const run = { name, run: () => count(text), ...(forget ? { prepare: forget } : {}) };
			last = median([await timeOnce(run), await timeOnce(run), await timeOnce(run)]);
			cells.push(duration(last));
		}
		rows.push([name, ...cells]);
	}
	return {
		caption: "One letter, repeated, by the number of characters",
		columns: ["counter", ...letterSizes.map(short)],
		rows,
	};
}

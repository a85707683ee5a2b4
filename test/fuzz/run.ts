import { randomInt } from "node:crypto";
import { cpSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import type { Failure, Tally } from "./cases.ts";
import type { Said, Task } from "./worker.ts";

/** `npm run fuzz -- [--minutes N] [--seed S] [--target T] [--cases N] [--counts FILE] [--file CASE]`; this file runs as `build/fuzz/test/fuzz/run.js`. */
const { values } = parseArgs({
	options: {
		minutes: { type: "string" },
		seed: { type: "string" },
		target: { type: "string", multiple: true },
		cases: { type: "string" },
		counts: { type: "string" },
		file: { type: "string" },
	},
});
// The version of the package and the tables of tokens are read from beside the compiled source.
for (const name of ["package.json", "assets"]) {
	const [from, to] = ["../../../..", "../.."].map((folder) => resolve(import.meta.dirname, folder, name));
	cpSync(from as string, to as string, { recursive: true });
}

/** Of a case: of the processor, and by the clock, since the machine may be busy. */
const longest = { workMs: 5_000, waitMs: 30_000 };
const mostFailures = 10;
const mostGrowth = 100_000_000;
const say = (line: string) => process.stdout.write(`${line}\n`);

process.exitCode = (await (values.file === undefined ? fuzz() : repeat(values.file))) ? 0 : 1;

/** Checks the case of a file again. */
async function repeat(file: string): Promise<boolean> {
	const [{ targets }, { checkCase }] = await Promise.all([import("./targets.ts"), import("./target.ts")]);
	const { target: name, input } = JSON.parse(readFileSync(file, "utf8")) as Failure;
	const target = targets.find((one) => one.name === name);
	if (!target) throw new Error(`There is no target ${name}.`);
	say(`${name}: ${await checkCase(target, input)}`);
	await target.close?.();
	return true;
}

async function fuzz(): Promise<boolean> {
	const [{ targets }, { drawCase }] = await Promise.all([import("./targets.ts"), import("./target.ts")]);
	const all = targets.map(({ name }) => name);
	const names = values.target ?? all;
	const unknown = names.filter((name) => !all.includes(name));
	if (unknown.length > 0) {
		say(`There is no target ${unknown.join(", ")}; there are ${all.join(", ")}.`);
		return false;
	}
	const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
	const cases = values.cases === undefined ? Number.POSITIVE_INFINITY : Number(values.cases);
	const minutes = Number(values.minutes ?? (values.cases === undefined ? 1 : 24 * 60));
	say(`seed ${seed}, targets ${names.join(", ")}`);

	const begun = Date.now();
	let sum: Tallies = {};
	const failures: Failure[] = [];
	const heaps: number[] = [];
	const from: Record<string, number> = {};
	let suspect: Failure | undefined;
	for (let isOver = false; !isOver && failures.length < mostFailures; ) {
		const state = new SharedArrayBuffer(12);
		const task: Task = { names, seed, from: { ...from }, cases, endsAt: begun + minutes * 60_000, state };
		const life = await liveOf(task, all, {
			failure(failure) {
				failures.push(failure);
				tell(failure);
				return failures.length < mostFailures;
			},
			tallies(tallies) {
				if (values.counts !== undefined) writeCounts(values.counts, seed, sumOf(sum, tallies));
			},
		});
		for (const [name, tally] of Object.entries(life.tallies)) {
			from[name] = (from[name] ?? 0) + casesOf(tally);
		}
		sum = sumOf(sum, life.tallies);
		const { hung } = life;
		if (hung) {
			// The machine may have been busy: only a case that hangs twice fails.
			const isTwice = suspect?.target === hung.target && suspect.seed === hung.seed;
			from[hung.target] = hung.seed - seed + (isTwice ? 1 : 0);
			suspect = isTwice ? undefined : hung;
			const target = targets.find(({ name }) => name === hung.target);
			const failure = { ...hung, input: target && drawCase(target, hung.seed) };
			if (isTwice) failures.push(failure);
			if (isTwice) tell(failure);
		}
		heaps.push(life.growth);
		isOver = life.isOver;
	}
	for (const [name, tally] of Object.entries(sum)) {
		const { done, refused, failed, milliseconds } = tally;
		const rate = Math.round(((done + refused) / Math.max(1, milliseconds)) * 60_000);
		say(`${name}: ${casesOf(tally)} cases, ${done} done, ${refused} refused, ${failed} failed, ${rate} a minute`);
	}
	const total = totalOf(sum);
	const growth = Math.max(...heaps);
	const seconds = Math.round((Date.now() - begun) / 1_000);
	say(
		`${total} cases in ${seconds} s, ${failures.length} failed; heap grew by ${(growth / 1e6).toFixed(1)} MB; seed ${seed}`,
	);
	if (growth > mostGrowth) say(`broken: the heap grew by more than ${mostGrowth / 1e6} MB`);
	return failures.length === 0 && growth <= mostGrowth;
}

type Tallies = Readonly<Record<string, Tally>>;

function casesOf({ done, refused, failed }: Tally): number {
	return done + refused + failed;
}

function totalOf(tallies: Tallies): number {
	return Object.values(tallies).reduce((sum, tally) => sum + casesOf(tally), 0);
}

function sumOf(one: Tallies, other: Tallies): Tallies {
	const sum: Record<string, Tally> = { ...one };
	for (const [name, tally] of Object.entries(other)) {
		const whole = { ...(sum[name] ?? { done: 0, refused: 0, failed: 0, milliseconds: 0 }) };
		for (const key of Object.keys(whole) as (keyof Tally)[]) whole[key] += tally[key];
		sum[name] = whole;
	}
	return sum;
}

/** For a run of hours: the cases so far. */
function writeCounts(file: string, seed: number, tallies: Tallies): void {
	const counts = { at: new Date().toISOString(), seed, total: totalOf(tallies), targets: tallies };
	writeFileSync(`${file}.tmp`, `${JSON.stringify(counts, null, 1)}\n`);
	renameSync(`${file}.tmp`, file);
}

interface Life {
	readonly tallies: Tallies;
	readonly isOver: boolean;
	readonly hung: Failure | undefined;
	/** Of the heap after garbage was collected, in bytes, from the first quarter of the time to the end. */
	readonly growth: number;
}

/** One worker, until it is over or a case of it hangs. */
function liveOf(
	task: Task,
	all: readonly string[],
	on: {
		/** Whether to go on. */
		readonly failure: (failure: Failure) => boolean;
		readonly tallies: (tallies: Tallies) => void;
	},
): Promise<Life> {
	return new Promise((resolve, reject) => {
		const worker = new Worker(new URL("./worker.js", import.meta.url), { workerData: task });
		const underWay = new Int32Array(task.state);
		const heaps: number[] = [];
		let tallies: Tallies = {};
		let [seen, since, worked] = [0, performance.now(), workedMs()];
		const end = (isOver: boolean, hung?: Failure) => {
			clearInterval(watch);
			void worker.terminate().then(() => resolve({ tallies, isOver, hung, growth: growthOf(heaps) }));
		};
		const watch = setInterval(() => {
			const [place = 0, number = 0, count = 0] = underWay;
			if (count !== seen) [seen, since, worked] = [count, performance.now(), workedMs()];
			const isHung = workedMs() - worked > longest.workMs || performance.now() - since > longest.waitMs;
			if (count === 0 || !isHung) return;
			const target = all[place] ?? "";
			const message = `broken: the case takes more than ${longest.workMs} ms`;
			end(false, { target, seed: task.seed + number, message, input: undefined });
		}, 250);
		worker.on("message", (said: Said) => {
			if (said.is === "over") end(true);
			else if (said.is === "tallies") {
				({ tallies } = said);
				heaps.push(said.heap);
				on.tallies(tallies);
			} else if (!on.failure(said.failure)) end(true);
		});
		worker.on("error", (error) => {
			clearInterval(watch);
			reject(error);
		});
	});
}

function workedMs(): number {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1_000;
}

function growthOf(heaps: readonly number[]): number {
	const early = heaps.slice(0, Math.max(1, Math.ceil(heaps.length / 4)));
	const late = heaps.slice(-Math.max(1, Math.ceil(heaps.length / 4)));
	return heaps.length < 8 ? 0 : Math.max(0, Math.min(...late) - Math.max(...early));
}

function tell({ target, seed, message, input }: Failure): void {
	const file = join(tmpdir(), `palimpsest-fuzz-${target}-${seed}.json`);
	writeFileSync(file, `${JSON.stringify({ target, seed, input }, null, 1)}\n`);
	say(`\n${target}, seed ${seed}: ${message}`);
	say(`  shrunk case: ${file}`);
	say(`  repeat it:   npm run fuzz -- --target ${target} --seed ${seed} --cases 1`);
	say(`  or shrunk:   npm run fuzz -- --file ${file}`);
}

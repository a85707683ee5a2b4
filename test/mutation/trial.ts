import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileOf, type Mutant } from "./mutants.ts";
import { modulesOf } from "./rooms.ts";
import { type DryRun, type Outcome, type RunRequest, startWorker, type TestOfRoom } from "./worker-process.ts";

type Status = "Killed" | "Timeout" | "Survived" | "NoCoverage";

export interface Trial {
	readonly status: Status;
	/** The test that failed. */
	readonly by?: string;
}

export interface Trials {
	tryMutant(mutant: Mutant): Promise<Trial>;
	/** Runs random tests without a mutant; answers with the failures. */
	runBlank(rounds: number): Promise<readonly string[]>;
	close(): void;
}

interface Preparation {
	readonly tests: readonly string[];
	readonly mutants: readonly Mutant[];
	/** The file of where the modules were built. */
	readonly builtFiles: string;
	/** Whether to believe the process that stays: a survivor or a kill is not tried again in a new one. */
	readonly isQuick: boolean;
}

/** How often more than in the dry run a mutant may be reached. */
const hitFactor = 100;
/** One of so many kills is tried again in a process of its own. */
const checkedKills = 10;

/** Of a round without a mutant, on average. */
const blankTests = 20;

/** Loads the tests and runs them all without a mutant, which finds the tests of each mutant. */
export async function openTrials({ tests: files, mutants, builtFiles, isQuick }: Preparation): Promise<Trials> {
	const closures = new Map(files.map((file) => [file, modulesOf(file)]));
	// What is imported for its types alone is not built.
	const built: Readonly<Record<string, string>> = JSON.parse(readFileSync(builtFiles, "utf8"));
	const modules = [...new Set([...closures.values()].flatMap((one) => [...one]))].map((one) => resolve(one));
	const load = {
		kind: "load",
		mutants: 1 + Math.max(...mutants.map(({ id }) => Number(id)), 0),
		modules: modules.filter((one) => built[one] !== undefined && !one.endsWith(".test.ts")),
		files: files.map((one) => resolve(one)),
	} as const;
	const patience = 600_000;
	let shared = startWorker(builtFiles);
	refuse(await shared.ask({ ...load, isCounted: true }, patience), "the tests could not be loaded");
	const dry = (await shared.ask({ kind: "dryRun" }, patience)) as DryRun;
	refuse(dry, "the tests have to pass without a mutant");
	const times = new Map(dry.tests.map(({ id, milliseconds }) => [id, milliseconds]));
	let kills = 0;

	const isLoadedBy = (mutant: Mutant, file: string) =>
		closures.get(files[load.files.indexOf(file)] ?? "")?.has(fileOf(mutant)) ?? false;
	const patienceFor = (tests: readonly TestOfRoom[]) =>
		30_000 + 20 * tests.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
	const request = (mutant: number, tests: readonly TestOfRoom[], mostHits?: number): RunRequest => ({
		kind: "run",
		mutant,
		...(mostHits === undefined ? {} : { mostHits }),
		isAlone: false,
		tests: inGroups(tests),
	});

	async function restart(): Promise<void> {
		shared.end();
		shared = startWorker(builtFiles);
		refuse(await shared.ask({ ...load, isCounted: false }, patience), "the tests could not be loaded again");
	}

	/** In a process that loads the modules with the mutant in them. */
	async function tryAlone(mutant: Mutant, tests: readonly TestOfRoom[], mostHits: number): Promise<Trial> {
		const alone = startWorker(builtFiles);
		const wholeFiles = dry.withEnd.filter((file) => tests.some((test) => test.file === file));
		const isOfWhole = ({ file }: TestOfRoom) => wholeFiles.includes(file);
		const groups = [...inGroups(tests.filter((test) => !isOfWhole(test))), ...wholeFiles.map((file) => ({ file }))];
		const all = [...tests, ...dry.tests.filter(isOfWhole)];
		const outcome = await alone.ask(
			{ kind: "run", mutant: Number(mutant.id), mostHits, isAlone: true, tests: groups },
			patienceFor(all),
		);
		alone.end();
		if (outcome.isHung || outcome.isOver) return { status: "Timeout" };
		if (outcome.ended !== undefined) return { status: "Killed", by: "the process ended" };
		return outcome.failure ? { status: "Killed", by: outcome.failure.test } : { status: "Survived" };
	}

	/** In the process that stays. Undefined where that one cannot tell. */
	async function tryShared(mutant: Mutant, tests: readonly TestOfRoom[], mostHits: number): Promise<Trial | undefined> {
		const outcome = await shared.ask(request(Number(mutant.id), tests, mostHits), patienceFor(tests));
		if (outcome.isHung || outcome.ended !== undefined || (outcome.isOver && !outcome.failure)) {
			await restart();
			return outcome.ended !== undefined ? undefined : { status: "Timeout" };
		}
		if (!outcome.failure) return undefined;
		const failed = tests.filter(({ id }) => id === outcome.failure?.id);
		const again = await shared.ask(request(-1, failed.length > 0 ? failed : tests), patienceFor(tests));
		if (hasPassed(again)) {
			return { status: outcome.isOver ? "Timeout" : "Killed", by: outcome.failure.test };
		}
		// The mutant left something behind, or an earlier one did.
		await restart();
		return undefined;
	}

	async function tryMutant(mutant: Mutant): Promise<Trial> {
		const reached = dry.coverage[Number(mutant.id)];
		const hits = (reached?.modules ?? 0) + sum(reached?.files) + sum(reached?.tests);
		if (!reached || hits === 0) return { status: "NoCoverage" };
		const mostHits = hitFactor * hits;
		const isOfModules = reached.modules > 0;
		const tests = inOrder(
			dry.tests.filter(({ id, file }) =>
				isOfModules ? isLoadedBy(mutant, file) : reached.tests[id] !== undefined || reached.files[file] !== undefined,
			),
			mutant,
		);
		if (!isOfModules) {
			const sooner = tests.filter(({ file }) => reached.files[file] === undefined);
			const trial = sooner.length > 0 ? await tryShared(mutant, sooner, mostHits) : undefined;
			if (isQuick && sooner.length === tests.length) return trial ?? { status: "Survived" };
			if (trial?.status === "Killed") kills += 1;
			if (trial && (trial.status !== "Killed" || kills % checkedKills !== 0)) return trial;
		}
		return tryAlone(mutant, tests, mostHits);
	}

	async function runBlank(rounds: number): Promise<readonly string[]> {
		const failures: string[] = [];
		for (let round = 0; round < rounds; round += 1) {
			const some = dry.tests.filter(() => Math.random() < blankTests / dry.tests.length);
			const { failure, ended, isHung } = await shared.ask(request(-1, some), patienceFor(some));
			if (failure) failures.push(`${failure.test}: ${failure.error}`);
			if (ended !== undefined || isHung) {
				failures.push("the process ended");
				await restart();
			}
		}
		return failures;
	}

	function inOrder(tests: readonly TestOfRoom[], mutant: Mutant): TestOfRoom[] {
		const source = mutant.fileName.slice(mutant.fileName.lastIndexOf("/") + 1, -".ts".length);
		const isNamed = ({ file }: TestOfRoom) => file.slice(file.lastIndexOf("/") + 1).startsWith(source);
		const cost = (test: TestOfRoom) => (times.get(test.id) ?? 0) / (isNamed(test) ? 10 : 1);
		return tests.toSorted((a, b) => cost(a) - cost(b));
	}

	return { tryMutant, runBlank, close: () => shared.end() };
}

/** Quick tests first, each file once for them and once for the slow ones: its hooks may take long themselves. */
function inGroups(tests: readonly TestOfRoom[]): { file: string; ids: string[] }[] {
	const groups = new Map<string, { file: string; ids: string[] }>();
	for (const { id, file, milliseconds } of tests) {
		const key = `${milliseconds < slowMs} ${file}`;
		const group = groups.get(key) ?? { file, ids: [] };
		groups.set(key, group);
		group.ids.push(id);
	}
	return [...groups.values()];
}

const slowMs = 30;

function sum(hits: Readonly<Record<string, number>> = {}): number {
	return Object.values(hits).reduce((total, one) => total + one, 0);
}

function hasPassed({ failure, ended, isHung }: Outcome): boolean {
	return !failure && ended === undefined && !isHung;
}

function refuse({ failure, isHung, ended }: Outcome, rule: string): void {
	if (failure) throw new Error(`${rule}: ${failure.test}\n${failure.error}`);
	if (isHung) throw new Error(`${rule}: their process took too long`);
	if (ended !== undefined) throw new Error(`${rule}: their process ended\n${ended}`);
}

import { setMaxListeners } from "node:events";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import {
	collectTests,
	type File,
	getHooks,
	type Suite,
	startTests,
	type Task,
	type VitestRunner,
	type VitestRunnerConfig,
} from "@vitest/runner";
import fc from "fast-check";
import { importBuilt, mutation } from "./switch.ts";
import type { Coverage, DryRun, Outcome, Request, RunRequest } from "./worker-process.ts";

// The process that runs the tests of a room: it loads them once, and runs them again for each mutant.

// vitest reads it as it is loaded.
Object.assign(globalThis, {
	__vitest_worker__: { config: { fakeTimers: {}, snapshotOptions: {} }, filepath: "", providedContext: {} },
});
// Each run of a test listens to its signal again.
setMaxListeners(0);
// That a random case fails is enough: to look for a smaller one would take most of the time.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_261_124, endOnFailure: true });

const files = new Map<string, File>();
/** As the files say, before a run leaves out tests. */
const modes = new Map<Task, Task["mode"]>();
/** In the dry run alone, by the test or the suite that was at work. */
const covered = new Map<Task | "modules", Uint32Array>();
const loaded = new Map<string, Uint32Array>();
let mutantCount = 0;
let failure: Outcome["failure"];
/** Whether a failure of `afterAll` counts. Many such hooks check how many cases the tests before them had. */
let isEndChecked = true;

const config = {
	root: process.cwd(),
	setupFiles: [],
	passWithNoTests: true,
	allowOnly: true,
	sequence: { shuffle: false, concurrent: false, seed: 0, hooks: "stack", setupFiles: "list" },
	maxConcurrency: 1,
	// The process that started this one watches the time.
	testTimeout: 0,
	hookTimeout: 0,
	retry: 0,
	includeTaskLocation: false,
	tags: [],
	strictTags: false,
} as unknown as VitestRunnerConfig;

const runner: VitestRunner = {
	config,
	importFile: (path) => importBuilt(path),
	onBeforeRunSuite(suite) {
		if (failure) suite.mode = "skip";
		countFor(suite);
	},
	onAfterRunSuite(suite) {
		const [error] = suite.result?.errors ?? [];
		const isOfEnd = suite.result?.hooks?.afterAll === "run";
		if (error && (isEndChecked || !isOfEnd)) failure ??= { test: suite.name, error: error.message };
		countFor(suite.suite ?? suite.file);
	},
	onBeforeRunTask(test) {
		if (failure) test.mode = "skip";
		countFor(test);
	},
	onAfterRunTask(test) {
		if (test.result?.state === "fail") {
			failure ??= { test: test.fullName, id: test.id, error: test.result.errors?.[0]?.message ?? "" };
		}
		countFor(test.suite ?? test.file);
	},
};

process.on("message", async (request: Request) => {
	const answers = { load, dryRun, run };
	process.send?.(await answers[request.kind](request as never));
});

async function load(request: Request & { kind: "load" }) {
	mutantCount = request.mutants;
	if (request.isCounted) countFor("modules");
	for (const module of request.modules) await importBuilt(module);
	for (const file of request.files) {
		if (request.isCounted) loaded.set(file, startCounting());
		await collect(file);
	}
	mutation.counts = undefined;
	return { failure };
}

async function collect(path: string): Promise<File> {
	const known = files.get(path);
	if (known) return known;
	const [file] = await collectTests([path], runner);
	if (!file) throw new Error(`${path} is no file of tests.`);
	const [error] = file.result?.errors ?? [];
	if (error) failure ??= { test: `${file.name} is loaded`, error: error.message };
	files.set(path, file);
	for (const task of tasksOf(file)) modes.set(task, task.mode);
	return file;
}

/** All tests without a mutant: how long they take, and which mutants each reaches. */
async function dryRun(): Promise<DryRun> {
	covered.set("modules", covered.get("modules") ?? startCounting());
	await runFiles([...files.values()]);
	mutation.counts = undefined;
	const tests = [...files].flatMap(([file, root]) =>
		tasksOf(root)
			.filter((task) => task.type === "test")
			.map((test) => ({
				id: test.id,
				file,
				name: test.fullName,
				milliseconds: test.result?.duration ?? 0,
				isRun: test.result?.state === "pass",
			})),
	);
	const coverage = coverageOf();
	covered.clear();
	const hasEnd = (task: Task) => task.type === "suite" && getHooks(task).afterAll.length > 0;
	const withEnd = [...files].filter(([, root]) => tasksOf(root).some(hasEnd)).map(([file]) => file);
	return { tests: tests.filter(({ isRun }) => isRun), withEnd, coverage, failure };
}

function coverageOf(): Coverage[] {
	const coverage: Coverage[] = Array.from({ length: mutantCount }, () => ({ modules: 0, files: {}, tests: {} }));
	const each = (counts: Uint32Array | undefined, tell: (of: Coverage, hits: number) => void) =>
		counts?.forEach((hits, mutant) => {
			const of = coverage[mutant];
			if (hits > 0 && of) tell(of, hits);
		});
	each(covered.get("modules"), (of, hits) => {
		of.modules = hits;
	});
	for (const [file, root] of files) {
		each(loaded.get(file), (of, hits) => {
			of.files[file] = hits;
		});
		for (const test of tasksOf(root).filter((task) => task.type === "test")) {
			for (const task of [test, ...suitesAround(test)]) {
				each(covered.get(task), (of, hits) => {
					of.tests[test.id] = (of.tests[test.id] ?? 0) + hits;
				});
			}
		}
	}
	return coverage;
}

/** Tests with a mutant, or with none, up to the first that fails. */
async function run({ mutant, mostHits, tests, isAlone }: RunRequest): Promise<Outcome> {
	failure = undefined;
	isEndChecked = isAlone;
	Object.assign(mutation, { active: mutant, hits: 0, mostHits: mostHits ?? Number.POSITIVE_INFINITY });
	for (const { file, ids } of tests) {
		const root = await collect(file);
		if (failure) break;
		choose(root, ids && new Set(ids));
		await runFiles([root]);
		if (failure) break;
	}
	const isOver = mutation.hits > mutation.mostHits;
	mutation.active = -1;
	await removeScratchFolders();
	return { failure, isOver };
}

/** Leaves out the other tests. Answers whether any is left. */
function choose(task: Task, ids: ReadonlySet<string> | undefined): boolean {
	delete task.result;
	const mode = modes.get(task) ?? "run";
	const isChosen =
		task.type === "suite"
			? task.tasks.map((one) => choose(one, ids)).some(Boolean)
			: ids === undefined || ids.has(task.id);
	task.mode = isChosen ? mode : "skip";
	return isChosen;
}

/** With the hooks of all suites, as vitest does it after it has collected the tests. */
async function runFiles(roots: readonly File[]): Promise<void> {
	await startTests([], { ...runner, onCollected: (collected) => collected.push(...roots) });
}

async function removeScratchFolders(): Promise<void> {
	const { scratchFolders } = (await importBuilt(resolve("test/support/scratch-folder.ts"))) as {
		scratchFolders: string[];
	};
	for (const folder of scratchFolders.splice(0)) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

function countFor(task: Task | "modules"): void {
	if (covered.size === 0 && task !== "modules") return;
	const counts = covered.get(task) ?? startCounting();
	covered.set(task, counts);
	mutation.counts = counts;
}

function startCounting(): Uint32Array {
	mutation.counts = new Uint32Array(mutantCount);
	return mutation.counts;
}

function tasksOf(task: Task): Task[] {
	return task.type === "suite" ? [task, ...task.tasks.flatMap(tasksOf)] : [task];
}

function suitesAround(task: Task): Suite[] {
	const suite = task.suite ?? (task === task.file ? undefined : task.file);
	return suite ? [suite, ...suitesAround(suite)] : [];
}

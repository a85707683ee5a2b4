import { fork } from "node:child_process";
import { join } from "node:path";

export interface TestOfRoom {
	readonly id: string;
	readonly file: string;
	readonly name: string;
	readonly milliseconds: number;
}

/** How often the place of a mutant is reached. */
export interface Coverage {
	/** As the modules are loaded that the files of tests import. */
	modules: number;
	/** As a file of tests is loaded itself. */
	files: Record<string, number>;
	tests: Record<string, number>;
}

export interface LoadRequest {
	readonly kind: "load";
	readonly mutants: number;
	/** Loaded before the files of tests. */
	readonly modules: readonly string[];
	readonly files: readonly string[];
	readonly isCounted: boolean;
}

export interface RunRequest {
	readonly kind: "run";
	/** -1 for none. */
	readonly mutant: number;
	readonly mostHits?: number;
	/** Whether the process runs nothing else, so that what the tests counted before is theirs. */
	readonly isAlone: boolean;
	/** In their order; all tests of a file without `ids`. */
	readonly tests: readonly { readonly file: string; readonly ids?: readonly string[] }[];
}

export type Request = LoadRequest | RunRequest | { readonly kind: "dryRun" };

export interface Outcome {
	/** The first test that failed, or the suite or file that could not be prepared. */
	readonly failure?: { readonly test: string; readonly id?: string; readonly error: string } | undefined;
	/** Whether the mutant was reached too often. */
	readonly isOver?: boolean;
	/** Whether no answer came in time. */
	readonly isHung?: boolean;
	/** What the process wrote last, if it ended. */
	readonly ended?: string;
}

export interface DryRun extends Outcome {
	readonly tests: readonly TestOfRoom[];
	/** The files that have hooks of `afterAll`. */
	readonly withEnd: readonly string[];
	readonly coverage: readonly Coverage[];
}

export interface WorkerProcess {
	ask(request: Request, patienceMs: number): Promise<Outcome>;
	end(): void;
}

export function startWorker(builtFiles: string): WorkerProcess {
	const child = fork(join(import.meta.dirname, "worker.js"), {
		env: {
			...process.env,
			MUTATION_BUILT_FILES: builtFiles,
			MUTATION_TESTS: "1",
			NODE_ENV: "test",
			VITEST: "true",
			TEST: "true",
		},
		execArgv: ["--max-old-space-size=2048"],
		serialization: "advanced",
		stdio: ["ignore", "ignore", "pipe", "ipc"],
	});
	let errorOutput = "";
	child.stderr?.on("data", (text) => {
		errorOutput = `${errorOutput}${text}`.slice(-2_000);
	});
	const ask = (request: Request, patienceMs: number) =>
		new Promise<Outcome>((done) => {
			const settle = (outcome: Outcome) => {
				clearTimeout(timer);
				child.removeAllListeners("message").removeAllListeners("close");
				done(outcome);
			};
			const timer = setTimeout(() => {
				child.kill("SIGKILL");
				settle({ isHung: true });
			}, patienceMs);
			if (!child.connected) return settle({ ended: errorOutput });
			child.once("message", (answer: Outcome) => settle(answer));
			child.once("close", () => settle({ ended: errorOutput }));
			child.send(request, () => {});
		});
	return { ask, end: () => child.kill("SIGKILL") };
}

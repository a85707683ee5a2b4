import { setMaxListeners } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { Piscina } from "piscina";
import { joinSignals } from "../../summariser/summariser.ts";
import { BusyError } from "./busy-error.ts";
import type { CallPool, PoolOptions, ThreadJob, ThreadOutcome, Waiting } from "./call-pool.ts";
import { createFairQueue, type Entry } from "./fair-queue.ts";

const mebibyte = 1024 * 1024;

/** Time after which a thread with nothing to do ends, while there is another one, in ms. */
const idleMilliseconds = 60_000;

/** The thread's module: TypeScript's in the sources, JavaScript's where it was built. */
const threadModule = fileURLToPath(new URL(`./run-job${import.meta.url.slice(-3)}`, import.meta.url));

/** Bounds of what a busy pool tells its callers to wait, in ms. */
const [shortestWait, longestWait] = [1_000, 60_000];

/**
 * Starts a pool of threads. Jobs wait here, and not with Piscina, so that the callers take turns and a ceiling holds for
 * bytes too.
 */
export function createPool(options: PoolOptions = {}): CallPool {
	const { threads = Math.max(1, availableParallelism() - 1), maxQueue = 64, maxQueueBytes = 256 * mebibyte } = options;
	const piscina = new Piscina({
		filename: threadModule,
		name: "runJob",
		minThreads: 1,
		maxThreads: threads,
		idleTimeout: idleMilliseconds,
		// A thread that waits for its next job by blocking would not serve its connection to Redis meanwhile.
		atomics: "disabled",
		recordTiming: false,
	});
	// A thread that fails while it has no job is replaced when the next one comes.
	piscina.on("error", () => undefined);

	const queue = createFairQueue<() => void>({ jobs: maxQueue, bytes: maxQueueBytes });
	const closing = new AbortController();
	// Every call that waits or runs listens to it; Node takes more than ten listeners for a leak.
	setMaxListeners(0, closing.signal);
	let running = 0;
	let usual = shortestWait;

	/** Waits for a turn, which counts as running. */
	const takeTurn = async (job: ThreadJob, { principal, signal, isAdmitted }: Waiting): Promise<void> => {
		if (running < threads) {
			running += 1;
			return;
		}
		await new Promise<void>((resolve, reject) => {
			const entry: Entry<() => void> = { owner: principal, bytes: job.arguments.byteLength, job: begin };
			function begin(): void {
				signal.removeEventListener("abort", leave);
				resolve();
			}
			function leave(): void {
				queue.remove(entry);
				reject(signal.reason);
			}
			if (!queue.add(entry, { isAdmitted })) return reject(new BusyError(wait()));
			signal.addEventListener("abort", leave, { once: true });
		});
	};
	const wait = (): number => {
		const all = (usual * (queue.size() + running)) / threads;
		return Math.round(Math.min(Math.max(all, shortestWait), longestWait));
	};
	/** Hands the turn on, so that it is never free while somebody waits for it. */
	const endTurn = (): void => {
		const next = queue.next();
		if (next) next.job();
		else running -= 1;
	};

	const runInTurn = async (job: ThreadJob, waiting: Waiting): Promise<ThreadOutcome> => {
		const { signal } = waiting;
		signal.throwIfAborted();
		await takeTurn(job, waiting);
		waiting.onBegin?.();
		const began = performance.now();
		try {
			const transferList = [job.arguments.buffer as ArrayBuffer];
			const outcome: ThreadOutcome = await piscina.run(job, { signal, transferList });
			usual += (performance.now() - began - usual) / 8;
			return outcome;
		} catch (error) {
			// Piscina's own words for it say less.
			signal.throwIfAborted();
			throw error;
		} finally {
			endTurn();
		}
	};

	return {
		async run(job, waiting) {
			const { signal, release } = joinSignals(waiting.signal, closing.signal);
			return runInTurn(job, { ...waiting, signal }).finally(release);
		},
		stats: () => ({ running, queued: queue.size(), capacity: threads }),
		async close() {
			closing.abort(new Error("The server is closing."));
			await piscina.destroy();
		},
	};
}

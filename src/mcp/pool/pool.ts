import { setMaxListeners } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import { Piscina } from "piscina";
import type { Original } from "../../archive/archive.ts";
import type { ArchiveLocation } from "../../archive/open.ts";
import { type ErrorCode, PalimpsestError, type SummariserErrorCode } from "../../errors.ts";
import type { LogEvent } from "../../operations/edit-record.ts";
import type { PolicyLayer } from "../../policy/schema.ts";
import { joinSignals, type SummaryAnswer, type SummaryRequest } from "../../summariser/summariser.ts";
import type { CallReport } from "../run-tool.ts";

const mebibyte = 1024 * 1024;

/** Time after which a thread with nothing to do ends, while there is another one, in ms. */
const idleMilliseconds = 60_000;

/** The thread's module: TypeScript's in the sources, JavaScript's where it was built. */
const threadModule = fileURLToPath(new URL(`./job${import.meta.url.slice(-3)}`, import.meta.url));

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

/** A call was not begun, since too many others wait. */
export class BusyError extends PalimpsestError {
	declare readonly code: "rate_limit";
	/** In ms from now, the time after which there is likely room, reckoned from how long calls took until now. */
	readonly retry_after_ms: number;

	constructor(retryAfterMs: number) {
		const seconds = Math.ceil(retryAfterMs / 1_000);
		super("rate_limit", `The server is busy: too many calls wait already. Call again in ${seconds} s.`);
		this.retry_after_ms = retryAfterMs;
	}
}

/** A call of a tool for a thread of its own: data alone, since nothing else reaches another thread. */
export interface ThreadJob {
	/** Under which the call is answered. */
	readonly id: RequestId;
	readonly tool: string;
	/** The arguments as JSON in UTF-8. Moved to the thread: nobody else can use them from then on. */
	readonly arguments: Uint8Array;
	readonly layers: readonly PolicyLayer[];
	/** The policy file in force, from whose folder strategies of the user's own are loaded. */
	readonly policyFile: string | null;
	/** Where originals are kept; absent where nothing is. */
	readonly archive?: ArchiveLocation | undefined;
	/** Folders whose files the call may name by path. */
	readonly allowedPaths: readonly string[];
	/** Models that the call may ask, by the names that reports give them. */
	readonly models: { readonly [model in ModelKind]?: string | undefined };
	/** What models answered until now. */
	readonly answers: readonly ModelAnswer[];
}

/** The client's own model, or the one that the environment names. */
export type ModelKind = "sampling" | "endpoint";

/** What a model is asked, as data. */
export type ModelQuestion = { readonly model: ModelKind } & Pick<SummaryRequest, "prompt" | "maxTokens" | "locale">;

/** What a model answered to a question, or why it did not. */
export type ModelAnswer = { readonly question: ModelQuestion } & (
	| { readonly answer: SummaryAnswer }
	| { readonly code: SummariserErrorCode; readonly message: string; readonly statusCode: number | undefined }
);

/**
 * What a thread gives back: the call's answer; or a question to a model, since no thread waits for one. The same job with
 * the answer added comes to the same question, and goes on from there.
 */
export type ThreadOutcome =
	| ({ readonly kind: "answer"; readonly log: readonly LogEvent[] } & ThreadAnswer)
	| {
			readonly kind: "question";
			readonly question: ModelQuestion;
			/** Those of the job, moved back. */
			readonly arguments: Uint8Array;
	  };

/** The answer to a call. */
export interface ThreadAnswer {
	/** The whole JSON-RPC message in UTF-8, on one line; its result may be an error of the tool. */
	readonly message: Uint8Array;
	/** The code of that error; `undefined` where the call went well. */
	readonly code: ErrorCode | undefined;
	readonly report: CallReport | undefined;
	/** What has to be kept before anybody sees the answer, where the archive is in the memory of another thread. */
	readonly originals: readonly Original[];
}

/** How a job waits. */
export interface Waiting {
	/** In whose turn it comes: those of one principal wait behind each other. */
	readonly principal: string;
	/** Ends it, also while it waits; its thread is stopped. */
	readonly signal: AbortSignal;
	/** Whether it was taken in before, and is not refused any more. */
	readonly isAdmitted: boolean;
	/** Called when its turn comes. */
	readonly onBegin?: () => void;
}

/** How busy a pool is, in calls. */
export interface PoolStats {
	readonly running: number;
	readonly queued: number;
	/** Most that run at the same time. */
	readonly capacity: number;
}

/** Threads that take the calls which would hold up everybody else. */
export interface CallPool {
	/**
	 * Runs a job when its turn comes.
	 *
	 * @throws BusyError where too many others wait.
	 * @throws The signal's reason where the signal ended it.
	 */
	run(job: ThreadJob, waiting: Waiting): Promise<ThreadOutcome>;
	stats(): PoolStats;
	/** Ends every job and every thread. */
	close(): Promise<void>;
}

/** How large a pool is. */
export interface PoolOptions {
	/** Threads. Default: one less than processors, 1 at least. */
	readonly threads?: number | undefined;
	/** Most calls that wait for a thread. Default 64. */
	readonly maxQueue?: number | undefined;
	/** Most bytes of arguments that wait, in all. Default 256 MiB. */
	readonly maxQueueBytes?: number | undefined;
}

/** Jobs that wait, of several owners. */
export interface FairQueue<Job> {
	/** Takes a job in; false where it would be over a ceiling. One that is `admitted` is taken in any case. */
	add(entry: Entry<Job>, how: { readonly isAdmitted: boolean }): boolean;
	/** Takes a job out before its turn. */
	remove(entry: Entry<Job>): void;
	/** Takes out the job whose turn it is; `undefined` where none waits. */
	next(): Entry<Job> | undefined;
	size(): number;
}

/** A job that waits. */
export interface Entry<Job> {
	readonly owner: string;
	readonly bytes: number;
	readonly job: Job;
}

/** Most that waits. */
export interface FairQueueLimits {
	readonly jobs: number;
	readonly bytes: number;
}

/** Makes an empty queue: owners take turns, and the jobs of one come in the order in which they were added. */
export function createFairQueue<Job>(limits: FairQueueLimits): FairQueue<Job> {
	// An owner who has had a turn goes to the end; one without jobs is not there.
	const owners = new Map<string, Entry<Job>[]>();
	let [jobs, bytes] = [0, 0];

	const count = (entry: Entry<Job>, change: 1 | -1): void => {
		jobs += change;
		bytes += change * entry.bytes;
	};
	return {
		add(entry, { isAdmitted }) {
			const isOver = jobs >= limits.jobs || (jobs > 0 && bytes + entry.bytes > limits.bytes);
			if (isOver && !isAdmitted) return false;
			owners.set(entry.owner, [...(owners.get(entry.owner) ?? []), entry]);
			count(entry, 1);
			return true;
		},
		remove(entry) {
			const own = owners.get(entry.owner) ?? [];
			const rest = own.filter((one) => one !== entry);
			if (rest.length === own.length) return;
			if (rest.length === 0) owners.delete(entry.owner);
			else owners.set(entry.owner, rest);
			count(entry, -1);
		},
		next() {
			const [turn] = owners;
			if (turn === undefined) return undefined;
			const [owner, [first, ...rest]] = turn;
			owners.delete(owner);
			if (rest.length > 0) owners.set(owner, rest);
			if (first) count(first, -1);
			return first;
		},
		size: () => jobs,
	};
}

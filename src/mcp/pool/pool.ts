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

export interface PoolOptions {
	/** Threads. Default: one less than processors, 1 at least. */
	readonly threads?: number | undefined;
	/** Most calls that wait for a thread. Default 64. */
	readonly maxQueue?: number | undefined;
	/** Most bytes of arguments that wait, in all. Default 256 MiB. */
	readonly maxQueueBytes?: number | undefined;
}

/** Worker threads that run the calls which would hold up other clients. */
export type CallPool = ReturnType<typeof createPool>;

/** Time in ms after which a thread without work ends, while there is another one. */
const idleMilliseconds = 60_000;

/** The module of a thread: TypeScript in the sources, JavaScript in the build. */
const threadModule = fileURLToPath(new URL(`./job${import.meta.url.slice(-3)}`, import.meta.url));

/** Bounds in ms of the wait that a busy pool tells its callers. */
const [shortestWait, longestWait] = [1_000, 60_000];

/**
 * Starts a pool of threads. Jobs wait here and not in Piscina, so that the callers take turns and a ceiling holds for bytes
 * too.
 */
export function createPool(options: PoolOptions = {}) {
	const {
		threads = Math.max(1, availableParallelism() - 1),
		maxQueue = 64,
		maxQueueBytes = 256 * 1024 * 1024,
	} = options;
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
	// Every call that waits or runs listens to it, and Node warns of a leak from eleven listeners on.
	setMaxListeners(0, closing.signal);
	let running = 0;
	/** Moving average of the time that a job takes, in ms. */
	let usual = shortestWait;

	/** Waits for a turn. From then on the job counts as running. */
	const takeTurn = async (job: ThreadJob, { principal, signal, isAdmitted }: Waiting): Promise<void> => {
		signal.throwIfAborted();
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

	return {
		/**
		 * Runs a job when its turn comes.
		 *
		 * @throws BusyError where too many others wait.
		 * @throws The signal's reason where the signal ended the job.
		 */
		async run(job: ThreadJob, waiting: Waiting): Promise<ThreadOutcome> {
			const { signal, release } = joinSignals(waiting.signal, closing.signal);
			try {
				await takeTurn(job, { ...waiting, signal });
				try {
					waiting.onBegin?.();
					const began = performance.now();
					const transferList = [job.arguments.buffer as ArrayBuffer];
					const outcome: ThreadOutcome = await piscina.run(job, { signal, transferList });
					usual += (performance.now() - began - usual) / 8;
					return outcome;
				} finally {
					// Handed on at once, so that no newcomer overtakes a job that waits.
					const next = queue.next();
					if (next) next.job();
					else running -= 1;
				}
			} catch (error) {
				// More precise than Piscina's own error.
				signal.throwIfAborted();
				throw error;
			} finally {
				release();
			}
		},
		/** How many calls run, how many wait, and how many can run at the same time. */
		stats: () => ({ running, queued: queue.size(), capacity: threads }),
		/** Ends every job and every thread. */
		async close(): Promise<void> {
			closing.abort(new Error("The server is closing."));
			await piscina.destroy();
		},
	};
}

/** A call was not begun, since too many others wait. */
export class BusyError extends PalimpsestError {
	declare readonly code: "rate_limit";
	/** Time in ms after which there is likely room, estimated from how long calls took until now. */
	readonly retry_after_ms: number;

	constructor(retryAfterMs: number) {
		const seconds = Math.ceil(retryAfterMs / 1_000);
		super("rate_limit", `The server is busy: too many calls wait already. Call again in ${seconds} s.`);
		this.retry_after_ms = retryAfterMs;
	}
}

interface Waiting {
	/** The jobs of one principal wait behind each other. */
	readonly principal: string;
	/** Ends the job, also while it waits; its thread is stopped. */
	readonly signal: AbortSignal;
	/** Whether the job was admitted before, and so is not refused any more. */
	readonly isAdmitted: boolean;
	readonly onBegin?: () => void;
}

/** A call of a tool for a thread: data alone, since nothing else reaches another thread. */
export interface ThreadJob {
	readonly id: RequestId;
	readonly tool: string;
	/** The arguments as JSON in UTF-8. Their memory moves to the thread. */
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
	/** What models have answered so far. */
	readonly answers: readonly ModelAnswer[];
}

/** The client's own model, or the one that the environment names. */
export type ModelKind = "sampling" | "endpoint";

/** A question to a model, as data. */
export type ModelQuestion = { readonly model: ModelKind } & Pick<SummaryRequest, "prompt" | "maxTokens" | "locale">;

/** The answer of a model to a question, or why there is none. */
export type ModelAnswer = { readonly question: ModelQuestion } & (
	| { readonly answer: SummaryAnswer }
	| { readonly code: SummariserErrorCode; readonly message: string; readonly statusCode: number | undefined }
);

/**
 * What a thread gives back: the answer to the call, or a question to a model, since no thread waits for one. The same job
 * with the model's answer added comes to the same question and goes on from there.
 */
export type ThreadOutcome =
	| {
			readonly kind: "answer";
			/** The whole JSON-RPC message in UTF-8, on one line; its result may be an error of the tool. */
			readonly message: Uint8Array;
			readonly code: ErrorCode | undefined;
			readonly report: CallReport | undefined;
			/** Texts to archive before the answer is sent, where the archive is in the memory of the server's thread. */
			readonly originals: readonly Original[];
			readonly log: readonly LogEvent[];
	  }
	| {
			readonly kind: "question";
			readonly question: ModelQuestion;
			/** Those of the job, moved back. */
			readonly arguments: Uint8Array;
	  };

export interface Entry<Job> {
	readonly owner: string;
	readonly bytes: number;
	readonly job: Job;
}

/** Makes an empty queue: owners take turns, and the jobs of one owner keep their order. */
export function createFairQueue<Job>(limits: { readonly jobs: number; readonly bytes: number }) {
	// An owner who has had a turn goes to the end; one without jobs is not there.
	const owners = new Map<string, Entry<Job>[]>();
	let [jobs, bytes] = [0, 0];
	const count = (entry: Entry<Job>, change: 1 | -1): void => {
		jobs += change;
		bytes += change * entry.bytes;
	};
	return {
		/** Takes a job in; false where it would be over a ceiling, unless it was admitted before. */
		add(entry: Entry<Job>, { isAdmitted }: { readonly isAdmitted: boolean }): boolean {
			const isOver = jobs >= limits.jobs || (jobs > 0 && bytes + entry.bytes > limits.bytes);
			if (isOver && !isAdmitted) return false;
			owners.set(entry.owner, [...(owners.get(entry.owner) ?? []), entry]);
			count(entry, 1);
			return true;
		},
		remove(entry: Entry<Job>): void {
			const own = owners.get(entry.owner) ?? [];
			const rest = own.filter((one) => one !== entry);
			if (rest.length === own.length) return;
			if (rest.length === 0) owners.delete(entry.owner);
			else owners.set(entry.owner, rest);
			count(entry, -1);
		},
		/** Takes out the job whose turn it is; `undefined` where none waits. */
		next(): Entry<Job> | undefined {
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

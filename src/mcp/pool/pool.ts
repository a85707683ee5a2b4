import { setMaxListeners } from "node:events";
import { availableParallelism } from "node:os";
import type { JsonObject } from "../../engine/conversation/json.ts";
import type { PolicyLayer } from "../../engine/policy/schema.ts";
import { type ErrorCode, PalimpsestError, SummariserError, type SummariserErrorCode } from "../../errors.ts";
import type { CallReport, LogEvent } from "../../log.ts";
import {
	joinSignals,
	type Summariser,
	type SummaryAnswer,
	type SummaryRequest,
} from "../../operations/summariser/summariser.ts";
import { openThreads } from "../../operations/threads.ts";
import type { Archive, Original } from "../../storage/archive/archive.ts";
import type { ArchiveLocation, ArchiveSource } from "../../storage/archive/open.ts";
import { heldArguments } from "../body.ts";
import type { WorkProgress } from "../tool.ts";
import { failedCall, type ToolContext, type ToolOutcome } from "../tool.ts";
import { createFairQueue, createPace, type Entry } from "./queue.ts";

type PoolOptions = { readonly [option in "threads" | "maxQueue" | "maxQueueBytes"]?: number | undefined };

export type CallPool = ReturnType<typeof createPool>;

/** Jobs wait here and not in Piscina, so that callers take turns and the queue has a limit in bytes too. */
export function createPool(options: PoolOptions = {}) {
	const { threads = availableParallelism(), maxQueue = 64 } = options;
	const { maxQueueBytes = 256 * 1024 * 1024 } = options;
	const module = new URL(`./thread${import.meta.url.slice(-3)}`, import.meta.url);
	const piscina = openThreads({ module, name: "runJob", least: 1, most: threads });

	const queue = createFairQueue<() => void>({ jobs: maxQueue, bytes: maxQueueBytes }, () => performance.now());
	const closing = new AbortController();
	// Every call listens to it, and Node warns of a leak from eleven listeners on.
	setMaxListeners(0, closing.signal);
	let running = 0;
	const pace = createPace(() => performance.now());

	const takeTurn = async (job: ThreadJob, { principal, caller, signal, isAdmitted }: Waiting): Promise<void> => {
		signal.throwIfAborted();
		if (running < threads) {
			running += 1;
			return;
		}
		await new Promise<void>((resolve, reject) => {
			const bytes = job.arguments.byteLength;
			const entry: Entry<() => void> = { owner: principal, caller, bytes, job: begin };
			function begin(): void {
				signal.removeEventListener("abort", leave);
				resolve();
			}
			function leave(): void {
				queue.remove(entry);
				reject(signal.reason);
			}
			const ahead = queue.add(entry, { isAdmitted });
			if (ahead > 0) {
				// Half of the queue later, so that few come too early; the other half keeps the threads busy.
				const waitMs = pace.waitFor(ahead + maxQueue / 2);
				queue.keepPlace(entry, waitMs);
				return reject(new BusyError(waitMs));
			}
			signal.addEventListener("abort", leave, { once: true });
		});
	};

	return {
		/** Runs a job when its turn comes. Throws BusyError if too many others wait, or the signal's reason. */
		async run(job: ThreadJob, waiting: Waiting): Promise<ThreadOutcome> {
			const { signal, release } = joinSignals(waiting.signal, closing.signal);
			let termination: Termination | undefined;
			try {
				await takeTurn(job, { ...waiting, signal });
				try {
					waiting.onBegin?.();
					const transferList = [job.arguments.buffer as ArrayBuffer];
					const phase = createJobPhase();
					termination = terminationOf(phase, signal);
					const task = { signal: termination.signal, transferList };
					const outcome: ThreadOutcome = await piscina.run({ ...job, phase }, task);
					signal.throwIfAborted();
					return outcome;
				} finally {
					termination?.release();
					// At once, so that no newcomer overtakes a waiting job.
					const next = queue.next();
					pace.ended(next !== undefined);
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
		stats: () => ({ running, queued: queue.size(), capacity: threads }),
		async close(): Promise<void> {
			closing.abort(new Error("The server is closing."));
			await piscina.destroy();
		},
	};
}

class BusyError extends PalimpsestError {
	declare readonly code: "rate_limit";
	readonly retry_after_ms: number;

	constructor(retryAfterMs: number) {
		const seconds = Math.ceil(retryAfterMs / 1_000);
		super("rate_limit", `The server is busy: too many calls wait already. Call again in ${seconds} s.`);
		this.retry_after_ms = retryAfterMs;
	}
}

interface Waiting {
	readonly principal: string;
	/** The session, or the principal where there is none. */
	readonly caller: string;
	readonly signal: AbortSignal;
	/** An admitted job is no longer refused. */
	readonly isAdmitted: boolean;
	readonly onBegin?: () => void;
}

export interface ThreadJob {
	readonly tool: string;
	/** All tools of the server, on which the form of this one depends. */
	readonly offered: readonly string[];
	/** JSON in UTF-8. Its memory moves to the thread. */
	readonly arguments: Uint8Array;
	readonly layers: readonly PolicyLayer[];
	readonly policyFile: string | null;
	readonly archive?: ArchiveLocation | undefined;
	readonly allowedPaths: readonly string[];
	readonly models: { readonly [model in ModelKind]?: string | undefined };
	readonly answers: readonly ModelAnswer[];
}

export type ModelKind = "sampling" | "endpoint";

export type ModelQuestion = { readonly model: ModelKind } & Pick<SummaryRequest, "prompt" | "maxTokens" | "locale">;

type ModelAnswer = { readonly question: ModelQuestion } & (
	| { readonly answer: SummaryAnswer }
	| { readonly code: SummariserErrorCode; readonly message: string; readonly statusCode: number | undefined }
);

/** No thread waits for a model: the job ends with a question, and the same job continues from there with the answer. */
export type ThreadOutcome =
	| {
			readonly kind: "answer";
			/** JSON in UTF-8; it may be an error of the tool. */
			readonly result: Uint8Array;
			readonly code: ErrorCode | undefined;
			readonly report: CallReport | undefined;
			/** To archive before the answer is sent, if the archive is in the memory of the server's thread. */
			readonly originals: readonly Original[];
			readonly log: readonly LogEvent[];
	  }
	| { readonly kind: "question"; readonly question: ModelQuestion; readonly arguments: Uint8Array };

// ---- The end of a job that no caller waits for ----

/**
 * The phase of a thread's job, shared with the server's thread. Node.js leaks a descriptor if a thread is terminated
 * while it opens a file. So a job without a waiting caller ends in two ways: a computing thread is terminated, and a thread
 * that reads or writes ends the job itself afterwards.
 */
export type JobPhase = Int32Array;

const [computing, readingOrWriting, unwanted] = [0, 1, 2];

/** In ms: a disk that does not answer must not hold a thread for ever. */
const longestWait = 30_000;

/** The phase of a job that has not begun: a new thread still reads its code. */
function createJobPhase(): JobPhase {
	return new Int32Array(new SharedArrayBuffer(4)).fill(readingOrWriting);
}

interface Termination {
	readonly signal: AbortSignal;
	readonly release: () => void;
}

/** In the server's thread: `signal` says when to terminate the thread. Call `release` once the job is over. */
function terminationOf(phase: JobPhase, cancelled: AbortSignal): Termination {
	const termination = new AbortController();
	let timer: NodeJS.Timeout | undefined;
	const terminate = () => termination.abort(cancelled.reason);
	const cancel = (): void => {
		if (Atomics.exchange(phase, 0, unwanted) === computing) terminate();
		else timer = setTimeout(terminate, longestWait);
	};
	if (cancelled.aborted) cancel();
	else cancelled.addEventListener("abort", cancel, { once: true });
	return {
		signal: termination.signal,
		release(): void {
			clearTimeout(timer);
			cancelled.removeEventListener("abort", cancel);
		},
	};
}

export type DuringFiles = <T>(work: () => Promise<T>) => Promise<T>;

/** In the job's thread, when the job begins. Throws, now and around each piece of work, once no caller waits for the job. */
export function beginComputing(phase: JobPhase): DuringFiles {
	const change = (from: number, to: number): void => {
		if (Atomics.compareExchange(phase, 0, from, to) !== from) throw new Error("No caller waits for this job.");
	};
	let open = 0;
	change(readingOrWriting, computing);
	return async (work) => {
		if (open === 0) change(computing, readingOrWriting);
		open += 1;
		try {
			return await work();
		} finally {
			open -= 1;
			if (open === 0) change(readingOrWriting, computing);
		}
	};
}

/** The same archive, whose thread counts as reading or writing during each of its operations. */
export function archiveDuringFiles(archive: Archive, duringFiles: DuringFiles): Archive {
	const { put, putInPieces, has, get, read, find } = archive;
	return {
		...archive,
		put: (originals) => duringFiles(() => put(originals)),
		putInPieces: (original, maxBytes) => duringFiles(() => putInPieces(original, maxBytes)),
		has: (ref) => duringFiles(() => has(ref)),
		get: (ref) => duringFiles(() => get(ref)),
		read: (ref, consume) => duringFiles(() => read(ref, consume)),
		find: (toolCallId) => duringFiles(() => find(toolCallId)),
	};
}

// ---- A call ----

/** Runs a call in another thread. Models are asked here, where the client is. Never throws. */
export async function callInPool(
	pool: CallPool,
	call: Pick<ThreadJob, "tool" | "offered" | "allowedPaths" | "policyFile"> & {
		readonly arguments: JsonObject | undefined;
		readonly context: ToolContext & { readonly signal: AbortSignal };
		readonly location: ArchiveLocation | undefined;
		/** Archives the originals of a thread if it is in the memory of this one. */
		readonly archive: ArchiveSource | undefined;
		readonly principal: string;
		readonly session: string | undefined;
	},
): Promise<ToolOutcome> {
	const { tool, offered, context, archive, location, allowedPaths, policyFile, principal, session } = call;
	const { signal, onProgress, layers } = context;
	let phase: WorkProgress["phase"] | undefined;
	const began = performance.now();
	const report = (): void => {
		if (phase) onProgress?.({ kind: "work", phase, elapsed: (performance.now() - began) / 1_000 });
	};
	const timer = onProgress && setInterval(report, 1_000);
	try {
		const models: Models = { sampling: await context.clientModel?.(), endpoint: context.endpoint };
		const answers: ModelAnswer[] = [];
		let given = heldArguments(call.arguments) ?? new TextEncoder().encode(JSON.stringify(call.arguments ?? {}));
		const names = { sampling: models.sampling?.name, endpoint: models.endpoint?.name };
		const facts = { tool, offered, models: names, layers, policyFile, archive: location, allowedPaths };
		while (answers.length < 32) {
			const job = { ...facts, arguments: given, answers };
			phase = "waiting_for_its_turn";
			const onBegin = () => {
				phase = "working";
			};
			const outcome = await pool.run(job, {
				principal,
				caller: session ?? principal,
				signal,
				isAdmitted: answers.length > 0,
				onBegin,
			});
			if (outcome.kind === "answer") {
				const { code, report, originals } = outcome;
				// Archive before anybody sees the answer.
				if (originals.length > 0) await archive?.use((opened) => opened.put(originals));
				for (const event of outcome.log) context.log(event);
				const { buffer, byteOffset, byteLength: bytes } = outcome.result;
				return { result: JSON.parse(Buffer.from(buffer, byteOffset, bytes).toString()), code, report, bytes };
			}
			given = outcome.arguments;
			phase = undefined;
			answers.push(await ask(outcome.question, models, context));
		}
		throw new Error("A strategy asked a model again and again.");
	} catch (error) {
		const failed = failedCall(error, { tool, context });
		if (!(error instanceof BusyError)) return failed;
		const _meta = { "palimpsest/retry_after_ms": error.retry_after_ms };
		return { ...failed, result: { ...failed.result, _meta }, isBusy: true };
	} finally {
		clearInterval(timer);
	}
}

type Models = { readonly [model in ModelKind]?: Summariser | undefined };

async function ask(question: ModelQuestion, models: Models, context: ToolContext): Promise<ModelAnswer> {
	const { model, ...request } = question;
	const { signal, onProgress } = context;
	try {
		const answer = await models[model]?.summarise({ ...request, signal, onProgress });
		if (!answer) throw new TypeError("Expected a question to a known model.");
		return { question, answer };
	} catch (error) {
		if (!(error instanceof SummariserError)) throw error;
		return { question, code: error.code, message: error.message, statusCode: error.status_code };
	}
}

import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { Original } from "../../archive/archive.ts";
import type { ArchiveLocation } from "../../archive/open.ts";
import type { ErrorCode, SummariserErrorCode } from "../../errors.ts";
import type { LogEvent } from "../../pipeline/log-event.ts";
import type { PolicyLayer } from "../../policy/schema.ts";
import type { SummaryAnswer, SummaryRequest } from "../../summariser/summariser.ts";
import type { CallReport } from "../call-end.ts";

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

import type { ProgressToken, ServerNotification } from "@modelcontextprotocol/sdk/types.js";
import type { SummaryProgress } from "../summariser/summariser.ts";

/** Where a call stands: at a step of asking a model, or waiting for a thread, or at work. */
export type CallProgress = SummaryProgress | WorkProgress;

/** A call that takes its time. */
export interface WorkProgress {
	readonly kind: "work";
	readonly phase: "waiting_for_its_turn" | "working";
	/** Seconds since the call came in. */
	readonly elapsed: number;
}

/** A call of a client, as far as telling of its progress goes. */
export interface ReportingCall {
	/** Absent where the client did not ask for progress. */
	readonly progressToken: ProgressToken | undefined;
	readonly sendNotification: (notification: ServerNotification) => Promise<void>;
}

/**
 * Tells a client of each step and each retry by MCP progress, in seconds elapsed and expected; `undefined` where it did
 * not ask. A retry is told as `{attempt, max_retries, delay}` too (seed 4, task 2).
 */
export function callProgress(call: ReportingCall): ((progress: CallProgress) => void) | undefined {
	const { progressToken, sendNotification } = call;
	if (progressToken === undefined) return undefined;
	let [last, expected] = [0, 0];
	return (told) => {
		// The protocol wants each number to be larger than the one before.
		last = round(Math.max(last + 0.001, told.kind === "retry" ? last : told.elapsed));
		if (told.kind === "phase") expected = told.expected;
		// How long a model takes can be guessed; how long work takes, not.
		const total = told.kind === "work" ? {} : { total: round(Math.max(last, expected)) };
		const params = { progressToken, progress: last, ...total, message: describe(told) };
		const retry = told.kind === "retry" ? { _meta: { "palimpsest/retry": retryOf(told) } } : {};
		// A client that has gone away needs no progress.
		sendNotification({ method: "notifications/progress", params: { ...params, ...retry } }).catch(() => undefined);
	};
}

function round(seconds: number): number {
	return Math.round(seconds * 1_000) / 1_000;
}

type Retry = Extract<CallProgress, { kind: "retry" }>;

function retryOf({ attempt, max_retries, delay }: Retry) {
	return { attempt, max_retries, delay };
}

function describe(told: CallProgress): string {
	if (told.kind !== "retry") return told.phase.replaceAll("_", " ");
	const status = told.status_code === undefined ? "" : ` ${told.status_code}`;
	return `retry ${told.attempt} of ${told.max_retries} in ${told.delay} s (${told.code}${status})`;
}

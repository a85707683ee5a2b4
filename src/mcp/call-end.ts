import type { ErrorCode } from "../errors.ts";

/**
 * How a call ended.
 *
 * - `ok`: answered with a result.
 * - `error`: answered with an error of the tool.
 * - `cancelled`: nobody waits for it any more: cancelled, past its time, or its client gone.
 * - `busy`: not begun, since too many others wait.
 */
export type CallOutcome = "ok" | "error" | "cancelled" | "busy";

/** What a call of a tool was, once it has ended. It tells names and sizes, never conversation text. */
export interface CallEnd {
	readonly tool: string;
	/** The id that the client gave the request. */
	readonly request?: string | number | undefined;
	/** The id of the session that it came in: who knows it can go on with the session. */
	readonly session?: string | undefined;
	/** Who called; absent where callers are not told apart. */
	readonly principal?: string | undefined;
	readonly outcome: CallOutcome;
	/** The code of the error that was answered. */
	readonly code?: ErrorCode | undefined;
	/** From when the call came in whole until its answer was made, waiting included. */
	readonly milliseconds: number;
	/** Bytes of the call's arguments as JSON; measured when they are read first, which takes as long as writing it. */
	readonly bytesIn: number;
	/** Bytes of the answer as JSON, measured likewise; 0 where there is none. */
	readonly bytesOut: number;
	/** The numbers of the tool's report, where it gives one. */
	readonly report?: CallReport | undefined;
}

/** What of a report is a number or a flag, how many items its lists have, and how much there was before and is after. */
export type CallReport = Readonly<Record<string, number | boolean | BeforeAndAfter>>;

/** Such as the tokens of a conversation. */
export interface BeforeAndAfter {
	readonly before: number;
	readonly after: number;
}

/** Takes note of a call that has ended. What it throws ends nothing. */
export type OnCallEnd = (end: CallEnd) => void;

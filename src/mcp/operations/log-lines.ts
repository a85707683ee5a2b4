import { createHash } from "node:crypto";
import type { LogEvent } from "../../pipeline/log-event.ts";
import type { LogLevel } from "../../policy/schema.ts";
import type { BeforeAndAfter, CallEnd } from "../call-end.ts";

/** An event as one line of JSON: `time`, `level`, `message`, then what the event says of itself, `event` first. */
export function eventLine({ level, message, data }: LogEvent, time: Date): string {
	return lineOf({ time: time.toISOString(), level, ...data, message });
}

/**
 * A call as one line of JSON: `time`, `level`, `event` "call", then names, sizes in bytes and tokens, and the time in ms.
 * What is not known is left out. A session is told by 12 digits of its id's hash: who reads the log cannot enter it.
 */
export function callLine(end: CallEnd, time: Date): string {
	return lineOf({ time: time.toISOString(), level: levelOf(end), ...factsOf(end) });
}

/** The same in words, for people; without the sizes, which take time to measure. */
export function callWords(end: CallEnd): string {
	const { tool, outcome, code, principal } = end;
	const tokens = tokensOf(end);
	const became = tokens === undefined ? "" : `, ${tokens.before} tokens became ${tokens.after}`;
	return `${tool}: ${code ?? outcome} in ${tenths(end.milliseconds)} ms${became}${principal === undefined ? "" : `, for ${principal}`}`;
}

/** How loud a call's end is: a defect is an error, one that found no room a warning. */
export function levelOf({ outcome, code }: CallEnd): LogLevel {
	if (code === "internal") return "error";
	return outcome === "busy" ? "warning" : "info";
}

/** Clients choose the ids of their requests. */
const longestId = 64;

function factsOf(end: CallEnd) {
	const tokens = tokensOf(end);
	return {
		event: "call",
		request: end.request === undefined ? undefined : String(end.request).slice(0, longestId),
		session:
			end.session === undefined ? undefined : createHash("sha256").update(end.session).digest("hex").slice(0, 12),
		principal: end.principal,
		tool: end.tool,
		outcome: end.outcome,
		code: end.code,
		ms: tenths(end.milliseconds),
		bytes_in: end.bytesIn,
		bytes_out: end.bytesOut,
		tokens_before: tokens?.before,
		tokens_after: tokens?.after,
	};
}

function tokensOf({ report }: CallEnd): BeforeAndAfter | undefined {
	return typeof report?.tokens === "object" ? report.tokens : undefined;
}

function tenths(milliseconds: number): number {
	return Math.round(milliseconds * 10) / 10;
}

function lineOf(facts: Readonly<Record<string, unknown>>): string {
	// Line separators of Unicode end a line for some readers of logs.
	return JSON.stringify(facts).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

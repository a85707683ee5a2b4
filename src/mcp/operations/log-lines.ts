import { createHash } from "node:crypto";
import type { LogEvent } from "../../pipeline/log-event.ts";
import type { LogLevel } from "../../policy/schema.ts";
import type { CallEnd } from "../call-end.ts";

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

/** The same in words, for people. */
export function callWords(end: CallEnd): string {
	const { tool, outcome, code, ms, tokens_before: before, tokens_after: after, principal } = factsOf(end);
	const tokens = before === undefined ? "" : `, ${before} tokens became ${after}`;
	return `${tool}: ${code ?? outcome} in ${ms} ms${tokens}${principal === undefined ? "" : `, for ${principal}`}`;
}

/** How loud a call's end is: a defect is an error, one that found no room a warning. */
export function levelOf({ outcome, code }: CallEnd): LogLevel {
	if (code === "internal") return "error";
	return outcome === "busy" ? "warning" : "info";
}

/** Clients choose the ids of their requests. */
const longestId = 64;

function factsOf(end: CallEnd) {
	const tokens = typeof end.report?.tokens === "object" ? end.report.tokens : undefined;
	return {
		event: "call",
		request: end.request === undefined ? undefined : String(end.request).slice(0, longestId),
		session:
			end.session === undefined ? undefined : createHash("sha256").update(end.session).digest("hex").slice(0, 12),
		principal: end.principal,
		tool: end.tool,
		outcome: end.outcome,
		code: end.code,
		ms: Math.round(end.milliseconds * 10) / 10,
		bytes_in: end.bytesIn,
		bytes_out: end.bytesOut,
		tokens_before: tokens?.before,
		tokens_after: tokens?.after,
	};
}

function lineOf(facts: Readonly<Record<string, unknown>>): string {
	// Line separators of Unicode end a line for some readers of logs.
	return JSON.stringify(facts).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

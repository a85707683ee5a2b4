import { fileURLToPath } from "node:url";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
	type ProgressToken,
	RootsListChangedNotificationSchema,
	type ServerNotification,
	type ServerRequest,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { SamplingOptions } from "../summariser/sampling.ts";
import { joinSignals, type SummaryProgress } from "../summariser/summariser.ts";

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
 * not ask. A retry is told as `{attempt, max_retries, delay}` too
 * (docs/specs/robustness.md#retries).
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

/** Milliseconds that a client has to tell its roots. */
const patience = 10_000;

/** Roots of any scheme; the SDK's own schema would refuse all of a list in which one is no file. */
const rootsListed = z.object({ roots: z.array(z.object({ uri: z.string() })) });

/** The folders that a client offers as its roots; none where it offers none. Asked for once, and again when they change; no longer waited for once the client is `gone`. */
export function clientRoots(server: McpServer, gone?: AbortSignal): () => Promise<readonly string[]> {
	let known: Promise<readonly string[]> | undefined;
	server.server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
		known = undefined;
	});
	const ask = async (): Promise<readonly string[]> => {
		if (!server.server.getClientCapabilities()?.roots) return [];
		try {
			const { roots } = await server.server.request({ method: "roots/list" }, rootsListed, {
				timeout: patience,
				...(gone ? { signal: gone } : {}),
			});
			return roots.flatMap(({ uri }) => folderOf(uri) ?? []);
		} catch {
			// A client that fails to answer allows nothing; the next call asks again.
			known = undefined;
			return [];
		}
	};
	return () => {
		known ??= ask();
		return known;
	};
}

/** The folder that a root names; none for what is no folder of this machine, so that it does not cost the others. */
function folderOf(uri: string): string | undefined {
	try {
		return uri.startsWith("file:") ? fileURLToPath(uri) : undefined;
	} catch {
		return undefined;
	}
}

/** Asks the client's own model. */
export type CreateMessage = SamplingOptions["createMessage"];

/** Whatever a client answers; what it is worth is for the summariser to say. */
const anyResult = z.looseObject({});

/**
 * How a client's own model is asked in the course of a call; `undefined` where the client declares none. `gone` is
 * aborted where nothing can come from the client any more.
 */
export function clientSampling(
	server: McpServer,
	extra: Pick<RequestHandlerExtra<ServerRequest, ServerNotification>, "sendRequest">,
	gone: AbortSignal | undefined,
): CreateMessage | undefined {
	if (!server.server.getClientCapabilities()?.sampling) return undefined;
	return async (params, { signal, timeoutMs }) => {
		const joined = joinSignals(signal, gone);
		try {
			return await extra.sendRequest({ method: "sampling/createMessage", params }, anyResult, {
				signal: joined.signal,
				timeout: timeoutMs,
				maxTotalTimeout: timeoutMs,
			});
		} finally {
			joined.release();
		}
	};
}

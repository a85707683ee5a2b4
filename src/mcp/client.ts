import { fileURLToPath } from "node:url";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { ProgressToken, ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { SamplingOptions } from "../summariser/sampling.ts";
import { joinSignals, type RetryProgress, type Summariser, type SummaryProgress } from "../summariser/summariser.ts";

export type CallProgress = SummaryProgress | WorkProgress;

export interface WorkProgress {
	readonly kind: "work";
	readonly phase: "waiting_for_its_turn" | "working";
	readonly elapsed: number;
}

/** Reports steps and retries by MCP progress, in seconds (docs/specs/robustness.md#retries). */
export function callProgress(call: {
	readonly progressToken: ProgressToken | undefined;
	readonly sendNotification: (notification: ServerNotification) => Promise<void>;
}): ((progress: CallProgress) => void) | undefined {
	const { progressToken, sendNotification } = call;
	if (progressToken === undefined) return undefined;
	let last = 0;
	return (told) => {
		// The protocol requires each number to be larger than the one before.
		const next = Math.max(last + 0.001, told.kind === "retry" ? last : told.elapsed);
		last = Math.round(next * 1_000) / 1_000;
		const params = {
			progressToken,
			progress: last,
			...(told.kind === "retry" ? describeRetry(told) : { message: told.phase.replaceAll("_", " ") }),
		};
		sendNotification({ method: "notifications/progress", params }).catch(() => undefined);
	};
}

function describeRetry({ attempt, max_retries, delay, code, status_code }: RetryProgress) {
	const status = status_code === undefined ? "" : ` ${status_code}`;
	return {
		message: `retry ${attempt} of ${max_retries} in ${delay} s (${code}${status})`,
		_meta: { "palimpsest/retry": { attempt, max_retries, delay } },
	};
}

/** Roots of any scheme: the SDK's own schema would refuse the whole list for one that is not a file. */
const rootsListed = z.object({ roots: z.array(z.object({ uri: z.string() })) });

const rootsListChanged = z.looseObject({ method: z.literal("notifications/roots/list_changed") });

/** The folders of an answer to `roots/list`; none of an answer that has another form. */
export function rootFolders(answer: unknown): readonly string[] {
	return (rootsListed.safeParse(answer).data?.roots ?? []).flatMap(({ uri }) => folderOf(uri) ?? []);
}

/** The folders of the client's roots. Asks once, and again after the client announces a change. */
export function clientRoots(server: McpServer, gone?: AbortSignal): () => Promise<readonly string[]> {
	let known: Promise<readonly string[]> | undefined;
	server.server.setNotificationHandler(rootsListChanged, () => {
		known = undefined;
	});
	const ask = async (): Promise<readonly string[]> => {
		if (!server.server.getClientCapabilities()?.roots) return [];
		try {
			const options = { timeout: 10_000, ...(gone ? { signal: gone } : {}) };
			return rootFolders(await server.server.request({ method: "roots/list" }, rootsListed, options));
		} catch {
			// A client that does not answer allows nothing; the next call asks again.
			known = undefined;
			return [];
		}
	};
	return () => {
		known ??= ask();
		return known;
	};
}

function folderOf(uri: string): string | undefined {
	try {
		return uri.startsWith("file:") ? fileURLToPath(uri) : undefined;
	} catch {
		return undefined;
	}
}

/** Makes a summariser of the client's own model, if it has one. `gone` ends the wait for an answer. */
export function clientModel(
	server: McpServer,
	extra: Pick<RequestHandlerExtra<ServerRequest, ServerNotification>, "sendRequest">,
	gone: AbortSignal | undefined,
): (() => Promise<Summariser>) | undefined {
	if (!server.server.getClientCapabilities()?.sampling) return undefined;
	const createMessage: SamplingOptions["createMessage"] = async (params, { signal, timeoutMs }) => {
		const joined = joinSignals(signal, gone);
		const options = { signal: joined.signal, timeout: timeoutMs, maxTotalTimeout: timeoutMs };
		const asked = extra.sendRequest({ method: "sampling/createMessage", params }, z.looseObject({}), options);
		return asked.finally(joined.release);
	};
	return async () => (await import("../summariser/sampling.ts")).createSamplingSummariser({ createMessage });
}

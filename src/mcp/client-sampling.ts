import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { SamplingOptions } from "../summariser/sampling.ts";
import { joinSignals } from "../summariser/summariser.ts";

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

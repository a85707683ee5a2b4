import { randomBytes } from "node:crypto";
import { createMcpHandler, type JSONRPCMessage, type McpServer, type Transport } from "@modelcontextprotocol/server";
import type { Request, Response } from "express";
import { isJsonObject } from "../../engine/conversation/json.ts";
import type { ServerOptions } from "../offer.ts";
import { currentPolicyUri } from "../resources.ts";
import { createServer2026, createStateCodec } from "../server-2026.ts";
import { type UnreadLimit, webRequest, writeAnswer } from "./answers.ts";
import { type Caller, endWithToken, requestCaller } from "./authenticate.ts";
import type { createCallLimits } from "./limits.ts";

export type Requests2026 = ReturnType<typeof createRequests2026>;

/** Serves revision 2026-07-28: each request is independent, and has a server of its own. */
export function createRequests2026(parts: {
	readonly optionsOf: (caller: Caller | undefined) => ServerOptions;
	readonly callLimits: ReturnType<typeof createCallLimits>;
	/** By which the processes behind a balancer take the states of each other; by default random. */
	readonly stateKey?: string | undefined;
	readonly onListening: (listener: () => void) => () => void;
	readonly onerror: (error: Error) => void;
}) {
	const { optionsOf, callLimits, onerror } = parts;
	const states = createStateCodec(parts.stateKey ?? randomBytes(32));
	const factory = ({ authInfo }: Parameters<Parameters<typeof createMcpHandler>[0]>[0]) => {
		const caller = requestCaller({ auth: authInfo });
		const server = createServer2026(optionsOf(caller), states);
		limitCalls(server, { callLimits, principal: caller?.principal ?? "" });
		return server;
	};
	const options = { legacy: "reject", onerror } as const;
	// Two of them, so that streams can be ended in order while calls are finished.
	const [calls, streams] = [createMcpHandler(factory, options), createMcpHandler(factory, options)];
	const stopListening = parts.onListening(() => streams.notify.resourceUpdated(currentPolicyUri));

	return {
		/** The body has been read. `gone` ends the work when no client waits for the answer. */
		async handle(exchange: {
			readonly request: Request;
			readonly response: Response;
			readonly body: unknown;
			readonly gone: AbortSignal;
			readonly unread: UnreadLimit;
		}): Promise<void> {
			const { request, response, body, gone, unread } = exchange;
			const isStream = isJsonObject(body) && body.method === "subscriptions/listen";
			if (isStream) endWithToken(request, response);
			const given = { parsedBody: body, ...(request.auth && { authInfo: request.auth }) };
			const answer = await (isStream ? streams : calls).fetch(webRequest(request, gone), given);
			await writeAnswer(answer, { response, unread });
		},
		endStreams: () => streams.close(),
		async close(): Promise<void> {
			stopListening();
			await Promise.all([calls.close(), streams.close()]);
		},
	};
}

type OlderTransport = Parameters<ReturnType<typeof createCallLimits>["watch"]>[0];

/** The SDK makes the transport of a request, so its limits can only be put around it when the server connects. */
function limitCalls(
	server: McpServer,
	limits: {
		readonly callLimits: ReturnType<typeof createCallLimits>;
		readonly principal: string;
	},
): void {
	const { callLimits, principal } = limits;
	const connect = server.connect.bind(server);
	server.connect = async (transport: Transport) => {
		// The members that both SDKs have are the same.
		const same = transport as unknown as OlderTransport;
		const send = transport.send.bind(transport);
		// Our own answers, to calls that are over a limit, do not pass through the SDK.
		transport.send = (message, options) => send(withResultType(message), options);
		await connect(transport);
		const watched = callLimits.watch(same, principal);
		const closed = transport.onclose;
		transport.onclose = () => {
			watched.end();
			closed?.();
		};
	};
}

function withResultType(message: JSONRPCMessage): JSONRPCMessage {
	if (!("result" in message)) return message;
	return { ...message, result: { resultType: "complete", ...message.result } };
}

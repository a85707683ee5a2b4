import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
	isJSONRPCErrorResponse,
	isJSONRPCNotification,
	isJSONRPCRequest,
	isJSONRPCResultResponse,
	type JSONRPCMessage,
	type JSONRPCRequest,
	type RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import { PalimpsestError } from "../../../errors.ts";
import { toolError } from "../../result.ts";
import type { Quotas } from "./quotas.ts";

/** Limits the calls of one HTTP server. */
export interface CallLimits {
	/**
	 * Limits the calls that come over a transport, whose server must be connected already. Answers with a function that
	 * ends what it keeps of them, for when the transport is closed.
	 */
	watch(transport: Transport, principal: string): () => void;
}

/** What a client waits for while the server works. */
const calls: ReadonlySet<string> = new Set(["tools/call", "resources/read"]);

/**
 * Makes the limits of calls: so many at the same time for each principal, over all of its sessions, and so long for each.
 * A call whose time is over is cancelled, by which its signal is aborted, and answered with an error.
 */
export function createCallLimits({ concurrentCalls, callMilliseconds }: Quotas): CallLimits {
	const underWay = new Map<string, number>();
	const count = (principal: string, change: 1 | -1): void => {
		const now = (underWay.get(principal) ?? 0) + change;
		if (now === 0) underWay.delete(principal);
		else underWay.set(principal, now);
	};
	const tooMany = `Expected at most ${concurrentCalls} calls at the same time. Call again when one of them is answered.`;
	const tooLong = `The call took longer than ${callMilliseconds / 1_000} s and was stopped. Call again with less, or with respond_with "edits" or "report".`;

	return {
		watch(transport, principal) {
			const receive = transport.onmessage;
			if (!receive) throw new TypeError("Expected a transport that is connected.");
			const send = transport.send.bind(transport);
			const running = new Map<RequestId, () => void>();
			const end = (id: RequestId): void => {
				running.get(id)?.();
				running.delete(id);
			};
			// Whoever waited for the answer may be gone.
			const answer = (to: JSONRPCRequest, error: PalimpsestError) => void send(answerOf(to, error)).catch(() => {});

			const begin = (request: JSONRPCRequest, ...[extra]: Extra): void => {
				const stop = (): void => {
					end(request.id);
					const params = { requestId: request.id, reason: "The call took too long." };
					receive({ jsonrpc: "2.0", method: "notifications/cancelled", params }, extra);
					answer(request, new PalimpsestError("timeout", tooLong));
				};
				const timer = callMilliseconds === 0 ? undefined : setTimeout(stop, callMilliseconds);
				timer?.unref();
				count(principal, 1);
				running.set(request.id, () => {
					clearTimeout(timer);
					count(principal, -1);
				});
			};
			type Extra = Parameters<typeof receive> extends [unknown, ...infer Rest] ? Rest : never;

			transport.onmessage = (message, ...extra) => {
				if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
					end(message.params?.requestId as RequestId);
				}
				if (!isJSONRPCRequest(message) || !calls.has(message.method)) return receive(message, ...extra);
				// Under an id that is in use, neither of two answers would find its call.
				if (running.has(message.id)) {
					return answer(message, new PalimpsestError("invalid_argument", "Expected an id that no other call has."));
				}
				if (concurrentCalls > 0 && (underWay.get(principal) ?? 0) >= concurrentCalls) {
					return answer(message, new PalimpsestError("rate_limit", tooMany));
				}
				begin(message, ...extra);
				receive(message, ...extra);
			};
			transport.send = (message, options) => {
				const id = answeredId(message);
				if (id !== undefined) end(id);
				return send(message, options);
			};
			return () => {
				for (const id of [...running.keys()]) end(id);
			};
		},
	};
}

function answeredId(message: JSONRPCMessage): RequestId | undefined {
	return isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message) ? message.id : undefined;
}

function answerOf({ id, method }: JSONRPCRequest, error: PalimpsestError): JSONRPCMessage {
	if (method === "tools/call") return { jsonrpc: "2.0", id, result: toolError(error) };
	return { jsonrpc: "2.0", id, error: { code: -32_000, message: `[${error.code}] ${error.message}` } };
}

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
import type { OnCallEnd } from "../../call-end.ts";
import { toolError } from "../../result.ts";
import { tools } from "../../tools.ts";
import type { Quotas } from "./quotas.ts";

/** Limits the calls of one HTTP server. */
export interface CallLimits {
	/** Limits the calls that come over a transport, whose server must be connected already. */
	watch(transport: Transport, principal: string): WatchedCalls;
}

/** The calls of one transport. */
export interface WatchedCalls {
	/** How many are under way. */
	running(): number;
	/** Whether a request of any kind waits for its answer under this id. */
	isWaiting(id: RequestId): boolean;
	/** Stops all that are under way: nobody waits for them any more. */
	stop(): void;
	/** Ends what is kept of them, for when the transport is closed. */
	end(): void;
}

/** What is told to a client that gives one id to two requests at the same time. */
export const idInUse = "Expected an id that no other request has which waits for its answer.";

/** What a client waits for while the server works. */
const calls: ReadonlySet<string> = new Set(["tools/call", "resources/read"]);

/**
 * Makes the limits of calls: so many at the same time for each principal, over all of its sessions, and so long for each.
 * A call whose time is over is cancelled, by which its signal is aborted, and answered with an error.
 */
export function createCallLimits({ concurrentCalls, callMilliseconds }: Quotas, onCallEnd?: OnCallEnd): CallLimits {
	const underWay = new Map<string, number>();
	const count = (principal: string, change: 1 | -1): void => {
		const now = (underWay.get(principal) ?? 0) + change;
		if (now === 0) underWay.delete(principal);
		else underWay.set(principal, now);
	};
	const tooMany = `Expected at most ${concurrentCalls} calls at the same time. Call again when one of them is answered.`;
	const tooLong = `The call took longer than ${callMilliseconds / 1_000} s and was stopped. Call again with less, or with respond_with "edits" or "report".`;

	const note = ({ params }: JSONRPCRequest, principal: string): void => {
		// A name that is no tool's may be anything.
		const tool = tools.find(({ name }) => name === params?.name)?.name;
		if (!onCallEnd || tool === undefined) return;
		const nothing = { milliseconds: 0, bytesIn: 0, bytesOut: 0 };
		onCallEnd({ ...nothing, tool, principal: principal || undefined, outcome: "busy", code: "rate_limit" });
	};

	return {
		watch(transport, principal) {
			const receive = transport.onmessage;
			if (!receive) throw new TypeError("Expected a transport that is connected.");
			const send = transport.send.bind(transport);
			const running = new Map<RequestId, () => void>();
			const waiting = new Set<RequestId>();
			const end = (id: RequestId): void => {
				waiting.delete(id);
				running.get(id)?.();
				running.delete(id);
			};
			/** Has the server stop its work; it answers no more then. */
			const cancel = (requestId: RequestId, reason: string, ...[extra]: Extra | []): void => {
				end(requestId);
				receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } }, extra);
			};
			/**
			 * The stream of a request ends with its answer only, so it would stay open for as long as the session. Clients pass
			 * over the answer to what they have cancelled; the older transport has one stream for all.
			 */
			const endStream = (id: RequestId): void => {
				if (!("closeSSEStream" in transport)) return;
				send({ jsonrpc: "2.0", id, error: { code: -32_000, message: "The request was cancelled." } }).catch(() => {});
			};
			// Whoever waited for the answer may be gone.
			const answer = (to: JSONRPCRequest, error: PalimpsestError) => void send(answerOf(to, error)).catch(() => {});

			const begin = (request: JSONRPCRequest, ...[extra]: Extra): void => {
				const stop = (): void => {
					cancel(request.id, "The call took too long.", extra);
					answer(request, new PalimpsestError("timeout", tooLong));
				};
				const timer = callMilliseconds === 0 ? undefined : setTimeout(stop, callMilliseconds);
				timer?.unref();
				count(principal, 1);
				waiting.add(request.id);
				running.set(request.id, () => {
					clearTimeout(timer);
					count(principal, -1);
				});
			};
			type Extra = Parameters<typeof receive> extends [unknown, ...infer Rest] ? Rest : never;

			transport.onmessage = (message, ...extra) => {
				if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
					const id = message.params?.requestId as RequestId;
					const isRunning = running.has(id);
					end(id);
					receive(message, ...extra);
					if (isRunning) endStream(id);
					return;
				}
				if (!isJSONRPCRequest(message)) return receive(message, ...extra);
				// Under an id that is in use neither of two answers would find its request, and the first would end both.
				if (waiting.has(message.id)) return answer(message, new PalimpsestError("invalid_argument", idInUse));
				if (!calls.has(message.method)) {
					waiting.add(message.id);
					return receive(message, ...extra);
				}
				if (concurrentCalls > 0 && (underWay.get(principal) ?? 0) >= concurrentCalls) {
					note(message, principal);
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
			return {
				running: () => running.size,
				isWaiting: (id) => waiting.has(id),
				stop() {
					for (const id of [...running.keys()]) {
						cancel(id, "The client is gone.");
						endStream(id);
					}
				},
				end() {
					for (const id of [...running.keys()]) end(id);
				},
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

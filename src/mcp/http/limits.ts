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
import type { Request, RequestHandler } from "express";
import { ipKeyGenerator, rateLimit } from "express-rate-limit";
import { PalimpsestError } from "../../errors.ts";
import { toolError } from "../answer.ts";
import type { OnCallEnd } from "../run-tool.ts";
import { tools } from "../server.ts";
import { refuse } from "./guards.ts";

/** The quotas of one principal. */
export interface Quotas {
	/** HTTP requests in a minute, of one address if no token is asked for; 0 for any number. */
	readonly requestsPerMinute: number;
	/** Calls under way at the same time, of all clients if no token is asked for; 0 for any number. */
	readonly concurrentCalls: number;
	/** Longest time that a call may take, in ms; 0 for any time. */
	readonly callMilliseconds: number;
	/** Sessions open at the same time, of all clients if no token is asked for; 0 for as many as the server has room for. */
	readonly sessions: number;
}

/** The default quotas. A server without authentication has one user, who is trusted. */
export function defaultQuotas({ isAuthenticated }: { readonly isAuthenticated: boolean }): Quotas {
	const callMilliseconds = 300_000;
	if (!isAuthenticated) return { requestsPerMinute: 0, concurrentCalls: 0, callMilliseconds, sessions: 0 };
	return { requestsPerMinute: 600, concurrentCalls: 16, callMilliseconds, sessions: 100 };
}

/**
 * Makes a handler that lets so many requests a minute through for each principal, else for each address (of IPv6, for
 * each /56: one user has all of it). RateLimit headers tell how much of the quota is left.
 */
export function limitRequests(quota: {
	readonly perMinute: number;
	readonly principalOf: (request: Request) => string | undefined;
}): RequestHandler {
	const { perMinute, principalOf } = quota;
	if (perMinute === 0) return (_request, _response, next) => next();
	return rateLimit({
		windowMs: 60_000,
		limit: perMinute,
		standardHeaders: "draft-7",
		legacyHeaders: false,
		// Behind a proxy the address is the proxy's: the client writes X-Forwarded-For, so it is not believed.
		validate: { xForwardedForHeader: false, forwardedHeader: false },
		keyGenerator(request) {
			const principal = principalOf(request);
			return principal === undefined ? `address ${ipKeyGenerator(request.ip ?? "", 56)}` : `principal ${principal}`;
		},
		handler(_request, response) {
			const message = `Too many requests: ${perMinute} a minute are taken. Try again later.`;
			// The response has a Retry-After header already.
			refuse(response, { status: 429, message });
		},
	});
}

/** Counts and limits the calls of one HTTP server. */
export interface CallLimits {
	/** Limits the calls that come over a transport, whose server must be connected already. */
	watch(transport: Transport, principal: string): WatchedCalls;
	/** The number of requests that wait for an answer, on all transports. */
	waiting(): number;
	/** Resolves when none does; at once if none does now. */
	whenIdle(): Promise<void>;
}

/** The calls of one transport. */
export interface WatchedCalls {
	/** The number of calls under way. */
	running(): number;
	/** Whether a request of any kind waits for its answer under this id. */
	isWaiting(id: RequestId): boolean;
	/** Stops all that are under way: nobody waits for them any more. */
	stop(): void;
	/** Forgets all of them, because the transport is closed. */
	end(): void;
}

/** The message for a client that gives one id to two requests at the same time. */
export const idInUse = "Expected an id that no other request has which waits for its answer.";

/** The requests for which the server works; all others are answered at once. */
const calls: ReadonlySet<string> = new Set(["tools/call", "resources/read"]);

/**
 * Makes the limits of calls: a number at the same time for each principal, over all of its sessions, and a time for each.
 * A call that takes longer is cancelled, which aborts its signal, and is answered with an error.
 */
export function createCallLimits({ concurrentCalls, callMilliseconds }: Quotas, onCallEnd?: OnCallEnd): CallLimits {
	const underWay = new Map<string, number>();
	const count = (principal: string, change: 1 | -1): void => {
		const now = (underWay.get(principal) ?? 0) + change;
		if (now === 0) underWay.delete(principal);
		else underWay.set(principal, now);
	};
	let waitingInAll = 0;
	let whenNoneWaits: (() => void)[] = [];
	const tooMany = `Expected at most ${concurrentCalls} calls at the same time. Call again when one of them is answered.`;
	const tooLong = `The call took longer than ${callMilliseconds / 1_000} s and was stopped. Call again with less, or with respond_with "edits" or "report".`;

	const note = ({ params }: JSONRPCRequest, principal: string): void => {
		// A client may send any name.
		const tool = tools.find(({ name }) => name === params?.name)?.name;
		if (!onCallEnd || tool === undefined) return;
		const nothing = { milliseconds: 0, bytesIn: 0, bytesOut: 0 };
		onCallEnd({ ...nothing, tool, principal: principal || undefined, outcome: "busy", code: "rate_limit" });
	};

	const watch: CallLimits["watch"] = (transport, principal) => {
		const receive = transport.onmessage;
		if (!receive) throw new TypeError("Expected a transport that is connected.");
		type Extra = Parameters<typeof receive> extends [unknown, ...infer Rest] ? Rest : never;
		const send = transport.send.bind(transport);
		const running = new Map<RequestId, () => void>();
		const waiting = new Set<RequestId>();
		const wait = (id: RequestId): void => {
			waiting.add(id);
			waitingInAll += 1;
		};
		const end = (id: RequestId): void => {
			running.get(id)?.();
			running.delete(id);
			if (!waiting.delete(id)) return;
			waitingInAll -= 1;
			if (waitingInAll > 0) return;
			for (const resolve of whenNoneWaits) resolve();
			whenNoneWaits = [];
		};
		/** Makes the server stop its work; it sends no answer then. */
		const cancel = (requestId: RequestId, reason: string, ...[extra]: Extra | []): void => {
			end(requestId);
			receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } }, extra);
		};
		/**
		 * The stream of a request ends only with its answer, so without one it would stay open as long as the session. Clients
		 * ignore the answer to a request that they cancelled. The older transport has one stream for all.
		 */
		const endStream = (id: RequestId): void => {
			if (!("closeSSEStream" in transport)) return;
			send({ jsonrpc: "2.0", id, error: { code: -32_000, message: "The request was cancelled." } }).catch(() => {});
		};
		// The client may be gone.
		const answer = (to: JSONRPCRequest, error: PalimpsestError) => void send(answerOf(to, error)).catch(() => {});

		const begin = (request: JSONRPCRequest, ...[extra]: Extra): void => {
			const stop = (): void => {
				cancel(request.id, "The call took too long.", extra);
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
			// With two requests under one id neither answer could be matched, and the first would end both.
			if (waiting.has(message.id)) return answer(message, new PalimpsestError("invalid_argument", idInUse));
			const isCall = calls.has(message.method);
			if (isCall && concurrentCalls > 0 && (underWay.get(principal) ?? 0) >= concurrentCalls) {
				note(message, principal);
				return answer(message, new PalimpsestError("rate_limit", tooMany));
			}
			wait(message.id);
			if (isCall) begin(message, ...extra);
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
				for (const id of [...waiting]) end(id);
			},
		};
	};

	return {
		watch,
		waiting: () => waitingInAll,
		async whenIdle() {
			if (waitingInAll > 0) await new Promise<void>((resolve) => whenNoneWaits.push(resolve));
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

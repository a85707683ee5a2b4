import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
	isJSONRPCErrorResponse,
	isJSONRPCNotification,
	isJSONRPCRequest,
	isJSONRPCResultResponse,
	type JSONRPCRequest,
	type RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import type { Request, RequestHandler } from "express";
import { ipKeyGenerator, rateLimit } from "express-rate-limit";
import { type ErrorCode, PalimpsestError } from "../../errors.ts";
import type { OnCallEnd } from "../../log.ts";
import { toolError } from "../answer.ts";
import { tools } from "../tools.ts";
import { refuse } from "./application.ts";

/** In ms: Node fires a timer with a longer delay at once. */
export const longestTimer = 2 ** 31 - 1;

/** The quotas of one principal, or of all clients together without authentication. 0 means no limit. */
export type Quotas = Readonly<
	Record<"requestsPerMinute" | "concurrentCalls" | "callMilliseconds" | "sessions", number>
>;

/** A server without authentication has one user, who is trusted. */
export function defaultQuotas({ isAuthenticated }: { readonly isAuthenticated: boolean }): Quotas {
	const callMilliseconds = 300_000;
	if (!isAuthenticated) return { requestsPerMinute: 0, concurrentCalls: 0, callMilliseconds, sessions: 0 };
	return { requestsPerMinute: 600, concurrentCalls: 16, callMilliseconds, sessions: 100 };
}

/** Limits requests per minute for each principal, else for each address (for IPv6 each /56, which one user owns). */
export function limitRequests(quota: {
	readonly perMinute: number;
	readonly principalOf: (request: Request) => string | undefined;
}): RequestHandler {
	const { perMinute, principalOf } = quota;
	if (perMinute === 0) return (_request, _response, next) => next();
	const message = `Too many requests: the limit is ${perMinute} a minute. Try again later.`;
	return rateLimit({
		windowMs: 60_000,
		limit: perMinute,
		standardHeaders: "draft-7",
		legacyHeaders: false,
		// Behind a proxy the address is the proxy's: clients write X-Forwarded-For, so it is not trusted.
		validate: { xForwardedForHeader: false, forwardedHeader: false },
		keyGenerator(request) {
			const principal = principalOf(request);
			return principal === undefined ? `address ${ipKeyGenerator(request.ip ?? "", 56)}` : `principal ${principal}`;
		},
		handler: (_request, response) => refuse(response, { status: 429, message }),
	});
}

/** For a client that gives one id to two requests at the same time. */
export const idInUse = "Expected an id that no other waiting request has.";

/** The requests that cause work; all others are answered at once. */
const calls: ReadonlySet<string> = new Set(["tools/call", "resources/read"]);

interface Waiting {
	readonly request: JSONRPCRequest;
	readonly isCall: boolean;
	readonly timer?: NodeJS.Timeout | undefined;
}

export type WatchedCalls = ReturnType<ReturnType<typeof createCallLimits>["watch"]>;

/** Limits the calls of each principal, over all of its sessions, and the time of each call. */
export function createCallLimits({ concurrentCalls, callMilliseconds }: Quotas, onCallEnd?: OnCallEnd) {
	const callsOf = new Map<string, number>();
	const watched = new Set<{ readonly refuseWaiting: () => void }>();
	let waitingInAll = 0;

	/** The transport's server must be connected already. */
	const watch = (transport: Transport, principal: string) => {
		const receive = transport.onmessage;
		if (!receive) throw new TypeError("Expected a transport that is connected.");
		type Extra = Parameters<typeof receive>[1];
		const send = transport.send.bind(transport);
		const waiting = new Map<RequestId, Waiting>();

		const begin = (request: JSONRPCRequest, extra: Extra): void => {
			const isCall = calls.has(request.method);
			const stop = (): void => {
				cancel(request.id, "The call took too long.", extra);
				const stopped = `The call took longer than ${callMilliseconds / 1_000} s and was stopped.`;
				answer(request, "timeout", `${stopped} Call again with less, or with respond_with "edits" or "report".`);
			};
			const timer = isCall && callMilliseconds > 0 ? setTimeout(stop, callMilliseconds).unref() : undefined;
			waiting.set(request.id, { request, isCall, timer });
			waitingInAll += 1;
			if (isCall) callsOf.set(principal, (callsOf.get(principal) ?? 0) + 1);
		};
		const end = (id: RequestId): void => {
			const ended = waiting.get(id);
			if (!ended) return;
			waiting.delete(id);
			waitingInAll -= 1;
			if (!ended.isCall) return;
			clearTimeout(ended.timer);
			const left = (callsOf.get(principal) ?? 0) - 1;
			if (left === 0) callsOf.delete(principal);
			else callsOf.set(principal, left);
		};
		const cancel = (requestId: RequestId, reason: string, extra?: Extra): void => {
			end(requestId);
			receive({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } }, extra);
		};
		/** Without an answer, a stream would stay open as long as the session. The older transport has only one. */
		const endStream = (id: RequestId): void => {
			if (!("closeSSEStream" in transport)) return;
			send({ jsonrpc: "2.0", id, error: { code: -32_000, message: "The request was cancelled." } }).catch(() => {});
		};
		const answer = ({ id, method }: JSONRPCRequest, code: ErrorCode, message: string): void => {
			const result = toolError(new PalimpsestError(code, message));
			const error = { code: -32_000, message: `[${code}] ${message}` };
			send({ jsonrpc: "2.0", id, ...(method === "tools/call" ? { result } : { error }) }).catch(() => {});
		};
		const noteRefused = ({ params }: JSONRPCRequest): void => {
			const tool = tools.find(({ name }) => name === params?.name)?.name;
			const end = { outcome: "busy", code: "rate_limit", milliseconds: 0, bytesIn: 0, bytesOut: 0 } as const;
			if (tool) onCallEnd?.({ ...end, tool, principal: principal || undefined });
		};

		transport.onmessage = (message, extra) => {
			if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
				const id = message.params?.requestId as RequestId;
				const isRunning = waiting.get(id)?.isCall;
				end(id);
				receive(message, extra);
				if (isRunning) endStream(id);
				return;
			}
			if (!isJSONRPCRequest(message)) return receive(message, extra);
			// Two requests under one id cannot be told apart, and the first answer would end both.
			if (waiting.has(message.id)) return answer(message, "invalid_argument", idInUse);
			const isFull = concurrentCalls > 0 && (callsOf.get(principal) ?? 0) >= concurrentCalls;
			if (isFull && calls.has(message.method)) {
				noteRefused(message);
				const limit = `Expected at most ${concurrentCalls} calls at the same time.`;
				return answer(message, "rate_limit", `${limit} Call again when one of them is answered.`);
			}
			begin(message, extra);
			receive(message, extra);
		};
		transport.send = (message, options) => {
			const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
			if (isAnswer && message.id !== undefined) end(message.id);
			return send(message, options);
		};
		const running = () => [...waiting].flatMap(([id, { isCall }]) => (isCall ? [id] : []));
		const own = {
			refuseWaiting() {
				for (const { request } of [...waiting.values()]) {
					cancel(request.id, "The server is shutting down.");
					answer(request, "timeout", "The server is shutting down, and the call was not done in time. Call again.");
				}
			},
		};
		watched.add(own);
		return {
			isRunning: () => running().length > 0,
			isWaiting: (id: RequestId) => waiting.has(id),
			stop() {
				for (const id of running()) {
					cancel(id, "The client is gone.");
					endStream(id);
				}
			},
			end() {
				watched.delete(own);
				for (const id of [...waiting.keys()]) end(id);
			},
		};
	};
	return {
		watch,
		waiting: () => waitingInAll,
		/** Answers every request that waits with an error. */
		refuseWaiting() {
			for (const one of [...watched]) one.refuseWaiting();
		},
	};
}

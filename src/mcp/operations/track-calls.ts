import {
	isJSONRPCErrorResponse,
	isJSONRPCNotification,
	isJSONRPCRequest,
	isJSONRPCResultResponse,
	type JSONRPCMessage,
	type RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import type { Sessions } from "../transports/http/create-sessions.ts";
import type { Refusal } from "../transports/http/refuse.ts";

/** Sessions that know how much is still to be answered. */
export interface TrackedSessions extends Sessions {
	/** How many requests of clients wait for an answer. */
	running(): number;
	/** Resolves when none does; at once where none does now. */
	whenIdle(): Promise<void>;
	/** From now on no session is opened; those that are there go on. */
	refuseNew(): void;
}

const shuttingDown: Refusal = {
	status: 503,
	message: "The server is shutting down. Call again: another one, or this one started anew, answers.",
	headers: { "Retry-After": "1" },
};

/** Keeps count of the requests that came into sessions and of the answers that went out. */
export function trackCalls(sessions: Sessions): TrackedSessions {
	const running = new Set<object>();
	const waiting: (() => void)[] = [];
	let refuses = false;
	const end = (call: object | undefined): void => {
		if (call === undefined || !running.delete(call) || running.size > 0) return;
		for (const resolve of waiting.splice(0)) resolve();
	};

	const open: Sessions["open"] = async (opening) => {
		const { transport } = opening;
		const own = new Map<RequestId, object>();
		const answered = (id: RequestId): void => {
			end(own.get(id));
			own.delete(id);
		};
		// Set before the session has the transport: what limits calls answers past the server, but not past this.
		const send = transport.send.bind(transport) as (message: JSONRPCMessage, ...rest: unknown[]) => Promise<void>;
		transport.send = (message: JSONRPCMessage, ...rest: unknown[]) => {
			if (isJSONRPCResultResponse(message) || (isJSONRPCErrorResponse(message) && message.id !== undefined)) {
				answered(message.id as RequestId);
			}
			return send(message, ...rest);
		};
		const onClose = (): void => {
			for (const id of [...own.keys()]) answered(id);
			opening.onClose?.();
		};
		const session = await sessions.open({ ...opening, onClose });
		const receive = transport.onmessage as ((message: JSONRPCMessage, ...rest: unknown[]) => void) | undefined;
		transport.onmessage = (message: JSONRPCMessage, ...rest: unknown[]) => {
			if (isJSONRPCRequest(message)) {
				const call = {};
				end(own.get(message.id));
				own.set(message.id, call);
				running.add(call);
			}
			if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
				answered(message.params?.requestId as RequestId);
			}
			receive?.(message, ...rest);
		};
		return session;
	};

	return {
		...sessions,
		refusalFor: (caller) => (refuses ? shuttingDown : sessions.refusalFor(caller)),
		open,
		running: () => running.size,
		async whenIdle() {
			if (running.size > 0) await new Promise<void>((resolve) => waiting.push(resolve));
		},
		refuseNew() {
			refuses = true;
		},
	};
}

import { createGatewayState, fail, type GatewayOptions, type GatewayState } from "./gateway-state.ts";
import { askServer, fromHost } from "./host-messages.ts";
import type { RequestId } from "./messages.ts";
import { fromServer } from "./server-messages.ts";

export type Gateway = ReturnType<typeof createGateway>;

/**
 * Passes the messages between a host and a server, to the byte. It reads the answers to `tools/list`, `tools/call`,
 * `resources/read` and those with the result of a task, changes them in place, and answers calls of the tools that it adds.
 */
export function createGateway(options: GatewayOptions) {
	const state: GatewayState = createGatewayState(options, (method, params) => askServer(state, method, params));
	return {
		fromHost: (line: Buffer) => fromHost(state, line),
		/** A message of the host has passed unread. */
		unreadFromHost(): void {
			state.hasUnread = true;
		},
		fromServer: (line: Buffer) => fromServer(state, line),
		/** Answers every request that still waits: no answer will come. */
		end(message: string): void {
			for (const request of [...state.open.takeAll(), ...state.own.takeAll()]) fail(state, request, { message });
		},
		/** The server cannot be asked this. */
		refuse(id: RequestId, error: Parameters<typeof fail>[2]): void {
			const request = state.open.take(id);
			if (request) fail(state, request, error);
		},
		isOpen: (id: RequestId): boolean => state.open.has(id),
		/** As the server has listed it. */
		toolNamed: (name: string) => state.tools.get(name),
	};
}

import type { IncomingMessage } from "node:http";
import { createParser } from "eventsource-parser";

/** What is needed to take up a stream again where it ended. */
export interface StreamState {
	lastId?: string;
	retryMs?: number;
}

/** Most characters of an event. */
const largestEvent = 256 * 1024 * 1024;

/** Reads a stream of server-sent events to its end. Resolves to whether it held an event. */
export function readEvents(
	stream: IncomingMessage,
	{
		state,
		onMessage,
		onEndpoint,
	}: {
		readonly state: StreamState;
		readonly onMessage: (message: Buffer) => void;
		/** Gets the address for messages (HTTP with SSE). */
		readonly onEndpoint?: (address: string) => void;
	},
): Promise<boolean> {
	let hasEvents = false;
	const decoder = new TextDecoder();
	const parser = createParser({
		maxBufferSize: largestEvent,
		onRetry: (milliseconds) => {
			state.retryMs = milliseconds;
		},
		onEvent: ({ id, event = "message", data }) => {
			hasEvents = true;
			if (id !== undefined) state.lastId = id;
			if (event === "endpoint") onEndpoint?.(data);
			else if (event === "message" && data !== "") onMessage(Buffer.from(data));
		},
	});
	return new Promise((resolve) => {
		stream.on("data", (piece: Buffer) => parser.feed(decoder.decode(piece, { stream: true })));
		stream.on("error", () => {});
		stream.once("close", () => resolve(hasEvents));
	});
}

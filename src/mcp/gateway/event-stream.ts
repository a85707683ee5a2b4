import type { IncomingMessage } from "node:http";
import { createParser } from "eventsource-parser";

/** What is needed to take up a stream again where it ended. */
export interface StreamState {
	lastId?: string;
	retryMs?: number;
	isTooLarge?: boolean;
}

/** Most characters of an event. */
const largestEvent = 256 * 1024 * 1024;

/**
 * Reads a stream of server-sent events to its end. Resolves to whether it held something new: a message, and where events
 * have ids another one than before. A stream with an event that is too large is ended; `isTooLarge` says so.
 */
export function readEvents(
	stream: IncomingMessage,
	{
		state,
		onMessage,
		onEndpoint,
		largest = largestEvent,
	}: {
		readonly state: StreamState;
		readonly onMessage: (message: Buffer) => void;
		/** Gets the address for messages (HTTP with SSE). */
		readonly onEndpoint?: (address: string) => void;
		/** In characters of an event. */
		readonly largest?: number;
	},
): Promise<boolean> {
	let hasEvents = false;
	const firstId = state.lastId;
	const decoder = new TextDecoder();
	const parser = createParser({
		maxBufferSize: largest,
		onRetry: (milliseconds) => {
			state.retryMs = milliseconds;
		},
		onError({ type }) {
			if (type !== "max-buffer-size-exceeded") return;
			state.isTooLarge = true;
			stream.destroy();
		},
		onEvent: ({ id, event = "message", data }) => {
			hasEvents = true;
			if (id !== undefined) state.lastId = id;
			if (event === "endpoint") onEndpoint?.(data);
			else if (event === "message" && data !== "") onMessage(Buffer.from(data));
		},
	});
	return new Promise((resolve) => {
		stream.on("data", (piece: Buffer) => {
			if (!state.isTooLarge) parser.feed(decoder.decode(piece, { stream: true }));
		});
		stream.on("error", () => {});
		stream.once("close", () => resolve(hasEvents && (state.lastId === undefined || state.lastId !== firstId)));
	});
}

/**
 * The pause before a stream is taken up again, in ms: what the server asks for, within bounds. It doubles while the stream
 * brings nothing new.
 */
export function pauseMs(tries: number, askedMs = 1_000): number {
	return Math.min(Math.max(askedMs, leastPauseMs) * 2 ** tries, longestPauseMs);
}

const leastPauseMs = 250;
const longestPauseMs = 60_000;

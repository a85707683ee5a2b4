import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { TrackedSessions } from "../../operations/track-calls.ts";

/** Most that clients get to take their last answers, in ms. */
const longestFlush = 3_000;

/** What a closer is made from. */
export interface CloserOptions {
	readonly server: Server;
	readonly sessions: TrackedSessions;
	/** How long closing may take, in ms: what runs then is stopped. */
	readonly shutdownMilliseconds: number;
	/** Called before anything else is done. */
	readonly onBegin: () => void;
}

/**
 * Makes the function that closes a server: it stops accepting, lets what runs be finished, ends every session, waits
 * until the last answer is out, and cuts off a client that does not take its answer, or not end its request. Of the time
 * given 3 s, or 3 tenths where that is less, are for the last two. Made before the server listens, so that it knows
 * every answer. Asked twice, it closes once.
 */
export function createCloser({ server, sessions, shutdownMilliseconds, onBegin }: CloserOptions): () => Promise<void> {
	const answers = new Map<ServerResponse, IncomingMessage>();
	let isClosing = false;
	let lookAgain = (): void => {};
	server.on("request", (request, response) => {
		answers.set(response, request);
		if (isClosing) response.shouldKeepAlive = false;
		response.once("close", () => {
			answers.delete(response);
			lookAgain();
		});
	});
	/** Waits until something is so, as seen whenever an answer is over; until that time at most. */
	const until = async (isSo: () => boolean, deadline: number): Promise<void> => {
		await Promise.race([
			new Promise<void>((resolve) => {
				lookAgain = () => {
					if (isSo()) resolve();
				};
				lookAgain();
			}),
			atTime(deadline),
		]);
	};
	/** A stream that a client holds open ends with its session only; a request that is not whole yet is not begun. */
	const isCall = ([, request]: [ServerResponse, IncomingMessage]) => request.method !== "GET" && request.complete;

	const close = async (): Promise<void> => {
		onBegin();
		isClosing = true;
		sessions.refuseNew();
		const ended = once(server, "close");
		server.close();
		const flush = Math.min(longestFlush, 0.3 * shutdownMilliseconds);
		const deadline = performance.now() + shutdownMilliseconds - flush;
		await until(() => ![...answers].some(isCall), deadline);
		// A call of the older transport is answered on the stream of its session.
		await Promise.race([sessions.whenIdle(), atTime(deadline)]);
		await sessions.closeAll();
		await until(() => answers.size === 0, performance.now() + flush);
		// Node itself would wait for connections that were kept, or opened and not yet used.
		server.closeAllConnections();
		await ended;
	};
	let closed: Promise<void> | undefined;
	return () => {
		closed ??= close();
		return closed;
	};
}

/** Resolves at a time of the clock that `performance.now` reads. */
function atTime(deadline: number): Promise<void> {
	return pause(Math.max(0, deadline - performance.now()), undefined, { ref: false });
}

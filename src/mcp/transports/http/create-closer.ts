import { once } from "node:events";
import type { Server, ServerResponse } from "node:http";
import type { Sessions } from "./create-sessions.ts";

const patienceMilliseconds = 3_000;

/**
 * Makes the function that closes a server: it stops accepting, ends every session, waits until the last answer is out,
 * and cuts off a client that does not take its answer, or not end its request, within 3 s. Made before the server
 * listens, so that it knows every answer. Asked twice, it closes once.
 */
export function createCloser(server: Server, sessions: Sessions): () => Promise<void> {
	const answers = new Set<ServerResponse>();
	let whenQuiet = (): void => {};
	server.on("request", (_request, response) => {
		answers.add(response);
		response.once("close", () => {
			answers.delete(response);
			if (answers.size === 0) whenQuiet();
		});
	});

	const close = async (): Promise<void> => {
		const ended = once(server, "close");
		server.close();
		await sessions.closeAll();
		await new Promise<void>((resolve) => {
			const cut = setTimeout(resolve, patienceMilliseconds);
			whenQuiet = () => {
				clearTimeout(cut);
				resolve();
			};
			if (answers.size === 0) whenQuiet();
		});
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

import type { Server } from "node:http";
import type { Sessions } from "./create-sessions.ts";

const patienceMilliseconds = 3_000;
const lookMilliseconds = 50;

/**
 * Stops accepting connections, ends every session, and waits until the last answer is out. A client that does not take
 * its answer is cut off after 3 s.
 */
export async function closeServer(server: Server, sessions: Sessions): Promise<void> {
	const closed = new Promise<void>((resolve) => {
		server.close(() => resolve());
	});
	// A connection that was busy when the server closed would otherwise wait for its keep-alive time.
	const look = setInterval(() => server.closeIdleConnections(), lookMilliseconds);
	const cut = setTimeout(() => server.closeAllConnections(), patienceMilliseconds);
	await sessions.closeAll();
	await closed;
	clearInterval(look);
	clearTimeout(cut);
}

import { createServer as createHttpServer } from "node:http";
import { PalimpsestError } from "../../errors.ts";
import type { ServerOptions } from "../create-server.ts";
import { createApplication } from "./http/create-application.ts";
import { createCloser } from "./http/create-closer.ts";
import { createSessions } from "./http/create-sessions.ts";
import { hostInUrl } from "./http/host-in-url.ts";
import { isLoopback } from "./http/is-loopback.ts";
import { listen } from "./http/listen.ts";
import type { Address } from "./parse-address.ts";

/** What an HTTP server is made from. The policy source stays the caller's: it outlives the server. */
export interface HttpOptions extends ServerOptions {
	/** Loopback only; port 0 takes a free one. */
	readonly address: Address;
	/** Largest request body, in bytes. Default 16 MiB. */
	readonly bodyLimitBytes?: number | undefined;
	/** Time without any request or open stream after which a session is closed. Default 30 minutes. */
	readonly idleMilliseconds?: number | undefined;
	/** Sessions open at the same time, of both transports together. Default 1 000. */
	readonly maxSessions?: number | undefined;
}

/** A server that listens. */
export interface HttpService {
	/** Such as `http://127.0.0.1:8765`, to which the path is added: `/mcp` or `/sse`. */
	readonly url: string;
	readonly port: number;
	/** Stops accepting and ends every session; takes a few seconds at most. */
	close(): Promise<void>;
}

/**
 * Serves many clients over HTTP on this machine: Streamable HTTP at `/mcp`, the older HTTP+SSE at `/sse` and `/messages`,
 * and `/healthz`. Each session has a server of its own.
 *
 * @throws PalimpsestError `invalid_argument` for an address beyond loopback, or one that cannot be had.
 */
export async function serveHttp(options: HttpOptions): Promise<HttpService> {
	const { address, policySource, log, archive, compaction, allowedPaths } = options;
	if (!isLoopback(address.host)) {
		throw new PalimpsestError(
			"invalid_argument",
			`Expected a loopback address (localhost, 127.0.0.1 or ::1), got ${JSON.stringify(address.host)}. Serving beyond this machine needs authentication, which is not there yet.`,
		);
	}
	const sessions = createSessions({
		policySource,
		log,
		archive,
		compaction,
		allowedPaths,
		idleMilliseconds: options.idleMilliseconds ?? 30 * 60_000,
		maxSessions: options.maxSessions ?? 1_000,
	});
	const application = createApplication({
		host: address.host,
		sessions,
		bodyLimitBytes: options.bodyLimitBytes ?? 16 * 1024 * 1024,
		log,
	});
	// Both times end when a request has come in whole; answers and streams may take as long as they like.
	const server = createHttpServer({ requestTimeout: 60_000, headersTimeout: 15_000 }, application);
	const close = createCloser(server, sessions);
	const port = await listen(server, address);
	return { url: `http://${hostInUrl(address.host)}:${port}`, port, close };
}

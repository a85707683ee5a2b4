import type { ServerResponse } from "node:http";
import type { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { createServer, type ServerOptions } from "../../create-server.ts";

/** One client with the server that is its own. */
export interface Session {
	readonly transport: StreamableHTTPServerTransport | SSEServerTransport;
	/** Keeps the session from being idle until a response is over, whether it is a short answer or a long stream. */
	hold(response: ServerResponse): void;
	/** Ends the session: its streams, its server, its listening to the policy. */
	close(): Promise<void>;
}

/** The sessions of one HTTP server. */
export interface Sessions {
	/** Whether no more are taken: the ceiling is reached, or the server is closing. */
	isFull(): boolean;
	find(id: string): Session | undefined;
	/** Makes a server of its own for a transport and connects the two. */
	open(id: string, transport: Session["transport"]): Promise<Session>;
	/** Ends every session and takes no more. */
	closeAll(): Promise<void>;
}

/** What sessions are made from. */
export interface SessionsOptions extends ServerOptions {
	/** Time without any request or open stream after which a session is closed. */
	readonly idleMilliseconds: number;
	readonly maxSessions: number;
}

// A timer for longer than this fires at once.
const longestTimer = 2 ** 31 - 1;

/** Makes an empty set of sessions. */
export function createSessions(options: SessionsOptions): Sessions {
	const { log, idleMilliseconds, maxSessions } = options;
	const sessions = new Map<string, Session>();
	let closing = false;

	const open: Sessions["open"] = async (id, transport) => {
		const server = createServer(options);
		let held = 0;
		let timer: NodeJS.Timeout | undefined;
		const close = () => server.close();
		const restTimer = (): void => {
			clearTimeout(timer);
			if (held > 0 || !sessions.has(id)) return;
			timer = setTimeout(() => void close(), Math.min(idleMilliseconds, longestTimer));
			timer.unref();
		};
		const hold = (response: ServerResponse): void => {
			if (response.closed) return;
			held += 1;
			clearTimeout(timer);
			response.once("close", () => {
				held -= 1;
				restTimer();
			});
		};
		// Every way for a session to end leads here; the server calls it before its own.
		transport.onclose = () => {
			clearTimeout(timer);
			sessions.delete(id);
		};
		server.server.onerror = (error) =>
			log({ level: "info", message: "Bad message over HTTP", data: { event: "protocol", error: error.name } });
		const session: Session = { transport, hold, close };
		sessions.set(id, session);
		restTimer();
		// The SDK declares its optional members a little differently in class and interface.
		await server.connect(transport as Transport).catch(async (error: unknown) => {
			await close();
			throw error;
		});
		return session;
	};

	return {
		isFull: () => closing || sessions.size >= maxSessions,
		find: (id) => sessions.get(id),
		open,
		async closeAll() {
			closing = true;
			await Promise.allSettled([...sessions.values()].map((session) => session.close()));
		},
	};
}

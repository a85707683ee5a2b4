import type { ServerResponse } from "node:http";
import type { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { ArchiveLocation } from "../../../archive/open-archive-of-policy.ts";
import type { ArchiveSource } from "../../../config/create-archive-source.ts";
import type { Caller } from "../../auth/caller.ts";
import { namespaceOfPrincipal } from "../../auth/namespace-of-principal.ts";
import { createServer, type ServerOptions } from "../../create-server.ts";
import { createCallLimits, type WatchedCalls } from "./limit-calls.ts";
import type { Quotas } from "./quotas.ts";
import { type Refusal, tooManySessions, tooManySessionsOfPrincipal } from "./refuse.ts";

/** One client with the server that is its own. */
export interface Session {
	readonly transport: StreamableHTTPServerTransport | SSEServerTransport;
	/** Keeps the session from being idle until a response is over, whether it is a short answer or a long stream. */
	hold(response: ServerResponse): void;
	/** Whether a request waits for its answer under this id. */
	isWaiting(id: RequestId): boolean;
	/** Ends the session: its streams, its server, its listening to the policy. */
	close(): Promise<void>;
}

/** What a session is opened with. */
export interface SessionOpening {
	readonly id: string;
	readonly transport: Session["transport"];
	/** Who opens it and has it alone; `undefined` where the server asks for no token. */
	readonly caller: Caller | undefined;
	/** Called when it is closed, in whatever way. */
	readonly onClose?: () => void;
}

/** The sessions of one HTTP server. */
export interface Sessions {
	/** Why no more are taken from a caller: a ceiling is reached, or the server is closing; else `undefined`. */
	refusalFor(caller: Caller | undefined): Refusal | undefined;
	/** A session of this caller's own; one of another principal is as unknown as one that is not there. */
	find(id: string, caller: Caller | undefined): Session | undefined;
	/** Makes a server of its own for a transport and connects the two. */
	open(opening: SessionOpening): Promise<Session>;
	/** Ends the sessions of the callers that are meant. */
	closeOf(isMeant: (caller: Caller) => boolean): Promise<void>;
	/** Ends every session and takes no more. */
	closeAll(): Promise<void>;
}

/** What sessions are made from. */
export interface SessionsOptions extends ServerOptions {
	/** Time without any request or open stream after which a session is closed. */
	readonly idleMilliseconds: number;
	/** Time without any request or open stream after which calls that are under way are stopped. Default 30 s. */
	readonly goneMilliseconds?: number | undefined;
	readonly maxSessions: number;
	readonly quotas: Quotas;
	/** The archive of a principal, where callers are told apart; else all have `archive`. */
	readonly archiveOf?: ((principal: string) => ArchiveSource | undefined) | undefined;
}

interface Owned extends Session {
	readonly caller: Caller | undefined;
}

// A timer for longer than this fires at once.
const longestTimer = 2 ** 31 - 1;

/** Makes an empty set of sessions. */
export function createSessions(options: SessionsOptions): Sessions {
	const { log, idleMilliseconds, goneMilliseconds = 30_000, maxSessions, quotas, archiveOf } = options;
	const sessions = new Map<string, Owned>();
	const callLimits = createCallLimits(quotas, options.onCallEnd);
	let closing = false;

	const open: Sessions["open"] = async ({ id, transport, caller, onClose }) => {
		const archive = caller && archiveOf ? archiveOf(caller.principal) : options.archive;
		const server = createServer({
			...options,
			ownsRequests: true,
			archive,
			...whoseCalls(options.archiveLocation, caller),
		});
		let held = 0;
		let timer: NodeJS.Timeout | undefined;
		let calls: WatchedCalls | undefined;
		const close = () => server.close();
		const restTimer = (): void => {
			clearTimeout(timer);
			if (held > 0 || !sessions.has(id)) return;
			const isWorking = (calls?.running() ?? 0) > 0;
			const rest = () => {
				if (!isWorking) return void close();
				// Nobody waits for the answers any more; a broken connection alone cancels nothing, as MCP has it.
				calls?.stop();
				restTimer();
			};
			const milliseconds = isWorking ? Math.min(goneMilliseconds, idleMilliseconds) : idleMilliseconds;
			timer = setTimeout(rest, Math.min(milliseconds, longestTimer));
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
			calls?.end();
			onClose?.();
		};
		server.server.onerror = (error) =>
			log({ level: "info", message: "Bad message over HTTP", data: { event: "protocol", error: error.name } });
		const session: Owned = {
			transport,
			caller,
			hold,
			isWaiting: (requestId) => calls?.isWaiting(requestId) ?? false,
			close,
		};
		sessions.set(id, session);
		restTimer();
		// The SDK declares its optional members a little differently in class and interface.
		await server.connect(transport as Transport).catch(async (error: unknown) => {
			await close();
			throw error;
		});
		calls = callLimits.watch(transport as Transport, caller?.principal ?? "");
		return session;
	};

	const closeEach = async (isMeant: (session: Owned) => boolean): Promise<void> => {
		await Promise.allSettled([...sessions.values()].filter(isMeant).map((session) => session.close()));
	};
	return {
		refusalFor(caller) {
			if (closing || sessions.size >= maxSessions) return tooManySessions;
			if (quotas.sessions === 0) return undefined;
			const own = [...sessions.values()].filter((session) => session.caller?.principal === caller?.principal);
			return own.length >= quotas.sessions ? tooManySessionsOfPrincipal : undefined;
		},
		find(id, caller) {
			const session = sessions.get(id);
			return session?.caller?.principal === caller?.principal ? session : undefined;
		},
		open,
		closeOf: (isMeant) => closeEach(({ caller }) => caller !== undefined && isMeant(caller)),
		async closeAll() {
			closing = true;
			await closeEach(() => true);
		},
	};
}

/** Each principal has a namespace of its own within the operator's. */
function whoseCalls(location: ArchiveLocation | undefined, caller: Caller | undefined) {
	if (!caller) return { archiveLocation: location };
	const { principal } = caller;
	if (!location) return { principal };
	const namespace = namespaceOfPrincipal(location.namespace, principal);
	return { principal, archiveLocation: { ...location, namespace } };
}

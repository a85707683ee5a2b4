import { once } from "node:events";
import { PalimpsestError } from "../../errors.ts";
import { redisLocation } from "./saved-address.ts";

export type Command = readonly (string | Buffer)[];
export type Reply = number | Buffer | null | readonly Reply[];

export type RedisConnection = Awaited<ReturnType<typeof connectRedis>>;

export interface RedisAddress {
	readonly url: string;
	/** Time without an answer after which the connection counts as lost. */
	readonly timeoutMs?: number | undefined;
	/** Is called after each connection. */
	readonly onReady?: (() => void) | undefined;
	readonly load?: (() => Promise<typeof import("@redis/client")>) | undefined;
}

interface Subscribing {
	readonly subscribe: (channel: string, listener: (message: string) => void) => Promise<void>;
}

/** The first `send` connects. Throws PalimpsestError `invalid_argument`; `archive_unavailable` without the client. */
export async function connectRedis(address: RedisAddress) {
	const { url, timeoutMs = 10_000, onReady = () => {}, load = () => import("@redis/client") } = address;
	const location = redisLocation(url);
	const redis = await load().catch((cause) => {
		const message = "An archive in Redis needs the package @redis/client. Install it: npm install @redis/client";
		throw new PalimpsestError("archive_unavailable", message, { cause });
	});

	const begin = (whenReady: (made: Subscribing) => void) => {
		const made = redis.createClient({
			url,
			RESP: 2,
			disableOfflineQueue: true,
			socket: { socketTimeout: timeoutMs, reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, 1000) },
			// Without these, an unused connection would count as lost.
			pingInterval: timeoutMs / 2,
			// A command is written at once or refused, so a time limit for that would only cost an AbortSignal each.
			commandOptions: { timeout: 0, typeMapping: { [redis.RESP_TYPES.BLOB_STRING]: Buffer } },
		});
		// Without a listener, a lost connection would end the process. The calls report the reason.
		made.on("error", () => {});
		made.on("ready", () => whenReady(made));
		made.on("end", () => made.emit("error", new Error("closed")));
		// Each call that waits for the connection adds a listener.
		made.setMaxListeners(0);
		made.connect().catch(() => {});
		return made;
	};
	let client: ReturnType<typeof begin> | undefined;
	let subscriber: typeof client;

	const answersTo = async (commands: readonly Command[]): Promise<readonly Reply[]> => {
		client ??= begin(onReady);
		const current = client;
		if (!current.isReady) await once(current, "ready");
		// Commands of one turn are sent together.
		return Promise.all(commands.map((command) => current.sendCommand<Reply>([...command])));
	};

	return {
		location,
		/** Whether a command would be sent now. */
		isReady: () => client?.isReady === true,
		/** Connects; resolves once that is done, and at the latest after so many milliseconds. */
		async connect(longestMs: number): Promise<void> {
			client ??= begin(onReady);
			const given = AbortSignal.timeout(longestMs);
			if (!client.isReady) await once(client, "ready", { signal: given }).catch(() => {});
		},
		/** One round trip, replies in order. After an error, some of the commands may have been carried out. */
		send: (commands: readonly Command[]) =>
			answersTo(commands).catch((error) => {
				throw refused(location, error);
			}),
		/** On a connection of its own, which takes no other commands. Messages are lost while it is not there. */
		subscribe(channel: string, listener: (message: string) => void): void {
			subscriber ??= begin((ready) => void ready.subscribe(channel, listener).catch(() => {}));
		},
		async close() {
			const open = [client, subscriber];
			client = subscriber = undefined;
			for (const one of open) {
				const destroy = () => {
					if (one?.isOpen) one.destroy();
				};
				// The client would leave a socket open that is still connecting.
				if (one?.isReady) destroy();
				else one?.once("ready", destroy).once("error", destroy);
			}
		},
	};
}

const refusals: Readonly<Record<string, string>> = {
	OOM: "Redis has no memory left. Raise its maxmemory, or shorten the retention",
	NOAUTH: "Redis asks for a password. Put it into the address",
	WRONGPASS: "Redis does not know this user or password",
	NOPERM: "the Redis user may not use these keys or commands",
	READONLY: "this Redis is a replica that takes no writes. Name the primary",
	MISCONF: "Redis cannot save to its disk and takes no writes",
	LOADING: "Redis is loading its data. Try again in a moment",
};

/** An error of Redis may quote the sent text, so this shows only its first word, a code. */
function refused(location: string, cause: unknown): PalimpsestError {
	const { message = "", code } = cause as NodeJS.ErrnoException;
	const word = /^[A-Z]{2,}\b/.exec(message)?.[0];
	const reason =
		refusals[word ?? ""] ??
		`it is not there or does not answer (${code ?? word ?? "connection lost"}). Start it, or name another archive`;
	return new PalimpsestError("archive_unavailable", `The archive in ${location} cannot be used: ${reason}.`, { cause });
}

export function textsOf(reply: Reply | undefined): string[] {
	return Array.isArray(reply) ? reply.map(String) : [];
}

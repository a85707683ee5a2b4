import { PalimpsestError } from "../errors.ts";

export type Command = readonly (string | Buffer)[];
export type Reply = number | Buffer | null | readonly Reply[];

export type RedisConnection = Awaited<ReturnType<typeof connectRedis>>;

/** Time during which this process is busy does not count for the timeouts. */
export interface RedisAddress {
	readonly url: string;
	readonly connectTimeoutMs?: number | undefined;
	readonly commandTimeoutMs?: number | undefined;
	readonly load?: (() => Promise<typeof import("@redis/client")>) | undefined;
}

const longestPause = 1000;

/** The first `send` connects. Throws PalimpsestError `invalid_argument`; `archive_unavailable` without the client. */
export async function connectRedis(address: RedisAddress) {
	const { url, connectTimeoutMs = 2000, commandTimeoutMs = 10_000, load = () => import("@redis/client") } = address;
	const location = locationOf(url);
	const redis = await load().catch((cause) => {
		const message = "An archive in Redis needs the package @redis/client. Install it: npm install @redis/client";
		throw new PalimpsestError("archive_unavailable", message, { cause });
	});

	const begin = () => {
		const made = redis.createClient({
			url,
			RESP: 2,
			disableOfflineQueue: true,
			socket: {
				connectTimeout: connectTimeoutMs,
				reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, longestPause),
			},
			commandOptions: { typeMapping: { [redis.RESP_TYPES.BLOB_STRING]: Buffer } },
		});
		// Without a listener, a lost connection would end the process. The calls report the reason.
		made.on("error", () => {});
		// Each call that waits for the connection adds a listener.
		made.setMaxListeners(0);
		made.connect().catch(() => {});
		return made;
	};
	let client: ReturnType<typeof begin> | undefined;

	const whenReady = async (current: ReturnType<typeof begin>): Promise<void> => {
		if (current.isReady) return;
		let [onReady, onError] = [() => {}, (_error: unknown) => {}];
		const ready = new Promise<void>((resolve, reject) => {
			onReady = resolve;
			// The client's own time-out also counts time when this process is busy. The client tries again by itself.
			onError = (error) => {
				if (!(error instanceof redis.ConnectionTimeoutError)) reject(error);
			};
			current.on("ready", onReady).on("error", onError);
		});
		const tooLate = () => new Error("no connection in time");
		await unlessLate(ready, connectTimeoutMs, tooLate).finally(() =>
			current.off("ready", onReady).off("error", onError),
		);
	};

	const answersTo = async (commands: readonly Command[]): Promise<readonly Reply[]> => {
		client ??= begin();
		const current = client;
		await whenReady(current);
		// Commands of one turn are sent together.
		const answers = Promise.all(commands.map((command) => current.sendCommand<Reply>([...command])));
		return unlessLate(answers, commandTimeoutMs, () => {
			// Unread answers would fill memory.
			if (client === current) client = undefined;
			current.destroy();
			return new Error("no answer in time");
		});
	};

	return {
		location,
		/** One round trip, replies in order. After an error, some of the commands may have been carried out. */
		send: (commands: readonly Command[]) =>
			answersTo(commands).catch((error) => {
				throw refused(location, error);
			}),
		async close() {
			const open = client;
			client = undefined;
			if (open?.isOpen) open.destroy();
		},
	};
}

function locationOf(url: string): string {
	try {
		const { protocol, hostname, port, pathname } = new URL(url);
		if (hostname === "") throw new TypeError("no host");
		return `${protocol}//${hostname}${port === "" ? "" : `:${port}`}${pathname === "/" ? "" : pathname}`;
	} catch (cause) {
		const message = "Expected the address of a Redis: redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE], or rediss://.";
		throw new PalimpsestError("invalid_argument", message, { cause });
	}
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

const looks = 10;

/** While a process computes, replies wait, and a timer that is due runs before them. */
async function unlessLate<T>(work: Promise<T>, milliseconds: number, tooLate: () => Error): Promise<T> {
	let left = looks;
	let timer: NodeJS.Timeout | undefined;
	let last: NodeJS.Immediate | undefined;
	const late = new Promise<never>((_, reject) => {
		// An interval is called once after the process was busy, for however long.
		timer = setInterval(() => {
			left -= 1;
			if (left > 0) return;
			clearInterval(timer);
			// An answer that has arrived is read first.
			last = setImmediate(() => reject(tooLate()));
		}, milliseconds / looks);
	});
	return Promise.race([work, late]).finally(() => {
		clearInterval(timer);
		clearImmediate(last);
	});
}

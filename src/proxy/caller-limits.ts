import type { IncomingMessage } from "node:http";

/** The limits of one caller. 0 means none. */
export interface CallerLimits {
	readonly requestsAtOnce: number;
	/** Bytes of the bodies of its requests at once. */
	readonly bytesAtOnce: number;
	/** Conversations in an hour; those of subagents count. */
	readonly conversations: number;
}

export const usualCallerLimits: CallerLimits = {
	requestsAtOnce: 32,
	bytesAtOnce: 128 * 1024 * 1024,
	conversations: 1_000,
};

/** Over a limit. `mayRetry`: the same request can succeed in a moment. */
export interface OverLimit {
	readonly status: 413 | 429;
	readonly message: string;
	readonly mayRetry: boolean;
}

const hour = 3_600_000;

/** Counts what one caller has under way, so that nobody takes the room of the others. */
export function createCallerCounts({ requestsAtOnce, bytesAtOnce, conversations }: CallerLimits, now: () => number) {
	let [requests, bytes] = [0, 0];
	/** When each was last used, the oldest first. */
	const used = new Map<string, number>();
	return {
		/** Counts a request until `end` is called, unless it is over a limit. */
		begin(
			request: Pick<IncomingMessage, "headers" | "on" | "off" | "pause">,
		): { readonly end: () => void } | OverLimit {
			const length = Number(request.headers["content-length"] ?? 0);
			if (bytesAtOnce > 0 && length > bytesAtOnce)
				return {
					status: 413,
					message: `Expected a body of at most ${bytesAtOnce} bytes; it has ${length}.`,
					mayRetry: false,
				};
			if (requestsAtOnce > 0 && requests >= requestsAtOnce) return busy(`${requestsAtOnce} requests at once`);
			if (bytesAtOnce > 0 && bytes + length > bytesAtOnce) return busy(`${bytesAtOnce} bytes of requests at once`);
			let own = length;
			requests += 1;
			bytes += own;
			const onData = (piece: Buffer): void => {
				own += piece.length;
				bytes += piece.length;
			};
			// A body without a length counts as it arrives. Whoever reads it resumes the request.
			if (request.headers["content-length"] === undefined) request.pause().on("data", onData);
			return {
				end() {
					request.off("data", onData);
					requests -= 1;
					bytes -= own;
				},
			};
		},
		/** Counts a conversation in use. `undefined`: it is within the limit. */
		use(conversation: string): OverLimit | undefined {
			const at = now();
			for (const [oldest, last] of used) {
				if (at - last < hour) break;
				used.delete(oldest);
			}
			if (conversations > 0 && !used.has(conversation) && used.size >= conversations) {
				const message = `You have used ${conversations} conversations within an hour, the limit of this proxy. Go on in one of them, or wait.`;
				return { status: 429, message, mayRetry: false };
			}
			used.delete(conversation);
			used.set(conversation, at);
			return undefined;
		},
	};
}

function busy(limit: string): OverLimit {
	return {
		status: 429,
		message: `You have ${limit}, the limit of this proxy. Ask again when one has ended.`,
		mayRetry: true,
	};
}

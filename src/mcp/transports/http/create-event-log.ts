import type { EventStore } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { sizeOfJson } from "./size-of-json.ts";

/** What an HTTP server sent last on its streams, for clients whose connection broke. */
export interface EventLog {
	/** Bytes kept now, as `sizeOfJson` reckons them. */
	bytes(): number;
	/** The events of one session, which knows no other's. */
	openSession(): SessionEvents;
}

/** The events of one session. */
export interface SessionEvents extends EventStore {
	/** Forgets them. */
	clear(): void;
}

interface Entry {
	readonly stream: string;
	readonly message: JSONRPCMessage;
	readonly bytes: number;
}

/** Most that is kept, in bytes: of one session, where the largest answer fits, and of all. */
export interface EventLogLimits {
	readonly bytesOfSession: number;
	readonly bytesOfAll: number;
}

/**
 * Makes an empty log. Past a limit what was sent longest ago goes: of the session, and of all sessions. A client that
 * resumes after an event that is gone is refused, and calls again.
 */
export function createEventLog({ bytesOfSession, bytesOfAll }: EventLogLimits): EventLog {
	/** Every event in the order it was sent, with what takes it out of its session. */
	const all = new Map<string, () => void>();
	let total = 0;
	let last = 0;

	const openSession = (): SessionEvents => {
		const own = new Map<string, Entry>();
		let ownTotal = 0;
		const forget = (id: string): void => {
			const bytes = own.get(id)?.bytes ?? 0;
			own.delete(id);
			all.delete(id);
			ownTotal -= bytes;
			total -= bytes;
		};
		return {
			async storeEvent(stream, message) {
				last += 1;
				const id = String(last);
				const bytes = sizeOfJson(message, bytesOfSession);
				own.set(id, { stream, message, bytes });
				all.set(id, () => forget(id));
				ownTotal += bytes;
				total += bytes;
				for (const oldest of own.keys()) {
					if (ownTotal <= bytesOfSession) break;
					forget(oldest);
				}
				for (const forgetOldest of all.values()) {
					if (total <= bytesOfAll) break;
					forgetOldest();
				}
				return id;
			},
			async getStreamIdForEventId(id) {
				return own.get(id)?.stream;
			},
			async replayEventsAfter(id, { send }) {
				const stream = own.get(id)?.stream;
				if (stream === undefined) throw new Error("No such event.");
				const later = [...own].filter(([other, entry]) => entry.stream === stream && Number(other) > Number(id));
				for (const [other, { message }] of later) await send(other, message);
				return stream;
			},
			clear() {
				for (const id of [...own.keys()]) forget(id);
			},
		};
	};
	return { bytes: () => total, openSession };
}

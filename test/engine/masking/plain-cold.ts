import type { ReplayHistory } from "../../../src/engine/masking/history.ts";

/**
 * Whether the cache is lost for a call after the first so many messages, from the definition: longer ago than the
 * cache lasts, the last call was made. A call is made when the last message before it came, or at its own time if none
 * before it has one; now is when the last message came. Each is found anew.
 */
export function plainCold({ transcript, calls }: ReplayHistory, messages: number, defaultSeconds: number): boolean {
	const cameBefore = (end: number) =>
		transcript.messages
			.slice(0, end)
			.map(({ time, endTime }) => endTime ?? time)
			.findLast((time) => time !== undefined);
	const last = calls.findLast((call) => call < messages);
	if (last === undefined) return false;
	const called = cameBefore(last) ?? transcript.messages[last]?.time;
	const now = cameBefore(messages);
	const recorded = transcript.messages.slice(0, messages).map(({ usage }) => usage?.cacheSeconds);
	const lifetime = recorded.findLast((seconds) => seconds !== undefined) ?? defaultSeconds;
	return called !== undefined && now !== undefined && (now - called) / 1_000 > lifetime;
}

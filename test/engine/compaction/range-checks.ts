import { expect } from "vitest";
import type { PickedRange } from "../../../src/engine/compaction/range.ts";
import type { Transcript } from "../../../src/engine/conversation/transcript.ts";

/**
 * Checks a range without the code that picks it: no call is parted from its result, in either direction, by an oracle of
 * its own that walks ids; system messages, the task and the last messages stay.
 */
export function checkRange(transcript: Transcript, range: PickedRange, keepLast: number): void {
	const picked = new Set(range.messages);
	expect(range.messages).toEqual([...picked].toSorted((a, b) => a - b));
	expect(range.first).toBe(range.messages[0]);
	expect(range.groups.flatMap((group) => group.messages).toSorted((a, b) => a - b)).toEqual(range.messages);
	const callers = new Map<string, number>();
	let latest: number | undefined;
	transcript.messages.forEach((message, index) => {
		for (const { id } of message.calls) if (id !== undefined) callers.set(id, index);
		if (message.calls.length > 0) latest = index;
		for (const { callId } of message.results) {
			const caller = callId === undefined ? latest : callers.get(callId);
			if (caller !== undefined) expect(picked.has(caller), `result ${index} of call ${caller}`).toBe(picked.has(index));
		}
	});
	const movable = transcript.messages.flatMap(({ role, sent }, index) =>
		role === "system" || sent === false ? [] : [index],
	);
	for (const index of range.messages) expect(movable).toContain(index);
	for (const index of keepLast === 0 ? [] : movable.slice(-keepLast)) expect(picked.has(index)).toBe(false);
	const task = transcript.messages.findIndex(({ role, sent }) => role === "user" && sent !== false);
	expect(range.first).toBeGreaterThan(task);
}

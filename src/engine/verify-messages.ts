import { pairResults } from "./pairing.ts";
import type { Message, Transcript } from "./transcript.ts";
import type { Violation } from "./violation.ts";

/** In the place of an index before: a message that was not there. */
export const newMessage = -1;

/**
 * Checks order, roles, ids and pairing of the messages that stay, whose indexes before are `kept`. What is new among them
 * is a message of the user's or of the assistant's, without calls or results.
 */
export function verifyMessages(before: Transcript, after: Transcript, kept: readonly number[]): Violation[] {
	if (kept.length !== after.messages.length) {
		return [{ promise: "order_kept", detail: `${after.messages.length} messages where ${kept.length} should stay` }];
	}
	const violations: Violation[] = [];
	for (let index = 0; index < kept.length; index += 1) {
		const original = kept[index] as number;
		const old = before.messages[original];
		const current = after.messages[index];
		if (original === newMessage && current && !isPlain(current)) {
			violations.push({ promise: "inserted_as_planned", detail: `message ${index} of the result` });
		}
		if (!old || !current || old === current) continue;
		if (old.role !== current.role) violations.push({ promise: "order_kept", detail: `message ${original}` });
		if (!sameIds(old, current)) violations.push({ promise: "ids_kept", detail: `message ${original}` });
	}
	return [...violations, ...verifyPairing(before, after, kept)];
}

function isPlain({ role, calls, results, thinking }: Message): boolean {
	return (role === "user" || role === "assistant") && calls.length + results.length + thinking.length === 0;
}

function sameIds(old: Message, current: Message): boolean {
	return (
		old.calls.length === current.calls.length &&
		old.results.length === current.results.length &&
		old.calls.every(({ id, name }, index) => id === current.calls[index]?.id && name === current.calls[index]?.name) &&
		old.results.every(({ callId, isError }, index) => {
			const other = current.results[index];
			return callId === other?.callId && isError === other?.isError;
		})
	);
}

/**
 * Each result that stays answers the same call as before, and each call that stays has all its results. A pair goes as a
 * whole: it is expected afterwards as soon as one side of it stays.
 */
function verifyPairing(before: Transcript, after: Transcript, kept: readonly number[]): Violation[] {
	const positions = new Array<number | undefined>(before.messages.length);
	for (let index = 0; index < kept.length; index += 1) {
		const original = kept[index] as number;
		if (original !== newMessage) positions[original] = index;
	}
	const found = pairResults(after);
	const violations: Violation[] = [];
	const report = (message: number, caller: number | undefined) => {
		const detail = `result in message ${message}, call in message ${caller ?? "none"}`;
		violations.push({ promise: "pairing_kept", detail });
	};
	let next = 0;
	for (const { message, caller, result } of pairResults(before)) {
		const at = positions[message];
		const by = caller === undefined ? undefined : positions[caller];
		if (at === undefined && by === undefined) continue;
		const is = found[next];
		next += 1;
		const isKept = at !== undefined && (by !== undefined || caller === undefined);
		if (!isKept || is?.message !== at || is.caller !== by || is.result.callId !== result.callId) {
			report(at ?? -1, by ?? (caller === undefined ? undefined : -1));
		}
	}
	for (const { message, caller } of found.slice(next)) report(message, caller);
	return violations;
}

import { asksPerson } from "../conversation/asking-tools.ts";
import type { Message } from "../conversation/transcript.ts";
import type { PairedResult } from "../conversation/turns.ts";

/** Tools that load the instructions of a skill. */
const loading = /^(?:functions\.)?(?:skill|(?:activate|load|use|invoke|read)_?skill|skill_?(?:view|load))$/i;

/**
 * For each result, the message until which it is in use: `Infinity` for what a person answered; for the instructions of a
 * skill the person's next request but one or a later load of the same skill, and `Infinity` until then; -1 for all others.
 */
export function usedUntil(
	messages: readonly Message[],
	paired: readonly PairedResult[],
	argumentsOf: (place: number) => string | undefined,
): readonly number[] {
	const loaded = new Map<string, number>();
	const until = paired.map(({ call }) => (asksPerson(call?.name) ? Number.POSITIVE_INFINITY : -1));
	for (const [place, { call, message }] of paired.entries()) {
		if (!loading.test(call?.name ?? "")) continue;
		until[place] = nextRequestButOne(messages, message);
		const skill = JSON.stringify([call?.name, argumentsOf(place)]);
		const before = loaded.get(skill);
		if (before !== undefined) until[before] = Math.min(until[before] as number, message);
		loaded.set(skill, place);
	}
	return until;
}

function nextRequestButOne(messages: readonly Message[], from: number): number {
	const isRequest = ({ role, results }: Message, index: number) =>
		index > from && role === "user" && results.length === 0;
	const next = messages.findIndex(isRequest);
	const butOne = messages.findIndex((message, index) => next !== -1 && index > next && isRequest(message, index));
	return butOne === -1 ? Number.POSITIVE_INFINITY : butOne;
}

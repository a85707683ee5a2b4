import type { PairedResult } from "../../engine/conversation/turns.ts";
import { mayRepeat } from "../../operations/repeats-on-arrival.ts";
import { clearingFor, mayBeHidden } from "./clearing.ts";
import { arrivingPlaces, choose, knownStates, reasonAgainst, unsentPlaces } from "./decisions.ts";
import { leaveOut, shownBefore } from "./repeats.ts";
import type { HostRequest, OpenedConversation, Shared } from "./request.ts";
import { startSentLines } from "./sent-lines.ts";
import type { LeftOut } from "./states.ts";

/**
 * By place, the new results whose lines stand in results that the model was sent, as they are sent now: those that no answer
 * follows, and what this request masks, are in no view. Where a provider clears results, nobody knows what it takes out.
 */
export function repeatsOf(
	opened: OpenedConversation,
	request: Pick<HostRequest<unknown>, "body" | "decides" | "takesBetas" | "terms">,
	shared: Shared,
): ReadonlyMap<number, LeftOut> {
	const { policy } = shared;
	const { remembered } = opened;
	const found = new Map<number, LeftOut>();
	const isFrozen = remembered.requests + 1 <= remembered.frozenUntil;
	if (!policy.truncate.repeats || !request.decides || reasonAgainst(opened, isFrozen, shared) !== undefined)
		return found;
	const clearing = clearingFor(request, policy, remembered);
	if (clearing !== "off" || mayBeHidden(request)) return found;
	const states = knownStates(opened, remembered);
	const due = arrivingPlaces(opened, states).filter((place) =>
		mayRepeat(opened.paired[place] as PairedResult, opened.transcript, policy),
	);
	const unsent = unsentPlaces(opened)[0];
	if (due.length === 0 || unsent === undefined) return found;
	const goes = choose(opened, states, { remembered, terms: request.terms, clearing })?.decisions;
	const stateOf = (place: number) => goes?.get(place) ?? states[place];
	opened.sentLines ??= startSentLines();
	opened.sentLines.show(shownBefore(unsent, opened, stateOf));
	for (const place of due) {
		const one = leaveOut(place, opened, { ...shared, lines: opened.sentLines, stateOf });
		if (one) found.set(place, one);
	}
	return found;
}

import type { PairedResult } from "../../engine/conversation/turns.ts";
import { mayRepeat } from "../../operations/repeats-on-arrival.ts";
import { mayBeHidden } from "./clearing.ts";
import { arrivalsOf } from "./decisions.ts";
import { formOf, leaveOut, shownBefore } from "./repeats.ts";
import type { HostRequest, OpenedConversation, Shared } from "./request.ts";
import { startSentLines } from "./sent-lines.ts";
import type { ResultState } from "./states.ts";

/**
 * New states of results whose lines point to a result that this request does not have, or not in the form that they point to: it
 * was masked or cleared, or the host has compacted its history or gone back. They point to what else is in view, or are sent
 * whole. What follows the missing result is written to the provider's cache again in any case.
 */
export function mendRepeats(
	opened: OpenedConversation,
	what: Pick<Shared, "policy" | "archive"> &
		Pick<HostRequest<unknown>, "body" | "recall"> & {
			readonly stateOf: (place: number) => ResultState | undefined;
			readonly began: Pick<ResultState, "since" | "at" | "changed">;
		},
): Map<number, ResultState> {
	const { stateOf, began, policy } = what;
	const { paired, keys } = opened;
	const mended = new Map<number, ResultState>();
	const now = (place: number) => mended.get(place) ?? stateOf(place);
	let placeOf: Map<string, number> | undefined;
	const stands = (key: string, form: string, before: number): boolean => {
		placeOf ??= new Map(Array.from(keys, (one, place) => [one, place] as const).toReversed());
		const place = placeOf.get(key);
		return place !== undefined && place < before && formOf(now(place), (paired[place] as PairedResult).result) === form;
	};
	const lines = startSentLines();
	const isHidden = mayBeHidden(what);
	for (const place of keys.keys()) {
		const state = stateOf(place);
		if (!state?.sources || state.kind === "masked") continue;
		if (!isHidden && state.sources.every(({ key, form }) => stands(key, form, place))) continue;
		mended.set(place, { ...pointing(place), ...(state.kind === "cleared" ? { kind: "cleared", ref: state.ref } : {}) });
	}
	return mended;

	function pointing(place: number): ResultState {
		const changed = { ...began, changed: began.since };
		if (!isHidden) lines.show(shownBefore(place, opened, now));
		const one =
			!isHidden && mayRepeat(opened.paired[place] as PairedResult, opened.transcript, policy)
				? leaveOut(place, opened, { ...what, lines, stateOf: now })
				: undefined;
		const [arrival] = arrivalsOf(opened, [place], { ...what, repeats: one && new Map([[place, one]]) });
		return { ...changed, ...(arrival?.[1] ?? { kind: "whole", values: new Map() }) };
	}
}

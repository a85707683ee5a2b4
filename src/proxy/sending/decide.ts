import { messagesOf } from "./branch.ts";
import { clearingFor, mayClear, uncleared } from "./clearing.ts";
import { addClearingNote } from "./clearing-note.ts";
import type { Composed } from "./composed.ts";
import { addHint, arrivalsOf, arrivingPlaces, choose, knownStates, reasonAgainst } from "./decisions.ts";
import { settledLength } from "./histories.ts";
import { mendRepeats } from "./mend-repeats.ts";
import type { HostRequest, OpenedConversation, Shared } from "./request.ts";
import { isShortened, type ResultState } from "./states.ts";

/** How the results of a request are sent, by place. */
export interface Decided extends Pick<Composed<unknown>, "why" | "asked" | "noDecision"> {
	readonly known: readonly (ResultState | undefined)[];
	/** Known states that the host's history or another process has overtaken, as they are now. */
	readonly overtaken: ReadonlyMap<number, ResultState>;
	/** States that begin with this request. */
	readonly fresh: ReadonlyMap<number, ResultState>;
	readonly began: Pick<ResultState, "since" | "at" | "changed">;
}

/** The known states, and the decisions that are ready. What goes wrong with these leaves the known states as they are. */
export function decideStates(
	opened: OpenedConversation,
	request: HostRequest<unknown>,
	shared: Shared & { readonly onError: (error: unknown) => void },
): Decided {
	const { transcript, remembered, keys, isHeldOut } = opened;
	const number = remembered.requests + 1;
	const began = { since: number, at: transcript.messages.length, changed: 0 };
	const remain = isHeldOut ? keys.map(() => undefined) : knownStates(opened, remembered);
	const before = mayClear(request, remembered) ? remain : remain.map(uncleared);
	const mend = (stateOf: (place: number) => ResultState | undefined) =>
		isHeldOut ? new Map<number, ResultState>() : mendRepeats(opened, { ...shared, ...request, stateOf, began });
	const overtaken = mend((place) => before[place]);
	const known = overtaken.size === 0 ? before : before.map((state, place) => overtaken.get(place) ?? state);
	const none = { known, overtaken, fresh: new Map(), began, why: undefined, asked: new Set<number>() };
	const noDecision = reasonAgainst(opened, number <= remembered.frozenUntil, shared);
	if (noDecision !== undefined) return { ...none, noDecision };
	try {
		const fresh = new Map<number, ResultState>();
		const chosen = decide(fresh, opened, { request, shared, known, began });
		for (const [place, state] of mend((place) => fresh.get(place) ?? known[place])) fresh.set(place, state);
		return { ...none, fresh, ...(chosen && { why: chosen.why, asked: chosen.asked }), noDecision };
	} catch (error) {
		shared.onError(error);
		return { ...none, noDecision: "failed" };
	}
}

/** Adds the states that begin with this request to `fresh`. Returns the decisions among them. */
function decide(
	fresh: Map<number, ResultState>,
	opened: OpenedConversation,
	about: {
		readonly request: HostRequest<unknown>;
		readonly shared: Shared;
		readonly known: readonly (ResultState | undefined)[];
		readonly began: Pick<ResultState, "since" | "at" | "changed">;
	},
): ReturnType<typeof choose> {
	const { request, shared, known, began } = about;
	const { remembered, paired, isCold, branch, transcript } = opened;
	const { recall, decides, terms } = request;
	if (!decides) return undefined;
	const arrivals = arrivalsOf(opened, arrivingPlaces(opened, known), { ...shared, recall, repeats: opened.repeats });
	for (const [place, arrival] of arrivals) fresh.set(place, { ...began, ...arrival });
	for (const [place, answer] of opened.answers ?? []) {
		const value = paired[place]?.result.whole?.write(answer);
		// A request beside this one may have been answered first.
		if (value !== undefined && !known[place])
			fresh.set(place, { ...began, kind: "answered", values: new Map([["whole", () => value]]) });
	}
	const clearing = clearingFor(request, shared.policy, remembered);
	// A program that asks again after a failure gets the same edits: the provider's cache may hold them.
	const isAgain = branch?.wasRefused === true && messagesOf(branch) === settledLength(transcript) && !isCold;
	const mayChoose = !isAgain && clearing !== "refused";
	const chosen = mayChoose ? choose(opened, known, { remembered, terms, clearing }) : undefined;
	for (const [place, { kind, values, ref }] of chosen?.decisions ?? []) {
		const before = known[place];
		const cut = before && isShortened(before) ? before.values : before?.cut;
		const sources = kind === "cleared" ? before?.sources : undefined;
		fresh.set(place, {
			...began,
			kind,
			changed: began.since,
			values,
			ref,
			...(cut ? { cut } : {}),
			...(sources ? { sources } : {}),
		});
	}
	if (recall) addClearingNote(opened, { known, fresh, recall, policy: shared.policy, began });
	const { policy } = shared;
	if (recall) addHint(opened, { known, fresh, recall, ways: request.recallWays, policy, number: began.since });
	return chosen;
}

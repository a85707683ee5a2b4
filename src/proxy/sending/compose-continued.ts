import { once } from "../../engine/conversation/lists.ts";
import type { PairedResult } from "../../engine/conversation/turns.ts";
import type { Composed } from "./composed.ts";
import { arrivalsOf, reasonAgainst, type Sendable, unsentPlaces } from "./decisions.ts";
import { resultKeys } from "./identity.ts";
import type { HostRequest, Shared } from "./request.ts";
import { charsSent, type ResultState, valueEdits } from "./states.ts";

/**
 * Cuts the results of a request that holds only what is new, since its provider keeps the history. They are sent once, so that
 * nothing has to be remembered, and the same request gets the same cuts. `archive` has to end before the request is sent, since
 * nobody sends these results again. `undefined` for a request that continues none, and where nothing is cut.
 */
export function composeContinued<Written>(
	opened: Sendable,
	request: HostRequest<Written>,
	shared: Shared,
): { readonly composed: Composed<Written>; readonly archive: () => Promise<void> } | undefined {
	if (!request.continues || reasonAgainst({ isHeldOut: false }, false, shared) !== undefined) return undefined;
	const { source, transcript, paired } = opened;
	const states: (ResultState | undefined)[] = paired.map(() => undefined);
	const cuts = arrivalsOf(opened, unsentPlaces(opened), { ...shared, recall: request.recall });
	if (cuts.length === 0) return undefined;
	for (const [place, cut] of cuts) states[place] = { since: 0, at: 0, changed: 0, ...cut };
	const edits = cuts.flatMap(([place, { values }]) => valueEdits(values, (paired[place] as PairedResult).result));
	const form = {
		number: 0,
		decided: new Set(cuts.map(([place]) => place)),
		asked: new Set<number>(),
		why: undefined,
		noDecision: undefined,
		leftOut: [],
		branch: undefined,
		asksToDrop: false,
		asksToClear: false,
		block: undefined,
		isDiagnosed: false,
		charsSent: once(() => charsSent(transcript, paired, (place) => states[place])),
	};
	const whole = { ...form, written: undefined, states: paired.map(() => undefined), decided: new Set<number>() };
	const none = () => undefined;
	return {
		composed: {
			...form,
			written: request.write(edits, {}),
			states,
			variants: {
				withoutInvalid: none,
				dropping: none,
				withoutReasoning: none,
				withoutClearing: none,
				withoutBlock: none,
				earlier: none,
				own: () => ({ ...whole, accepted: async () => {} }),
			},
		},
		archive: () => {
			// It has no conversation: their texts name these results.
			const keys = resultKeys(transcript, "");
			const replaced = cuts.map(([place, { values, ref }]) => {
				return { key: keys[place] as string, paired: paired[place] as PairedResult, values, ref };
			});
			return shared.originals.archiveAlone(source.document, replaced);
		},
	};
}

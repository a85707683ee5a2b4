import { applyPlan } from "../engine/conversation/apply.ts";
import { once } from "../engine/conversation/lists.ts";
import { resultText, type Transcript } from "../engine/conversation/transcript.ts";
import { type PairedResult, pairResults } from "../engine/conversation/turns.ts";
import type { CutOnArrival } from "../engine/masking/history.ts";
import { findUses, stringsIn, type Uses } from "../engine/masking/uses.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { wordings } from "../engine/policy/wordings.ts";
import type { ArrivalLimit } from "../engine/truncation/arrival-limit.ts";
import { locateMessages, type ReadConversation } from "../formats/detect.ts";
import { placeholdersOf } from "../storage/restore/recognise.ts";
import { planCuts } from "./cut-on-arrival.ts";

/** A conversation whose results were cut as they arrived. */
export interface Arrived {
	/** Everything that the cuts depend on. */
	readonly key: string;
	readonly transcript: Transcript;
	readonly uses: () => Uses;
	readonly hides: CutOnArrival["hides"];
}

/** Characters that no result has. */
const unlimited = 1_000_000_000;

/** Cuts no result as it arrives. */
export const arrivesWhole = { max_chars: unlimited, command_chars: null } as const;

/**
 * Cuts the results of a conversation as they arrive, as the proxy does under a policy or another limit: once for all
 * policies that cut alike. Returns `undefined` if none is cut.
 */
export function startArrivals(
	source: ReadConversation,
	limitOf?: ArrivalLimit,
): (policy: Policy) => Arrived | undefined {
	const { document, format, transcript } = source;
	const paired = pairResults(transcript);
	const known = new Map<string, Arrived | undefined>();
	const arriving = (key: string, policy: Policy): Arrived | undefined => {
		const plan = planCuts({
			transcript,
			fresh: paired,
			policy,
			wording: wordings(policy, "archived"),
			isPlaceholder: placeholdersOf(policy),
			// A replay archives nothing; the notice is as long as with any reference.
			archiving: { refOf: () => "0".repeat(12), jsonAt: () => "" },
			limitOf,
		});
		if (plan.length === 0) return undefined;
		const cut = format.read(locateMessages(applyPlan(document, plan)));
		return { key, transcript: cut, uses: once(() => findUses(cut)), hides: hiding(paired, pairResults(cut)) };
	};
	return (policy) => {
		const key = JSON.stringify([policy.locale, policy.truncate, policy.mask.thrift]);
		if (!known.has(key)) known.set(key, arriving(key, policy));
		return known.get(key);
	};
}

function hiding(whole: readonly PairedResult[], cut: readonly PairedResult[]): CutOnArrival["hides"] {
	const textAt = (paired: readonly PairedResult[], place: number) => resultText((paired[place] as PairedResult).result);
	const left = cut.map((_, place) => {
		const text = textAt(cut, place);
		return text === textAt(whole, place) ? undefined : once(() => stringsIn(text));
	});
	return (place, kind, text) => left[place]?.()[kind].has(text) === false;
}

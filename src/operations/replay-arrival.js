import { applyPlan } from "../engine/conversation/apply.js";
import { once } from "../engine/conversation/lists.js";
import { resultText } from "../engine/conversation/transcript.js";
import { pairResults } from "../engine/conversation/turns.js";
import { findUses, stringsIn } from "../engine/masking/uses.js";
import { wordings } from "../engine/policy/wordings.js";
import { locateMessages } from "../formats/detect.js";
import { placeholdersOf } from "../storage/restore/recognise.js";
import { planCuts } from "./cut-on-arrival.js";

/** Characters that no result has. */
const unlimited = 1_000_000_000;
/** Cuts no result as it arrives. */
export const arrivesWhole = { max_chars: unlimited, command_chars: null };
/**
 * Cuts the results of a conversation as they arrive, as the proxy does under a policy or another limit: once for all
 * policies that cut alike. Returns `undefined` if none is cut.
 */
export function startArrivals(source, limitOf) {
	const { document, format, transcript } = source;
	const paired = pairResults(transcript);
	const known = new Map();
	const arriving = (key, policy) => {
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
function hiding(whole, cut) {
	const textAt = (paired, place) => resultText(paired[place].result);
	const left = cut.map((_, place) => {
		const text = textAt(cut, place);
		return text === textAt(whole, place) ? undefined : once(() => stringsIn(text));
	});
	return (place, kind, text) => left[place]?.()[kind].has(text) === false;
}

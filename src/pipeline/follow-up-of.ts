import type { InsertEdit, Size } from "../engine/edit.ts";
import type { TokenMeter } from "../engine/measure.ts";
import { startSum } from "../engine/size.ts";
import { planFollowUp } from "../formats/last-response/plan-follow-up.ts";
import { readLastResponse } from "../formats/last-response/read-last-response.ts";
import type { ReadConversation } from "../formats/read-conversation.ts";
import type { Policy } from "../policy/schema.ts";

/** What was done about the last answer. */
export interface FollowUpReport {
	/** Whether a request for a more concise answer was appended, behind the answer as far as it came. */
	readonly appended: boolean;
	/** Why it was not: the answer was not cut, or a call of it can be run all the same. */
	readonly why?: "not_cut" | "has_usable_call";
	/** Calls of the answer whose arguments are not whole. They are never passed on. */
	readonly broken_calls: number;
}

/** The follow-up of a last answer: what is appended, its size, and what is reported; none where no answer was given. */
export interface FollowUp {
	readonly edits: readonly InsertEdit[];
	readonly size: Size;
	readonly report: FollowUpReport | undefined;
}

/**
 * Sees to an answer that was cut off (seed 4, task 5).
 *
 * @throws PalimpsestError `invalid_argument` for what is no answer, and for a recorded session.
 */
export function followUpOf(
	lastResponse: unknown,
	{ source, policy, meter }: { readonly source: ReadConversation; readonly policy: Policy; readonly meter: TokenMeter },
): FollowUp {
	const size = startSum();
	if (lastResponse === undefined) return { edits: [], size: size.total(), report: undefined };
	const response = readLastResponse(lastResponse);
	const planned = planFollowUp({ source, response, locale: policy.locale, meter });
	const { broken_calls } = planned;
	if (planned.kind === "none") {
		return { edits: [], size: size.total(), report: { appended: false, why: planned.why, broken_calls } };
	}
	for (const { after } of planned.edits) size.add(after);
	return { edits: planned.edits, size: size.total(), report: { appended: true, broken_calls } };
}

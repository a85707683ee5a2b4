import type { Composed, Variant } from "./composed.ts";

/** The reason of the refusal: reasoning that is bound to other messages, or anything else. */
type RefusedFor = "reasoning" | "something_else";

/**
 * Tries other forms of a request that was refused with 400, the one that changes least first. If a refusal remains
 * without the invalid reasoning, the provider may refuse the decisions of the request. In a request without an
 * edit, only the reasoning can be our fault: another process may have sent earlier requests in forms that it could not
 * store. Returns the form that was accepted, or why none was.
 */
export async function sendAgain<Written>(
	{ variants, written, noDecision }: Pick<Composed<Written>, "variants" | "written" | "noDecision">,
	first: RefusedFor,
	ask: (form: Variant<Written>) => Promise<"accepted" | RefusedFor | "no_answer">,
): Promise<Variant<Written> | "refused" | "no_answer"> {
	if (noDecision === "held_out" || (written === undefined && first !== "reasoning")) return "refused";
	const { withoutBlock, withoutInvalid, withoutClearing, dropping, withoutReasoning, earlier, own } = variants;
	const ofReasoning = [withoutInvalid, dropping, withoutReasoning];
	const ofDecisions = [earlier, own];
	const ofBlocks = [withoutBlock];
	let refusedFor = first;
	let hasAskedToClear = false;
	for (;;) {
		// A gateway refuses the request to drop blocks: that says nothing of the decisions. If no reasoning is invalid by the
		// provider's rules, the clearing may have made it so.
		const isNextReasoning = refusedFor === "reasoning" && ofReasoning.length === 3;
		const formOf =
			ofBlocks.shift() ??
			(!hasAskedToClear && !isNextReasoning ? withoutClearing : undefined) ??
			(refusedFor === "reasoning" ? ofReasoning.shift() : undefined) ??
			ofDecisions.shift() ??
			ofReasoning.shift();
		if (!formOf) return "refused";
		if (formOf === withoutClearing) hasAskedToClear = true;
		const form = formOf();
		if (!form) continue;
		const outcome = await ask(form);
		if (outcome === "no_answer") return outcome;
		if (outcome === "accepted") {
			await form.accepted();
			return form;
		}
		if (formOf !== dropping) refusedFor = outcome;
	}
}

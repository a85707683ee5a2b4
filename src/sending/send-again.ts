import type { Composed, Variant } from "./compose.ts";

/** What the provider did not like: reasoning that is bound to other messages, or anything else. */
export type RefusedFor = "reasoning" | "something_else";

/**
 * Tries other forms of a request that was refused with 400, the one that changes least first. Where leaving out what is
 * invalid does not end a refusal, the decisions of the request may be what is refused. Returns the form that was
 * accepted, or why none was.
 */
export async function sendAgain<Written>(
	{ variants }: Pick<Composed<Written>, "variants">,
	first: RefusedFor,
	ask: (form: Variant<Written>) => Promise<"accepted" | RefusedFor | "no_answer">,
): Promise<Variant<Written> | "refused" | "no_answer"> {
	const { withoutInvalid, dropping, withoutReasoning, earlier, own } = variants;
	const ofReasoning = [withoutInvalid, dropping, withoutReasoning];
	const ofDecisions = [earlier, own];
	let refusedFor = first;
	for (;;) {
		// A gateway refuses the request to drop blocks: that says nothing of the decisions.
		const formOf =
			(refusedFor === "reasoning" ? ofReasoning.shift() : undefined) ?? ofDecisions.shift() ?? ofReasoning.shift();
		if (!formOf) return "refused";
		const form = formOf();
		if (!form) continue;
		const outcome = await ask(form);
		if (outcome === "no_answer") return outcome;
		if (outcome === "accepted") {
			form.accepted();
			return form;
		}
		if (formOf !== dropping) refusedFor = outcome;
	}
}

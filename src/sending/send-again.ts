import type { Composed, Variant } from "./compose.ts";

/** What became of a form of a request: the provider took it, refused it with 400, or no answer came. */
export type Outcome = "accepted" | "refused" | "no_answer";

/**
 * Tries other forms of a request that was refused with 400, the one that changes least first. Returns the form that was
 * accepted, or why none was.
 */
export async function sendAgain<Written>(
	{ variants }: Pick<Composed<Written>, "variants">,
	refusedFor: "reasoning" | "something_else",
	ask: (form: Variant<Written>) => Promise<Outcome>,
): Promise<Variant<Written> | Exclude<Outcome, "accepted">> {
	const forms =
		refusedFor === "reasoning"
			? [variants.withoutInvalid, variants.dropping, variants.withoutReasoning]
			: [variants.earlier, variants.own];
	for (const formOf of forms) {
		const form = formOf();
		if (!form) continue;
		const outcome = await ask(form);
		if (outcome === "no_answer") return outcome;
		if (outcome === "refused") continue;
		form.accepted();
		return form;
	}
	return "refused";
}

import { applyPlan } from "../engine/apply.ts";
import type { Plan } from "../engine/edit.ts";
import type { CountTokens } from "../engine/measure.ts";
import { verify } from "../engine/verify.ts";
import type { Violation } from "../engine/violation.ts";
import { PalimpsestError } from "../errors.ts";
import type { ReadConversation } from "../formats/read-conversation.ts";
import { readEdited } from "../formats/read-edited.ts";
import { linkRecogniser } from "../formats/sessions/relink.ts";

/** A conversation after a plan: edited and verified, or as it was with the reason why. */
export type Settled =
	| { readonly kind: "kept_promises"; readonly document: unknown }
	| { readonly kind: "broken_promise"; readonly document: unknown; readonly error: PalimpsestError };

/**
 * Applies a plan, reads what was written and verifies it. Where a promise would be broken, the document that came in
 * comes back with a `broken_promise` error that names the promises and the places.
 */
export function settle(source: ReadConversation, plan: Plan, countTokens: CountTokens): Settled {
	const { document } = source;
	if (plan.length === 0) return { kind: "kept_promises", document };
	let edited: unknown;
	let violations: readonly Violation[];
	try {
		edited = applyPlan(document, plan);
		const transcript = readEdited(source, edited, plan);
		const before = { document, transcript: source.transcript };
		const isLink = linkRecogniser(source.format, source.located);
		violations = verify(before, { document: edited, transcript }, { plan, countTokens, isLink });
	} catch (cause) {
		const message = "The plan could not be applied, so the conversation was left as it was. Please report this.";
		return { kind: "broken_promise", document, error: new PalimpsestError("broken_promise", message, { cause }) };
	}
	if (violations.length === 0) return { kind: "kept_promises", document: edited };
	const shown = violations.slice(0, 5).map(({ promise, detail }) => `${promise} (${detail})`);
	const more = violations.length > shown.length ? ` and ${violations.length - shown.length} more` : "";
	const message = `The result would have broken ${shown.join(", ")}${more}, so the conversation was left as it was. Please report this.`;
	return { kind: "broken_promise", document, error: new PalimpsestError("broken_promise", message) };
}

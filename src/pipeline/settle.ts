import { applyPlan } from "../engine/apply.ts";
import type { Plan } from "../engine/edit.ts";
import type { CountTokens, TokenMeter } from "../engine/measure.ts";
import { type Violation, verify } from "../engine/verify.ts";
import { PalimpsestError } from "../errors.ts";
import { locateMessages, type ReadConversation } from "../formats/read-conversation.ts";
import { linkRecogniser } from "../formats/sessions/relink.ts";

/** A conversation after a plan: edited and verified, or as it was with the reason why. */
export type Settled =
	| { readonly kind: "kept_promises"; readonly document: unknown }
	| { readonly kind: "broken_promise"; readonly document: unknown; readonly error: PalimpsestError };

/** A plan to carry out. */
interface PlannedEdits {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly countTokens: CountTokens;
	/** Set where whole messages may be written anew: the meter by which the conversation may not grow. */
	readonly rewrite?: { readonly meter: TokenMeter } | undefined;
}

/**
 * Applies a plan, reads the written document as a whole and verifies it. Where a promise would be broken, the document
 * that came in comes back with a `broken_promise` error that names the promises and the places.
 */
export function settle(planned: PlannedEdits): Settled {
	const { source, plan, rewrite } = planned;
	const { document } = source;
	if (plan.length === 0) return { kind: "kept_promises", document };
	let edited: unknown;
	let violations: readonly Violation[];
	try {
		edited = applyPlan(document, plan);
		violations = check(planned, edited);
	} catch (cause) {
		const message = "The plan could not be applied, so the conversation was left as it was. Please report this.";
		return { kind: "broken_promise", document, error: new PalimpsestError("broken_promise", message, { cause }) };
	}
	if (violations.length === 0) return { kind: "kept_promises", document: edited };
	const shown = violations.slice(0, 5).map(({ promise, detail }) => `${promise} (${detail})`);
	const more = violations.length > shown.length ? ` and ${violations.length - shown.length} more` : "";
	const broken = `have broken ${shown.join(", ")}${more}, so the conversation was left as it was.`;
	const error = rewrite
		? new PalimpsestError("strategy_failed", `What the compaction strategy returned would ${broken}`)
		: new PalimpsestError("broken_promise", `The result would ${broken} Please report this.`);
	return { kind: "broken_promise", document, error };
}

function check({ source, ...parameters }: PlannedEdits, edited: unknown): readonly Violation[] {
	const { document, transcript, format, located } = source;
	const written = locateMessages(edited);
	return verify(
		{ document, transcript },
		{ document: edited, transcript: format.read(written) },
		{
			...parameters,
			base: located.base,
			isLink: linkRecogniser(format, located),
			answeredCalls: format.answeredCalls?.(written) ?? [],
		},
	);
}

import { applyPlan } from "../engine/apply.ts";
import { verifyRewrite } from "../engine/compaction/verify-rewrite.ts";
import type { Plan } from "../engine/edit.ts";
import { type CountTokens, measure, type TokenMeter } from "../engine/measure.ts";
import type { Transcript } from "../engine/transcript.ts";
import { verify } from "../engine/verify.ts";
import type { Violation } from "../engine/violation.ts";
import { PalimpsestError } from "../errors.ts";
import type { Format } from "../formats/format.ts";
import { locateMessages, type ReadConversation } from "../formats/read-conversation.ts";
import { linkRecogniser } from "../formats/sessions/relink.ts";

/** A conversation after a plan: edited and verified, or as it was with the reason why. */
export type Settled =
	| { readonly kind: "kept_promises"; readonly document: unknown }
	| { readonly kind: "broken_promise"; readonly document: unknown; readonly error: PalimpsestError };

/**
 * Applies a plan, reads what was written and verifies it. Where a promise would be broken, the document that came in
 * comes back with a `broken_promise` error that names the promises and the places.
 */
export function settle(what: {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly countTokens: CountTokens;
	/** Set where whole messages may be written anew: the meter by which the conversation may not grow. */
	readonly rewrite?: { readonly meter: TokenMeter } | undefined;
}): Settled {
	const { source, plan, rewrite } = what;
	const { document } = source;
	if (plan.length === 0) return { kind: "kept_promises", document };
	let edited: unknown;
	let violations: readonly Violation[];
	try {
		edited = applyPlan(document, plan);
		violations = rewrite ? checkRewrite(source, edited, { plan, meter: rewrite.meter }) : check(source, edited, what);
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

type Checked = { readonly plan: Plan; readonly countTokens: CountTokens };

function check(source: ReadConversation, edited: unknown, { plan, countTokens }: Checked): Violation[] {
	const transcript = source.format.read(locateMessages(edited));
	const before = { document: source.document, transcript: source.transcript };
	const isLink = linkRecogniser(source.format, source.located);
	return [
		...verify(before, { document: edited, transcript }, { plan, countTokens, isLink }),
		...verifyAnswers(source.format, edited, transcript),
	];
}

/** Checks that no call has lost its result by how the records were read: before and after are read alike. */
function verifyAnswers(format: Format, edited: unknown, { messages }: Transcript): Violation[] {
	if (!format.answeredCalls) return [];
	const results = new Set(messages.flatMap((message) => message.results.map(({ callId }) => callId)));
	const answered = format.answeredCalls(locateMessages(edited)).filter((id) => !results.has(id));
	if (answered.length === 0) return [];
	const lost = new Set(answered);
	return messages.flatMap(({ calls }, index): Violation[] =>
		calls.some(({ id }) => id !== undefined && lost.has(id))
			? [{ promise: "pairing_kept", detail: `call in message ${index}, its result was not read` }]
			: [],
	);
}

/** What somebody else's strategy wrote is read as a whole. */
function checkRewrite(
	source: ReadConversation,
	edited: unknown,
	{ plan, meter }: { readonly plan: Plan; readonly meter: TokenMeter },
): Violation[] {
	const { document, format, located, transcript: before } = source;
	const after = format.read(locateMessages(edited));
	const tokens = (transcript: Transcript) => measure(transcript, meter).total.tokens;
	return verifyRewrite(
		{ document, transcript: before },
		{ document: edited, transcript: after },
		{ plan, base: located.base, tokensBefore: tokens(before), tokensAfter: tokens(after) },
	);
}

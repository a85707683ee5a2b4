import type { Archive } from "../archive/archive.ts";
import { refusePlaceholders } from "../archive/store.ts";
import type { Plan } from "../engine/edit.ts";
import type { CountTokens, TokenMeter } from "../engine/measure.ts";
import { PalimpsestError } from "../errors.ts";
import type { ReadConversation } from "../formats/read-conversation.ts";
import { type ArchivedGroup, archiveOriginals, type SpellingsOf } from "./archive-originals.ts";
import { type Settled, settle } from "./settle.ts";

/** A plan carried out, or the conversation as it was with the reason why. */
export type CarriedOut =
	| (Extract<Settled, { kind: "kept_promises" }> & { readonly groups: readonly ArchivedGroup[] })
	| Extract<Settled, { kind: "broken_promise" }>
	| { readonly kind: "not_archived"; readonly document: unknown; readonly error: PalimpsestError };

/**
 * Applies a plan, verifies what was written, and archives what it takes out before anybody sees the result, so that no
 * placeholder ever points at nothing.
 */
export async function carryOut(what: {
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly countTokens: CountTokens;
	readonly archive?: Archive | undefined;
	/** Recognises what must never be archived as an original. */
	readonly isPlaceholder: (text: string) => boolean;
	readonly spellingsOf?: SpellingsOf | undefined;
	/** Set where whole messages may be written anew, as by a strategy of the user's own: the meter by which nothing grows. */
	readonly rewrite?: { readonly meter: TokenMeter };
}): Promise<CarriedOut> {
	const { source, plan, countTokens, isPlaceholder, spellingsOf, rewrite } = what;
	const settled = settle({ source, plan, countTokens, rewrite });
	if (settled.kind === "broken_promise") return settled;
	if (!what.archive || plan.length === 0) return { ...settled, groups: [] };
	const archive = refusePlaceholders(what.archive, isPlaceholder);
	try {
		return { ...settled, groups: await archiveOriginals({ archive, source, plan, spellingsOf }) };
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		return { kind: "not_archived", document: source.document, error };
	}
}

import type { LocaleName } from "../../src/engine/policy/names.ts";
import { type NoticeWordings, wordings } from "../../src/engine/policy/wordings.ts";
import { policyOf } from "./policy-of.ts";

/** The notices of a locale, as whoever is offered `recall_original` reads them. */
export function noticesOf(locale: LocaleName): NoticeWordings {
	return wordings(policyOf({ locale }), "recallable").notices;
}

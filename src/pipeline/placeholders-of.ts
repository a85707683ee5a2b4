import { placeholderRecogniser } from "../engine/placeholder.ts";
import { locales } from "../policy/locale.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";

/** Recognises the placeholders of a policy and of every locale, whichever wrote them in an earlier call. */
export function placeholdersOf(policy: Policy): (text: string) => boolean {
	const templates = Object.values(locales).flatMap((locale) => [locale.placeholder, locale.media_placeholder]);
	return placeholderRecogniser([...new Set([...templates, wordings(policy).placeholder])]);
}

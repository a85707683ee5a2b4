import { type LocaleWordings, locales, type NoticeTemplates } from "./locale.ts";
import type { Policy } from "./schema.ts";

/** The templates and words in force: the policy's own where it has them, else its locale's. */
export interface Wordings {
	/** Variables: `placeholderVariables`. */
	readonly placeholder: string;
	/** The same for a result of which a digest is given; the policy's own template is one for both. */
	readonly digestPlaceholder: string;
	/** In place of a masked image, recording or document. Variables: {media}, {tool_call_id}, {tool_name}. */
	readonly mediaPlaceholder: string;
	/** Between head and tail of a result that the guard cut. Variables: `markerVariables`. */
	readonly guardMarker: string;
	/** Between head and tail of a text that `truncate` cut. Variables: `markerVariables`. */
	readonly truncateMarker: string;
	/** In an output that a strategy shortened. */
	readonly notices: NoticeWordings;
	/** In place of a tool name that is not known. */
	readonly unknownTool: string;
}

/** The notices and marks of a shortened output; those named for the archive where the whole is, with the variable {ref}. */
export interface NoticeWordings extends NoticeTemplates {
	readonly archived: string;
	readonly wholeArchived: string;
	readonly htmlArchived: string;
}

/**
 * What becomes of originals: nothing keeps them; an archive does; or one does, and whoever reads the placeholder is told of
 * the tool that reads them.
 */
export type Originals = "not_archived" | "archived" | "recallable";

/**
 * The effective wordings of a policy, with or without the reference under which an original is archived. A template of
 * the policy's own stays as it is; without an archive its {ref} is filled with a dash, and so is its {digest} where none
 * is given.
 */
export function wordings(policy: Policy, originals: Originals = "not_archived"): Wordings {
	const locale = locales[policy.locale];
	const ofLocale = originals === "not_archived" ? locale : locale.archived;
	const hint = originals === "recallable" ? locale.recall_hint : "";
	return {
		placeholder: policy.mask.placeholder_template ?? ofLocale.placeholder + hint,
		digestPlaceholder: policy.mask.placeholder_template ?? ofLocale.digest_placeholder + hint,
		mediaPlaceholder: ofLocale.media_placeholder + hint,
		guardMarker: policy.guard.marker_template ?? ofLocale.truncation_marker,
		truncateMarker: policy.truncate.marker_template ?? ofLocale.truncation_marker,
		notices: noticesOf(locale, hint),
		unknownTool: locale.unknown_tool,
	};
}

function noticesOf({ notices, archived }: LocaleWordings, hint: string): NoticeWordings {
	const { notice, whole, html } = archived.notices;
	return { ...notices, archived: notice + hint, wholeArchived: whole + hint, htmlArchived: html + hint };
}

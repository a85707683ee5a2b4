import { type LocaleWordings, locales, type NoticeTemplates } from "./locale.ts";
import { trimMarker } from "./presets.ts";
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
	readonly shortArchived: string;
	readonly htmlArchived: string;
}

/**
 * What becomes of originals: nothing keeps them; an archive does; or one does, and whoever reads the placeholder is told of
 * the tool that reads them.
 */
export type Originals = "not_archived" | "archived" | "recallable";

/** Each placeholder and marker of a locale or a preset, and the same with the reference of its original. */
const withReference: ReadonlyMap<string, string> = new Map([
	[trimMarker.plain, trimMarker.archived],
	...Object.values(locales).flatMap(({ archived, placeholder, truncation_marker }): [string, string][] => [
		[placeholder, archived.placeholder],
		[truncation_marker, archived.truncation_marker],
	]),
]);

/**
 * The effective wordings of a policy, with or without the reference under which an original is archived. A template that
 * is worded as one of ours gets our wording with the reference. Any other template of the policy's own stays as it is;
 * without an archive its {ref} is filled with a dash, and so is its {digest} where none is given.
 */
export function wordings(policy: Policy, originals: Originals = "not_archived"): Wordings {
	const locale = locales[policy.locale];
	const ofLocale = originals === "not_archived" ? locale : locale.archived;
	const hint = originals === "recallable" ? locale.recall_hint : "";
	const own = (template: string) =>
		originals === "not_archived" ? template : (withReference.get(template) ?? template);
	const { placeholder_template: ownPlaceholder } = policy.mask;
	return {
		placeholder: ownPlaceholder === null ? ofLocale.placeholder + hint : own(ownPlaceholder),
		digestPlaceholder: ownPlaceholder === null ? ofLocale.digest_placeholder + hint : own(ownPlaceholder),
		mediaPlaceholder: ofLocale.media_placeholder + hint,
		guardMarker: own(policy.guard.marker_template ?? locale.truncation_marker),
		truncateMarker: own(policy.truncate.marker_template ?? locale.truncation_marker),
		notices: noticesOf(locale, hint),
		unknownTool: locale.unknown_tool,
	};
}

function noticesOf({ notices, archived }: LocaleWordings, hint: string): NoticeWordings {
	const { notice, whole, short, html } = archived.notices;
	return {
		...notices,
		archived: notice + hint,
		wholeArchived: whole + hint,
		// It stands where there is little room.
		shortArchived: short,
		htmlArchived: html + hint,
	};
}

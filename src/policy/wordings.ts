import { locales } from "./locale.ts";
import type { Policy } from "./schema.ts";

/** The templates and words in force: the policy's own where it has them, else its locale's. */
export interface Wordings {
	/** Variables: `placeholderVariables`. */
	readonly placeholder: string;
	/** In place of a masked image, recording or document. Variables: {media}, {tool_call_id}, {tool_name}. */
	readonly mediaPlaceholder: string;
	/** Between head and tail of a result that the guard cut. Variables: `markerVariables`. */
	readonly guardMarker: string;
	/** Between head and tail of a text that `truncate` cut. Variables: `markerVariables`. */
	readonly truncateMarker: string;
	/** In place of a tool name that is not known. */
	readonly unknownTool: string;
}

/** The effective wordings of a policy. */
export function wordings(policy: Policy): Wordings {
	const locale = locales[policy.locale];
	return {
		placeholder: policy.mask.placeholder_template ?? locale.placeholder,
		mediaPlaceholder: locale.media_placeholder,
		guardMarker: policy.guard.marker_template ?? locale.truncation_marker,
		truncateMarker: policy.truncate.marker_template ?? locale.truncation_marker,
		unknownTool: locale.unknown_tool,
	};
}

import type { ReplaceEdit } from "../edit.ts";
import type { GuardParameters } from "../guard-plan.ts";
import { planTruncate } from "./truncate.ts";

/** What of a guard's parameters truncating needs. */
export type GuardTruncation = Pick<
	GuardParameters,
	"transcript" | "policy" | "meter" | "wording" | "isPlaceholder" | "archiving" | "libraries"
>;

/** Plans the truncation of large results as the policy of a guard says. */
export function planGuardTruncation(parameters: GuardTruncation): readonly ReplaceEdit[] {
	const { transcript, policy, meter, wording, isPlaceholder, archiving, libraries } = parameters;
	const {
		max_tool_result_chars: maxChars,
		truncate_head_chars: headChars,
		truncate_tail_chars: tailChars,
	} = policy.guard;
	const { strategy, keep_ansi: keepAnsi } = policy.truncate;
	const kept = headChars + tailChars;
	const headShare = kept === 0 ? undefined : headChars / kept;
	return planTruncate({
		transcript,
		limits: { maxChars, headChars, tailChars, marker: wording.guardMarker },
		byStrategy:
			strategy === "head_tail" ? undefined : { ...libraries, strategy, wording: wording.notices, headShare, keepAnsi },
		countTokens: meter.countTokens,
		isPlaceholder,
		archiving,
	});
}

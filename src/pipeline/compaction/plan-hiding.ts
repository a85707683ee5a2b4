import type { Archiving } from "../../engine/archiving.ts";
import type { ReplaceEdit } from "../../engine/edit.ts";
import type { CountTokens } from "../../engine/measure.ts";
import { planMask } from "../../engine/strategies/mask.ts";
import type { Transcript } from "../../engine/transcript.ts";
import type { MaskPolicy, Policy } from "../../policy/schema.ts";
import type { Wordings } from "../../policy/wordings.ts";

/**
 * Plans the hiding of old tool results (seed 3): those of the last `keep_tool_groups` tool turns stay, all others give way
 * to a placeholder, errors too. No edits where nothing that is sent is left to hide.
 */
export function planHiding(what: {
	readonly transcript: Transcript;
	readonly policy: Policy;
	readonly wording: Wordings;
	readonly isPlaceholder: (text: string) => boolean;
	readonly countTokens: CountTokens;
	readonly archiving: Archiving | undefined;
}): readonly ReplaceEdit[] {
	const { policy, ...rest } = what;
	// The document's rule is the plain window, whatever the policy says of masking.
	const mask: MaskPolicy = {
		...policy.mask,
		enabled: true,
		window_turns: policy.compaction.keep_tool_groups,
		keep_errors: false,
		keep_last_k_per_tool: null,
		keep_tokens: null,
		tools: {},
		selection: "age",
		cadence: "every_turn",
	};
	const replaying = { meter: { countTokens: what.countTokens, messageOverhead: 0 }, prices: policy.prices };
	const { messages } = what.transcript;
	// What is no longer sent takes no room, and hiding it would put the summary off for nothing.
	return planMask({ ...rest, policy: mask, media: policy.media, replaying }).edits.filter(
		({ message }) => messages[message]?.sent !== false,
	);
}

import { writeHandoverPrompt } from "../../engine/compaction/handover-prompt.ts";
import type { PickedRange } from "../../engine/compaction/pick-range.ts";
import { renderRange } from "../../engine/compaction/render-range.ts";
import { summaryOfMessage } from "../../engine/compaction/summary-frame.ts";
import type { CountTokens } from "../../engine/measure.ts";
import type { Transcript } from "../../engine/transcript.ts";
import type { Policy } from "../../policy/schema.ts";
import { locales } from "../../policy/wordings.ts";

/** A range as a model is shown it. */
export interface ShownRange {
	/** One text for each message; between them the prompt may be split. */
	readonly pieces: readonly string[];
	readonly writePrompt: (pieces: readonly string[]) => string;
	readonly writeJoinPrompt: (summaries: readonly string[]) => string;
	/** Stands in the gap of what is shortened. */
	readonly marker: string;
}

/** Renders a range for its prompt, within `promptTokens` tokens of the call's encoding. */
export function showRange(what: {
	readonly transcript: Transcript;
	readonly range: PickedRange;
	readonly policy: Policy;
	readonly promptTokens: number;
	readonly countTokens: CountTokens;
}): ShownRange {
	const { transcript, range, policy, promptTokens, countTokens } = what;
	const { locale } = policy;
	const marker = locales[locale].truncation_marker;
	const { pieces } = renderRange({
		transcript,
		messages: range.messages,
		budget: promptTokens,
		countTokens,
		marker,
		summaryOf: (index) => {
			const message = transcript.messages[index];
			return message && summaryOfMessage(message)?.summary;
		},
	});
	const maxTokens = policy.compaction.max_summary_tokens;
	return {
		pieces,
		marker,
		writePrompt: (some) => writeHandoverPrompt({ pieces: some, locale, maxTokens, of: "messages" }),
		writeJoinPrompt: (some) => writeHandoverPrompt({ pieces: some, locale, maxTokens, of: "summaries" }),
	};
}

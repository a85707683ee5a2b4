import { checkSummary } from "../../engine/compaction/check-summary.ts";
import type { PickedRange } from "../../engine/compaction/pick-range.ts";
import type { TokenMeter } from "../../engine/measure.ts";
import type { Transcript } from "../../engine/transcript.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Policy } from "../../policy/schema.ts";
import { summariseInParts } from "../../summariser/in-parts.ts";
import type { SummaryProgress } from "../../summariser/summariser.ts";
import { showRange } from "./show-range.ts";
import { summaryOverhead } from "./summary-overhead.ts";
import type { SummarySource } from "./summary-source.ts";

/** A summary as it may be put in. */
export interface ObtainedSummary {
	readonly text: string;
	readonly by: string;
	readonly parts: number;
	readonly usage?: { readonly promptTokens: number; readonly completionTokens: number } | undefined;
}

/** What a summary is asked for. */
export interface SummaryParameters {
	readonly source: Extract<SummarySource, { kind: "summariser" | "given" }>;
	readonly transcript: Transcript;
	readonly range: PickedRange;
	/** Tokens of the range. */
	readonly rangeTokens: number;
	readonly policy: Policy;
	readonly meter: TokenMeter;
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}

/**
 * Gets the summary of a range, from a model or as the caller gave it, and checks it.
 *
 * @throws SummariserError where the model could not be asked; PalimpsestError `summary_refused` where what came may not
 * stand in a conversation.
 */
export async function obtainSummary(parameters: SummaryParameters): Promise<ObtainedSummary> {
	const { rangeTokens, policy, meter } = parameters;
	const answer = await askFor(parameters);
	const checked = checkSummary({
		text: answer.text,
		replacedTokens: rangeTokens,
		overheadTokens: summaryOverhead(policy.locale, meter),
		countTokens: meter.countTokens,
	});
	if (checked.kind === "accepted") return { ...answer, text: checked.text };
	throw new PalimpsestError(
		"summary_refused",
		`The summary was not taken, and the conversation was left as it was. ${checked.detail}`,
	);
}

async function askFor(parameters: SummaryParameters): Promise<ObtainedSummary> {
	const { source, transcript, range, policy, meter, signal, onProgress } = parameters;
	if (source.kind === "given") return { text: source.summary, by: "caller", parts: 1 };
	const { summariser } = source;
	const { prompt_tokens: promptTokens, max_summary_tokens: maxTokens } = policy.compaction;
	const { countTokens } = meter;
	const shown = showRange({ transcript, range, policy, promptTokens, countTokens });
	const asked = { summariser, ...shown, maxTokens, countTokens, signal, onProgress };
	const { text, parts, usage } = await summariseInParts(asked);
	return { text, by: summariser.name, parts, usage };
}

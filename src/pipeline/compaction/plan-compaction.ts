import type { CompactRequest } from "./compact-request.ts";
import type { OpenedCompaction } from "./open-compaction.ts";
import { planExternal } from "./plan-external.ts";
import { planHiding } from "./plan-hiding.ts";
import { planSummarised } from "./plan-summarised.ts";
import type { PlannedCompaction } from "./planned-compaction.ts";

/**
 * Lets the strategy of a call act (seed 3). `hiding-then-summary` hides; where nothing was left to hide, it summarises: a
 * conversation that hiding did not make small enough is summarised in the next round at the latest.
 */
export async function planCompaction(request: CompactRequest, opened: OpenedCompaction): Promise<PlannedCompaction> {
	const { strategy, answer, policy } = request;
	// Who brings a summary was asked for one.
	if (answer.kind === "given") return planSummarised(request, opened);
	if (strategy.kind === "external") return planExternal({ ...request, strategy }, opened);
	if (strategy.name !== "llm-summary") {
		const { transcript, wording, isPlaceholder, meter, archiving } = opened;
		const { countTokens } = meter;
		const edits = planHiding({ transcript, policy, wording, isPlaceholder, countTokens, archiving });
		if (edits.length > 0) return { kind: "edits", edits, result: "hidden" };
	}
	return strategy.name === "tool-result-hiding" ? { kind: "unchanged" } : planSummarised(request, opened);
}

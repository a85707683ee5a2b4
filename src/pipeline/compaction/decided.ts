import type { CompactionResult, CompactReport } from "./compact-report.ts";
import type { CompactRequest } from "./compact-request.ts";
import type { OpenedCompaction } from "./open-compaction.ts";

/** What every report on a compaction says of how it was decided. */
export function decided(
	{ strategy }: CompactRequest,
	{ trigger, contextWindow, reserveTokens }: OpenedCompaction,
	result: CompactionResult,
): Pick<CompactReport, "strategy" | "trigger" | "result" | "context_window" | "reserve_tokens"> {
	return {
		strategy: strategy.name,
		trigger,
		result,
		...(contextWindow === undefined ? {} : { context_window: contextWindow }),
		reserve_tokens: reserveTokens,
	};
}

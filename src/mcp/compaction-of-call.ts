import type { CompactRequest } from "../pipeline/compaction/compact-request.ts";
import type { SummarySource } from "../pipeline/compaction/summary-source.ts";
import type { BuiltInStrategy } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import { summarySourceOfCall } from "./summary-source-of-call.ts";
import type { ToolContext } from "./tool.ts";

/**
 * How a call compacts: by which strategy, and who is asked for a summary.
 *
 * @throws PalimpsestError `invalid_policy` where an external strategy cannot be loaded.
 */
export async function compactionOfCall(
	context: ToolContext,
	given: {
		readonly policy: Policy;
		readonly named?: BuiltInStrategy | undefined;
		/** The caller's own summary, where it brings one. */
		readonly summary?: Extract<SummarySource, { kind: "given" }> | undefined;
	},
): Promise<Pick<CompactRequest, "strategy" | "answer">> {
	const { policy, named, summary } = given;
	const { loadStrategy: load, log, signal } = context;
	const { strategyOfCall } = await import("../pipeline/compaction/strategy-of-call.ts");
	const answer = summary ?? (await summarySourceOfCall(context, policy));
	return { answer, strategy: await strategyOfCall({ named, policy, load, answer, log, signal }) };
}

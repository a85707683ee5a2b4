import type { SummarySource } from "../pipeline/compaction/summary-source.ts";
import type { Policy } from "../policy/schema.ts";
import type { ToolContext } from "./tool.ts";

/** Who answers a request for a summary: the first of those that the policy names which is there. */
export async function summarySourceOfCall(context: ToolContext, policy: Policy): Promise<SummarySource> {
	const { sampling, clientModel, endpoint } = context;
	for (const way of policy.compaction.answered_by) {
		if (way === "sampling" && clientModel) return { kind: "summariser", summariser: clientModel };
		if (way === "sampling" && sampling) {
			const { createSamplingSummariser } = await import("../summariser/sampling.ts");
			return { kind: "summariser", summariser: createSamplingSummariser({ createMessage: sampling }) };
		}
		if (way === "openai-compatible" && endpoint) return { kind: "summariser", summariser: endpoint };
		if (way === "caller" || way === "none") return { kind: way };
	}
	return { kind: "caller" };
}

import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import { builtInStrategies } from "../../policy/names.ts";
import { summaryPlaceholder, summaryRequestAnswer } from "../answer.ts";
import {
	answerConversation,
	compactionOfCall,
	conversationInput,
	conversationOutput,
	type EditConversation,
} from "../conversation-tool.ts";
import { defineTool, fileWritingTool, policyInput, policyOfCall } from "../tool.ts";

/** The tool `compact_conversation`: hides old results, or replaces old messages by a summary. */
export const compactConversation = defineTool({
	name: "compact_conversation",
	title: "Compact a conversation",
	description:
		"Compacts a conversation: hides old tool results, else replaces old messages by a summary. May answer with `summary_request`: write that summary, then make the call it spells out.",
	annotations: { ...fileWritingTool, idempotentHint: false, openWorldHint: true },
	inputSchema: z.object({
		...conversationInput,
		strategy: z.enum(builtInStrategies).optional(),
		force: z.boolean().optional().describe("Also while the window has room."),
		summary: z.string().optional().describe("Your summary."),
		summary_token: z.string().optional().describe("From `summary_request`."),
		model: z.string().min(1).optional(),
		context_window: z.int().optional(),
		policy: policyInput(["compaction"]),
	}),
	outputSchema: conversationOutput,
	async handle(input, context) {
		const { summary, summary_token: token } = input;
		if (token !== undefined && summary === undefined) {
			throw new PalimpsestError("invalid_argument", "Expected `summary_token` only together with `summary`.");
		}
		if (summary?.trim() === summaryPlaceholder) {
			throw new PalimpsestError("invalid_argument", `Expected your own summary in the place of ${summaryPlaceholder}.`);
		}
		const { compactConversation: compact } = await import("../../operations/compact.ts");
		const policy = policyOfCall(context, input.policy);
		const given = summary === undefined ? undefined : ({ kind: "given", summary, token } as const);
		const how = await compactionOfCall(context, { policy, named: input.strategy, summary: given });
		const { log, archive, signal, onProgress } = context;
		const { model, context_window: contextWindow } = input;
		const force = input.force || summary !== undefined;
		const shell = { policy, archive, recall: "offered", signal, onProgress, log } as const;
		const edit: EditConversation = async (one) => {
			const outcome = await compact({ ...one, model, contextWindow, force, ...how, ...shell });
			if (!outcome.request || outcome.error) return outcome;
			const { request, report } = outcome;
			return { ...outcome, instead: summaryRequestAnswer({ request, report, input }) };
		};
		return answerConversation({ input, context, policy, edit, done: "compacted" });
	},
});

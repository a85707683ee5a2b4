import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import { builtInStrategies } from "../../policy/names.ts";
import { sameMessages, summaryPlaceholder, summaryRequestAnswer } from "../answer.ts";
import {
	answerConversation,
	conversationInput,
	conversationOutput,
	type EditConversation,
} from "../conversation-tool.ts";
import { compactionOfCall } from "../run-tool.ts";
import { defineTool, fileWritingTool, policyInput, policyOfCall } from "../tool.ts";

/** Hides old results, or puts a summary in the place of old messages. */
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
		const brought = summary === undefined ? undefined : ({ kind: "given", summary, token } as const);
		const how = await compactionOfCall(context, { policy, named: input.strategy, summary: brought });
		const { log, archive, signal, onProgress } = context;
		const given = {
			model: input.model,
			contextWindow: input.context_window,
			force: input.force || summary !== undefined,
		};
		const edit: EditConversation = async (one) => {
			const outcome = await compact({
				...one,
				...given,
				...how,
				policy,
				archive,
				recall: "offered",
				signal,
				onProgress,
				log,
			});
			if (!outcome.request || outcome.error) return outcome;
			const { request, report } = outcome;
			const { messages, summary: _, ...repeated } = input;
			const conversation = messages === undefined ? {} : { messages: sameMessages };
			return {
				...outcome,
				instead: summaryRequestAnswer({ request, report, arguments: { ...conversation, ...repeated } }),
			};
		};
		return answerConversation({ input, context, policy, edit, done: "compacted" });
	},
});

import { z } from "zod";
import type { JsonObject } from "../../engine/stringify.ts";
import type { GuardWithCompactionReport } from "../../operations/guard-with-compaction.ts";
import { originalsOf } from "../../operations/originals.ts";
import type { PolicyLayer } from "../../policy/schema.ts";
import { callWithSummary } from "../answer.ts";
import {
	answerConversation,
	compactionOfCall,
	conversationInput,
	conversationOutput,
	type EditConversation,
} from "../conversation-tool.ts";
import { contextReportUri } from "../resources.ts";
import { defineTool, fileWritingTool, policyInput, policyOfCall } from "../tool.ts";

/** The tool `guard_context`: brings a conversation within its model's context window. */
export const guardContext = defineTool({
	name: "guard_context",
	title: "Fit a conversation into the context window",
	description:
		"Fits a conversation into its model's context window: truncates huge tool results, masks old ones, then drops the oldest groups (a call with its results). System messages, the task and the newest message stay. Says whether it fits, by how much not, and what takes most.",
	annotations: fileWritingTool,
	inputSchema: z.object({
		...conversationInput,
		model: z.string().min(1).optional().describe("Model whose window and tokenizer count."),
		context_window: z.int().optional().describe("Window in tokens, if not the model's own."),
		reserve_tokens: z.int().optional().describe("Tokens to leave for the answer."),
		tools: z.array(z.unknown()).optional().describe("Tool schemas sent along."),
		usage: z.looseObject({}).optional().describe("Provider's usage of the last answer."),
		last_response: z.looseObject({}).optional().describe("Provider's last answer: if cut off, asks for less."),
		policy: policyInput(["media", "thinking", "mask", "guard", "truncate"]),
	}),
	outputSchema: conversationOutput.extend({ context: z.looseObject({}).optional() }),
	app: contextReportUri,
	async handle(input, context) {
		// Loaded on demand, with every format: a client that lists the tools waits for less.
		const { guardWithCompaction } = await import("../../operations/guard-with-compaction.ts");
		const policy = policyOfCall(context, input.policy);
		const { model, context_window: contextWindow, reserve_tokens: reserveTokens, tools, usage } = input;
		const given = { model, contextWindow, reserveTokens, tools, usage, lastResponse: input.last_response };
		const { log, archive, signal, onProgress } = context;
		const compaction = () => compactionOfCall(context, { policy });
		const shell = { policy, archive, recall: "offered", signal, onProgress, log } as const;
		const edit: EditConversation = async (one) => {
			if (input.respond_with !== "report") {
				return withNextCall(await guardWithCompaction({ ...one, ...given, ...shell, compaction }), input);
			}
			const layers = [...context.layers, (input.policy ?? {}) as PolicyLayer];
			const request = { ...one, ...given, layers, originals: originalsOf(shell) };
			const { reportContext } = await import("../../operations/report.ts");
			const { contextText } = await import("../../operations/report-text.ts");
			const report = await reportContext(request);
			const text = contextText(report, { columns: 100, bars: "none" });
			const isWindowKnown = (contextWindow ?? policy.guard.context_window_override) !== null;
			// A session may name the model that the caller does not.
			const known = isWindowKnown ? given : { ...given, model: report.model ?? undefined };
			const guarded = await guardWithCompaction({ ...one, ...known, ...shell, compaction });
			return { ...withNextCall(guarded, input), context: { report, text } };
		};
		return answerConversation({ input, context, policy, edit, done: "guarded" });
	},
});

/** Spells out the call that brings the summary, where a compaction before the guard asks the caller for one. */
function withNextCall<Guarded extends { readonly report: GuardWithCompactionReport }>(
	guarded: Guarded,
	{ messages, path, model, context_window, policy }: JsonObject,
): Guarded {
	const { compaction } = guarded.report;
	if (compaction?.result !== "summary_requested" || !compaction.request) return guarded;
	const next_call = callWithSummary(compaction.request, { messages, path, model, context_window, policy });
	const request = { ...compaction.request, next_call };
	return { ...guarded, report: { ...guarded.report, compaction: { ...compaction, request } } };
}

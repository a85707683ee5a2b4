import { z } from "zod";
import { guardConversation } from "../../pipeline/guard-conversation.ts";
import { answerWith, conversationOutput, messagesInput, respondWithInput } from "../conversation-input.ts";
import { policyInput, policyOfCall } from "../policy-input.ts";
import { defineTool, pureTool } from "../tool.ts";

/** Brings a conversation within its model's context window. */
export const guardContext = defineTool({
	name: "guard_context",
	title: "Fit a conversation into the context window",
	description:
		"Makes a conversation fit its model's context window: truncates huge tool results, masks old ones, then drops the oldest whole groups (call with its results). System messages, the task and the newest message stay. Says whether it fits, by how much not, and what takes the most tokens.",
	annotations: pureTool,
	inputSchema: z.object({
		messages: messagesInput,
		model: z.string().min(1).optional().describe("Model whose window and tokenizer count."),
		context_window: z.int().min(1).optional().describe("Window in tokens, if not the model's own."),
		reserve_tokens: z.int().min(0).optional().describe("Tokens to leave for the answer."),
		respond_with: respondWithInput,
		policy: policyInput(["mask", "guard"]),
	}),
	outputSchema: conversationOutput,
	async handle(input, context) {
		const outcome = await guardConversation({
			conversation: input.messages,
			policy: policyOfCall(context, input.policy),
			model: input.model,
			contextWindow: input.context_window,
			reserveTokens: input.reserve_tokens,
			log: context.log,
		});
		return answerWith(input.respond_with, outcome);
	},
});

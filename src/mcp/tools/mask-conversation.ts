import { z } from "zod";
import { maskConversation as mask } from "../../pipeline/mask-conversation.ts";
import { answerWith, conversationOutput, messagesInput, respondWithInput } from "../conversation-input.ts";
import { policyInput, policyOfCall } from "../policy-input.ts";
import { defineTool, pureTool } from "../tool.ts";

/** Replaces old tool results by short placeholders. */
export const maskConversation = defineTool({
	name: "mask_conversation",
	title: "Mask old tool results",
	description:
		"Shrinks an agent conversation before its next model call: results of old tool turns become one-line placeholders. Messages, order, calls and ids stay as they are, so call/result pairing never breaks; results that look like errors stay.",
	annotations: pureTool,
	inputSchema: z.object({
		messages: messagesInput,
		respond_with: respondWithInput,
		policy: policyInput(["mask"]),
	}),
	outputSchema: conversationOutput,
	async handle({ messages, respond_with, policy }, context) {
		const outcome = await mask({ conversation: messages, policy: policyOfCall(context, policy), log: context.log });
		return answerWith(respond_with, outcome);
	},
});

import { z } from "zod";
import {
	answerConversation,
	conversationInput,
	conversationOutput,
	type EditConversation,
} from "../conversation-tool.ts";
import { defineTool, fileWritingTool, policyInput, policyOfCall } from "../tool.ts";

/** The tool `mask_conversation`: replaces old tool results by short placeholders. */
export const maskConversation = defineTool({
	name: "mask_conversation",
	title: "Mask old tool results",
	description:
		"Shrinks an agent conversation before its next model call: old tool results become one-line placeholders. Messages, order, calls and ids stay, so call/result pairing never breaks; errors stay.",
	annotations: fileWritingTool,
	inputSchema: z.object({ ...conversationInput, policy: policyInput(["media", "thinking", "mask"]) }),
	outputSchema: conversationOutput,
	async handle(input, context) {
		const { maskConversation: mask } = await import("../../operations/mask.ts");
		const policy = policyOfCall(context, input.policy);
		const { log, archive } = context;
		const edit: EditConversation = (given) => mask({ ...given, policy, archive, recall: "offered", log });
		return answerConversation({ input, context, policy, edit, done: "masked" });
	},
});

import { z } from "zod";

/**
 * A list of messages, or an object around one; what the messages are is for the formats to say. Handed on as it came: a
 * schema of lists would copy it.
 */
const conversation = z
	.unknown()
	.refine(
		(value) => typeof value === "object" && value !== null,
		"expected a list of messages, or an object that holds `messages`",
	)
	.meta({ anyOf: [{ type: "array", items: { type: "object" } }, { type: "object" }] });

/** The arguments of every tool that works on a conversation. */
export const conversationInput = {
	messages: conversation
		.optional()
		.describe("List of messages in any agent format, or a request body that holds it. Or give `path`."),
	path: z
		.string()
		.optional()
		.describe("File with the conversation (JSON or a session's JSONL), in place of `messages`."),
	respond_with: z
		.enum(["messages", "edits", "report"])
		.default("messages")
		.describe(
			"`edits`: only what changed, by JSON Pointer into the input, exact for all numbers. `report`: the numbers only.",
		),
	output_path: z
		.string()
		.optional()
		.describe("With `path`: write the result to this new file and answer with the report."),
	overwrite: z.boolean().optional().describe("Allow `output_path` to exist."),
};

/** Those arguments as they reach a tool. */
export interface ConversationArguments {
	readonly messages?: unknown;
	readonly path?: string | undefined;
	readonly respond_with: "messages" | "edits" | "report";
	readonly output_path?: string | undefined;
	readonly overwrite?: boolean | undefined;
}

/** What a tool that edits a conversation answers with. */
export const conversationOutput = z.looseObject({
	messages: conversation.optional().describe("The conversation, wrapped as it came."),
	output_path: z.string().optional(),
	edits: z.array(z.looseObject({ kind: z.string(), path: z.string() })).optional(),
	report: z.looseObject({ changed: z.boolean() }),
});

import { z } from "zod";

/**
 * A list of messages, or an object around one; what the messages are is for the formats to say. Handed on as it came: a
 * schema of lists would copy it.
 */
const conversation = z
	.unknown()
	.refine(
		(value) => typeof value === "object" && value !== null,
		"a list of messages, or an object that holds `messages`",
	)
	.meta({ anyOf: [{ type: "array", items: { type: "object" } }, { type: "object" }] });

/** The arguments of every tool that works on a conversation. */
export const conversationInput = {
	messages: conversation.optional().describe("In any agent format, or a request body. Or give `path`."),
	path: z.string().optional().describe("File with them (JSON, JSONL)."),
	respond_with: z
		.enum(["messages", "edits", "report"])
		.optional()
		.describe("`edits`: changes by JSON Pointer. `report`: numbers. Default with `path`: a new file."),
	output_path: z.string().optional().describe("New file for the result."),
	overwrite: z.boolean().optional(),
};

/** Those arguments as they reach a tool. */
export interface ConversationArguments {
	readonly messages?: unknown;
	readonly path?: string | undefined;
	/** By default `messages`; with `path`, the report and the path of a file that holds the result. */
	readonly respond_with?: "messages" | "edits" | "report" | undefined;
	readonly output_path?: string | undefined;
	readonly overwrite?: boolean | undefined;
}

/** What a tool that edits a conversation answers with. */
export const conversationOutput = z.looseObject({
	messages: z.unknown().optional(),
	output_path: z.string().optional(),
	edits: z.array(z.unknown()).optional(),
	report: z.looseObject({}),
});

import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import type { EditRecord } from "../pipeline/edit-record.ts";
import type { Outcome } from "../pipeline/mask-conversation.ts";

/** A list of messages, or an object around one; what the messages are is for the formats to say. */
const conversation = z
	.union([z.array(z.unknown()), z.looseObject({})], "expected a list of messages, or an object that holds `messages`")
	.meta({ anyOf: [{ type: "array", items: { type: "object" } }, { type: "object" }] });

/** The conversation that a tool works on. */
export const messagesInput = conversation.describe(
	"List of messages, or a request body that holds `messages`. OpenAI Chat Completions or Anthropic Messages.",
);

/** What a tool that edits a conversation answers with beside the report. */
export const respondWithInput = z
	.enum(["messages", "edits", "report"])
	.default("messages")
	.describe("`edits`: only what changed, by JSON Pointer into your input. `report`: only the numbers.");

/** What such a tool answers with. */
export const conversationOutput = z.looseObject({
	messages: conversation.optional().describe("The conversation, wrapped as it came."),
	edits: z.array(z.looseObject({ kind: z.string(), path: z.string() })).optional(),
	report: z.looseObject({ changed: z.boolean() }),
});

/** Picks what the caller asked for; an outcome that broke a promise becomes its error. */
export function answerWith(
	respondWith: z.output<typeof respondWithInput>,
	{ conversation, edits, report, error }: Outcome<unknown>,
): { messages?: unknown; edits?: readonly EditRecord[]; report: unknown } {
	if (error instanceof PalimpsestError) throw error;
	if (respondWith === "messages") return { messages: conversation, report };
	return respondWith === "edits" ? { edits, report } : { report };
}

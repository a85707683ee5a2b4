import { unsafeIntegers } from "../json-text/value.ts";
import type { EditedConversation } from "./conversation-call.ts";
import type { ConversationArguments } from "./conversation-input.ts";
import { originalLinks } from "./original-link.ts";
import { type Answer, beside } from "./tool.ts";

/**
 * Tells where a number may be rounded: all of an inline conversation were parsed before they got here, and messages that
 * are answered inline are written anew.
 */
export function tellRounded(conversation: unknown, outcome: EditedConversation): EditedConversation {
	const unsafe = unsafeIntegers(conversation);
	return unsafe.length === 0 ? outcome : { ...outcome, report: { ...outcome.report, unsafe_integers: unsafe } };
}

/** Picks what the caller asked for; an outcome that would have broken a promise becomes its error. */
export function answerWith({ respond_with = "messages" }: ConversationArguments, outcome: EditedConversation): Answer {
	const { conversation, edits, report, error, context } = outcome;
	if (error) throw error;
	// Edits name their originals themselves.
	if (respond_with === "edits") return { edits, report };
	const blocks = originalLinks(edits);
	if (respond_with === "messages") return { messages: conversation, report, [beside]: { blocks } };
	if (!context) return { report, [beside]: { blocks } };
	// A model reads tables with fewer tokens than the same as JSON.
	const text = `${context.text}\n${JSON.stringify({ report })}`;
	return { report, context: context.report, [beside]: { text, blocks } };
}

import { unsafeIntegers } from "../documents/unsafe-integers.ts";
import { PalimpsestError } from "../errors.ts";
import type { SpellingsOf } from "../pipeline/archive-originals.ts";
import type { Outcome } from "../pipeline/mask-conversation.ts";
import type { ContextReport } from "../pipeline/report/context-report.ts";
import type { MemoryChoice } from "../pipeline/seen-conversations.ts";
import type { Policy } from "../policy/schema.ts";
import type { ConversationArguments } from "./conversation-input.ts";
import { originalLinks } from "./original-link.ts";
import { type Answer, beside, type ToolContext } from "./tool.ts";

/** Works on a conversation; the tools differ in this alone. */
export type EditConversation = (given: {
	readonly conversation: unknown;
	/** Of a conversation that was read from a text. */
	readonly spellingsOf?: SpellingsOf;
	readonly memory: MemoryChoice | undefined;
}) => Promise<EditedConversation>;

/** What became of a conversation. */
export interface EditedConversation extends Outcome<object> {
	/** What is answered in its place: a question to the caller. */
	readonly instead?: Answer;
	/** What fills the window of the input; told where the caller asked for a report. */
	readonly context?: ContextAnswer;
}

/** A context report, and the same in words. */
export interface ContextAnswer {
	readonly report: ContextReport;
	readonly text: string;
}

/** A call of a tool that edits a conversation. */
export interface ConversationCall {
	readonly input: ConversationArguments;
	readonly context: ToolContext;
	readonly policy: Policy;
	readonly edit: EditConversation;
}

/**
 * Answers a tool that edits a conversation: takes it from `messages` or from the file at `path`, and answers with what
 * the caller asked for. A result written to `output_path` differs from the file at `path` inside the edits only.
 *
 * @throws PalimpsestError `invalid_argument` for arguments that do not go together; those of reading, editing and
 * writing.
 */
export async function answerConversation(call: ConversationCall): Promise<Answer> {
	const { input, edit } = call;
	requireFittingArguments(input);
	if (input.path === undefined) {
		const outcome = await edit({
			conversation: input.messages,
			memory: call.context.ownsArguments ? "owned" : undefined,
		});
		return outcome.instead ?? answerWith(input, tellRounded(input.messages, outcome));
	}
	const { answerPath } = await import("./answer-path.ts");
	return answerPath(call, input.path);
}

function requireFittingArguments({
	messages,
	path,
	respond_with,
	output_path,
	overwrite,
}: ConversationArguments): void {
	const refuse = (message: string): never => {
		throw new PalimpsestError("invalid_argument", message);
	};
	if ((messages === undefined) === (path === undefined)) refuse("Expected either `messages` or `path`, and not both.");
	if (output_path === undefined && overwrite !== undefined) refuse("Expected `overwrite` only with `output_path`.");
	if (output_path === undefined) return;
	if (path === undefined) refuse("Expected `output_path` only with `path`: what was passed inline is answered inline.");
	if (respond_with !== "messages") refuse('Expected `output_path` only with respond_with "messages".');
}

/**
 * Tells where a number may be rounded: all of an inline conversation were parsed before they got here, and messages that
 * are answered inline are written anew.
 */
export function tellRounded(conversation: unknown, outcome: EditedConversation): EditedConversation {
	const unsafe = unsafeIntegers(conversation);
	return unsafe.length === 0 ? outcome : { ...outcome, report: { ...outcome.report, unsafe_integers: unsafe } };
}

/** Picks what the caller asked for; an outcome that would have broken a promise becomes its error. */
export function answerWith({ respond_with }: ConversationArguments, outcome: EditedConversation): Answer {
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

import type { ResultWord } from "../files/file-access.ts";
import type { SpellingsOf } from "../pipeline/archive-originals.ts";
import type { Outcome } from "../pipeline/mask-conversation.ts";
import type { ContextReport } from "../pipeline/report/context-report.ts";
import type { Policy } from "../policy/schema.ts";
import type { ConversationArguments } from "./conversation-input.ts";
import type { Answer, ToolContext } from "./tool.ts";

/** Works on a conversation; the tools differ in this alone. */
export type EditConversation = (given: {
	readonly conversation: unknown;
	/** Of a conversation that was read from a text. */
	readonly spellingsOf?: SpellingsOf;
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
	/** It names the file for the result where the caller names none. */
	readonly done: ResultWord;
}

import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import { decodeText, type ResultWord } from "../files/access.ts";
import { spellingsOf, writeEdits } from "../json-text/edit.ts";
import { readTextDocument } from "../json-text/read.ts";
import { unsafeIntegers } from "../json-text/value.ts";
import type { Outcome } from "../operations/conversation.ts";
import type { SpellingsOf } from "../operations/originals.ts";
import type { ContextReport } from "../operations/report.ts";
import type { Policy } from "../policy/schema.ts";
import { originalLinks } from "./resources.ts";
import { type Answer, beside, type ToolContext } from "./tool.ts";

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
		});
		return outcome.instead ?? answerWith(input, tellRounded(input.messages, outcome));
	}
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
	if (respond_with === undefined || respond_with === "messages") return;
	refuse('Expected `output_path` without `respond_with`, or with respond_with "messages".');
}

/**
 * Answers with the conversation in the file at `path`. Where the caller does not say how, the result goes into a new file,
 * and the answer is the report: a session is larger than hosts show of an answer. Loaded on demand: most conversations
 * come inline.
 */
export async function answerPath(call: ConversationCall, path: string): Promise<Answer> {
	const { input, context, policy, edit } = call;
	const { respond_with, output_path } = input;
	const bytes = await context.files.read(path, policy.limits.max_file_bytes);
	const document = readTextDocument(decodeText(bytes, "the file at `path`"), "the file at `path`");
	const outcome = await edit({
		conversation: document.value,
		spellingsOf: (paths) => spellingsOf(document, paths),
	});
	if (outcome.instead) return outcome.instead;
	if (output_path === undefined && respond_with !== undefined) {
		return answerWith(input, respond_with === "messages" ? tellRounded(document.value, outcome) : outcome);
	}
	if (outcome.error) throw outcome.error;
	const { text } = writeEdits(document, outcome.edits);
	const written =
		output_path === undefined
			? await writeBeside(call, path, text)
			: await context.files.write(output_path, text, input.overwrite ?? false);
	return { output_path: written, report: outcome.report, [beside]: { blocks: originalLinks(outcome.edits) } };
}

/** Writes the result beside the file at `path`. The folder may take no files, of which the caller is told the way round. */
async function writeBeside({ context, done }: ConversationCall, path: string, text: string): Promise<string> {
	try {
		return await context.files.writeBeside(path, done, text);
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		const advice = 'Name a file for the result by `output_path`, or ask for respond_with "edits" or "messages".';
		throw new PalimpsestError(error.code, `${error.message} ${advice}`, { cause: error });
	}
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

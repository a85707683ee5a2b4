import { z } from "zod";
import { isJsonObject } from "../conversation/json.ts";
import { PalimpsestError } from "../errors.ts";
import { decodeText, type ResultWord } from "../files/access.ts";
import { spellingsOf, writeEdits } from "../json-text/edit.ts";
import { readTextDocument } from "../json-text/read.ts";
import { unsafeIntegers } from "../json-text/value.ts";
import type { CompactRequest, SummarySource } from "../operations/compaction-request.ts";
import type { Outcome } from "../operations/conversation.ts";
import type { SpellingsOf } from "../operations/originals.ts";
import type { ContextReport } from "../operations/report.ts";
import type { BuiltInStrategy } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import { originalLinks } from "./resources.ts";
import { type Answer, beside, type ToolContext } from "./tool.ts";

/**
 * A list of messages, or an object around one; the formats judge the messages. Passed on as it came: a schema of lists
 * would copy it.
 */
const conversation = z
	.unknown()
	.refine(
		(value) => isJsonObject(value) || Array.isArray(value),
		"a list of messages, or an object that holds `messages`",
	)
	.meta({ anyOf: [{ type: "array", items: { type: "object" } }, { type: "object" }] });

/** The arguments of every tool that edits a conversation. */
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

type ConversationArguments = Readonly<z.output<z.ZodObject<typeof conversationInput>>>;

/** The answer of every tool that edits a conversation. */
export const conversationOutput = z.looseObject({
	messages: z.unknown().optional(),
	output_path: z.string().optional(),
	edits: z.array(z.unknown()).optional(),
	report: z.looseObject({}),
});

/** Edits a conversation; this is where the tools differ. */
export type EditConversation = (given: {
	readonly conversation: unknown;
	/** How a file spells its values; absent for a conversation that came inline. */
	readonly spellingsOf?: SpellingsOf;
}) => Promise<EditedConversation>;

interface EditedConversation extends Outcome<object> {
	/** The answer in place of the conversation: a question to the caller. */
	readonly instead?: Answer;
	/** A report on the context window, and the same in words, where the caller asked for a report. */
	readonly context?: { readonly report: ContextReport; readonly text: string };
}

interface ConversationCall {
	readonly input: ConversationArguments;
	readonly context: ToolContext;
	readonly policy: Policy;
	readonly edit: EditConversation;
	/** Part of the name of the result's file where the caller names none. */
	readonly done: ResultWord;
}

/**
 * Answers a tool that edits a conversation: takes it from `messages` or from the file at `path`, and answers in the form
 * that the caller asked for. A result written to `output_path` differs from the file at `path` inside the edits only.
 *
 * @throws PalimpsestError `invalid_argument` for arguments that do not go together; the errors of reading, editing and
 * writing.
 */
export async function answerConversation(call: ConversationCall): Promise<Answer> {
	const { input, edit } = call;
	requireFittingArguments(input);
	if (input.path !== undefined) return answerPath(call, input.path);
	const outcome = await edit({ conversation: input.messages });
	return outcome.instead ?? answerWith(input, withUnsafeIntegers(input.messages, outcome));
}

function requireFittingArguments({ messages, path, respond_with, output_path, overwrite }: ConversationArguments) {
	const writes = output_path !== undefined;
	const rules: readonly (readonly [isBroken: boolean, expected: string])[] = [
		[(messages === undefined) === (path === undefined), "either `messages` or `path`, and not both."],
		[!writes && overwrite !== undefined, "`overwrite` only with `output_path`."],
		[writes && path === undefined, "`output_path` only with `path`: what was passed inline is answered inline."],
		[
			writes && respond_with !== undefined && respond_with !== "messages",
			'`output_path` without `respond_with`, or with respond_with "messages".',
		],
	];
	const broken = rules.find(([isBroken]) => isBroken);
	if (broken) throw new PalimpsestError("invalid_argument", `Expected ${broken[1]}`);
}

/**
 * Answers with the conversation in the file at `path`. By default the result goes into a new file and the answer is the
 * report: a session is larger than hosts show of an answer.
 */
async function answerPath(call: ConversationCall, path: string): Promise<Answer> {
	const { input, context, policy, edit } = call;
	const { respond_with, output_path } = input;
	const bytes = await context.files.read(path, policy.limits.max_file_bytes);
	const document = readTextDocument(decodeText(bytes, "the file at `path`"), "the file at `path`");
	const outcome = await edit({ conversation: document.value, spellingsOf: (paths) => spellingsOf(document, paths) });
	if (outcome.instead) return outcome.instead;
	if (output_path === undefined && respond_with !== undefined) {
		return answerWith(input, respond_with === "messages" ? withUnsafeIntegers(document.value, outcome) : outcome);
	}
	if (outcome.error) throw outcome.error;
	const { text } = writeEdits(document, outcome.edits);
	const written =
		output_path === undefined
			? await writeBeside(call, path, text)
			: await context.files.write(output_path, text, input.overwrite ?? false);
	return { output_path: written, report: outcome.report, [beside]: { blocks: originalLinks(outcome.edits) } };
}

/** Writes the result beside the file at `path`. The error names other ways, since that folder may take no files. */
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
 * Reports where a number may be rounded: an inline conversation was parsed before it got here, and messages that are
 * answered inline are written anew.
 */
function withUnsafeIntegers(messages: unknown, outcome: EditedConversation): EditedConversation {
	const unsafe = unsafeIntegers(messages);
	return unsafe.length === 0 ? outcome : { ...outcome, report: { ...outcome.report, unsafe_integers: unsafe } };
}

/** The form that the caller asked for; an outcome that would have broken a promise becomes its error. */
function answerWith({ respond_with = "messages" }: ConversationArguments, outcome: EditedConversation): Answer {
	const { conversation: messages, edits, report, error, context } = outcome;
	if (error) throw error;
	// Edits name their originals themselves.
	if (respond_with === "edits") return { edits, report };
	const blocks = originalLinks(edits);
	if (respond_with === "messages") return { messages, report, [beside]: { blocks } };
	if (!context) return { report, [beside]: { blocks } };
	// A model reads tables with fewer tokens than the same as JSON.
	const text = `${context.text}\n${JSON.stringify({ report })}`;
	return { report, context: context.report, [beside]: { text, blocks } };
}

/**
 * How a call compacts: by which strategy, and who writes a summary. `summary` is the caller's own, where it brings one.
 *
 * @throws PalimpsestError `invalid_policy` where an external strategy cannot be loaded.
 */
export async function callCompaction(
	context: ToolContext,
	given: {
		readonly policy: Policy;
		readonly named?: BuiltInStrategy | undefined;
		readonly summary?: Extract<SummarySource, { kind: "given" }> | undefined;
	},
): Promise<Pick<CompactRequest, "strategy" | "answer">> {
	const { policy, named } = given;
	const { loadStrategy: load, log, signal } = context;
	const { strategyOfCall } = await import("../operations/compaction-request.ts");
	const answer = given.summary ?? (await summarySource(context, policy));
	return { answer, strategy: await strategyOfCall({ named, policy, load, answer, log, signal }) };
}

/** The first of the policy's ways to get a summary that exists here. */
async function summarySource(context: ToolContext, policy: Policy): Promise<SummarySource> {
	const { clientModel, endpoint } = context;
	for (const way of policy.compaction.answered_by) {
		if (way === "sampling" && clientModel) return { kind: "summariser", summariser: await clientModel() };
		if (way === "openai-compatible" && endpoint) return { kind: "summariser", summariser: endpoint };
		if (way === "caller" || way === "none") return { kind: way };
	}
	return { kind: "caller" };
}

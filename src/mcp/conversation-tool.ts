import { z } from "zod";
import type { JsonObject } from "../engine/conversation/json.ts";
import { unseenAnswer } from "../engine/masking/asked.ts";
import type { BuiltInStrategy } from "../engine/policy/names.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import { spellingsOf, writeEdits } from "../formats/json-text/edit.ts";
import { readTextDocument } from "../formats/json-text/read.ts";
import { namingRescue } from "../formats/json-text/salvage.ts";
import { unsafeIntegers } from "../formats/json-text/value.ts";
import type { CompactRequest, SummarySource } from "../operations/compaction-request.ts";
import type { Outcome } from "../operations/conversation.ts";
import type { ContextReport } from "../operations/report.ts";
import { decodeText, type ResultWord } from "../storage/files/access.ts";
import { unpack, unpackedName } from "../storage/files/packed.ts";
import type { SpellingsOf } from "../storage/restore/originals.ts";
import { type Answer, beside } from "./answer.ts";
import { originalLinks } from "./resources.ts";
import type { ToolContext } from "./tool.ts";

/** A list of messages, or an object around one. The formats check the messages: a schema of lists would copy them. */
const conversation = z
	.unknown()
	.refine((value) => Object(value) === value, "a list of messages, or an object that holds `messages`")
	.meta({ anyOf: [{ type: "array", items: { type: "object" } }, { type: "object" }] });

export const conversationInput = {
	messages: conversation
		.optional()
		.describe("The conversation in any agent format, or a request body; or give `path`."),
	path: z.string().optional().describe("Its JSON or JSONL file."),
	respond_with: z
		.enum(["messages", "edits", "report"])
		.optional()
		.describe("`edits` returns changes by JSON Pointer, `report` numbers. With `path`, the default writes a new file."),
	output_path: z.string().optional().describe("Write the result to this new file."),
	overwrite: z.boolean().optional().describe("true: replace the file at output_path."),
};

type ConversationArguments = Readonly<z.output<z.ZodObject<typeof conversationInput>>>;

export const conversationOutput = z.looseObject({
	messages: z.unknown().optional(),
	output_path: z.string().optional(),
	edits: z.array(z.unknown()).optional(),
	report: z.looseObject({}),
});

/** Arguments that name results of the conversation that the call is in. */
const ownArguments = ["refs", "tool_call_ids", "tools", "keep_turns", "keep"] as const;

/**
 * The answer to a call for the conversation that it is in, which no server sees: a proxy or a plugin replaces it as it
 * passes (src/proxy/sending/asked-answer.ts). `undefined` if the call gives a conversation. Throws `invalid_argument`.
 */
export async function answerForItself(
	input: ConversationArguments & JsonObject,
	{ findProxy }: ToolContext,
	of: { readonly names: readonly (typeof ownArguments)[number][] },
): Promise<Answer | undefined> {
	const { messages, path } = input;
	const isOwn = messages === undefined && path === undefined;
	const misplaced = (isOwn ? (["respond_with", "output_path", "overwrite"] as const) : of.names).filter(
		(name) => input[name] !== undefined,
	);
	if (misplaced.length > 0) {
		const expected = isOwn ? "with `messages` or `path`" : "without `messages` and `path`, for your own conversation";
		throw new PalimpsestError("invalid_argument", `Expected ${misplaced.join(", ")} only ${expected}.`);
	}
	if (!isOwn) return undefined;
	const text = `${unseenAnswer}${adviceWith(await findProxy?.())}`;
	return { report: { note: text }, [beside]: { text } };
}

function adviceWith(proxy: string | undefined): string {
	if (proxy === "plugin") return "; the plugin in this program did not answer, and its log says why.";
	const start = "start the agent program with `palimpsest launch PROGRAM`";
	if (proxy === undefined) return `; ${start}, or give \`messages\` or \`path\`.`;
	return `, though one runs${loopback.test(proxy) ? ` at ${proxy}` : ""}; ${start}.`;
}

const loopback = /^http:\/\/127\.0\.0\.1:\d{1,5}$/;

export type EditConversation = (
	given: Pick<ToolContext, "archive" | "log" | "signal" | "onProgress"> & {
		readonly conversation: unknown;
		/** How a file spells its values; absent for an inline conversation. */
		readonly spellingsOf?: SpellingsOf;
		readonly policy: Policy;
		readonly recall: "offered";
	},
) => Promise<EditedConversation>;

interface EditedConversation extends Outcome<object> {
	readonly instead?: Answer;
	readonly context?: { readonly report: ContextReport; readonly text: string };
}

interface ConversationCall {
	readonly input: ConversationArguments;
	readonly context: ToolContext;
	readonly policy: Policy;
	readonly edit: EditConversation;
	readonly done: ResultWord;
}

/** A file at `output_path` differs only inside the edits. Throws `invalid_argument` for arguments that do not fit. */
export async function answerConversation(call: ConversationCall): Promise<Answer> {
	const { input, context, policy, edit } = call;
	const { messages, path, respond_with, output_path } = input;
	const { archive, log, signal, onProgress, files } = context;
	requireFittingArguments(input);
	const shell = { policy, archive, recall: "offered", log, signal, onProgress } as const;
	if (path === undefined) {
		const outcome = await edit({ ...shell, conversation: messages });
		return outcome.instead ?? answerWith(input, withUnsafeIntegers(messages, outcome));
	}
	const mostBytes = policy.limits.max_file_bytes;
	const bytes = await unpack(await files.read(path, mostBytes), { name: "the file at `path`", mostBytes });
	const document = readFile(decodeText(bytes, "the file at `path`"));
	const { value: conversation } = document;
	const outcome = await edit({ ...shell, conversation, spellingsOf: (paths) => spellingsOf(document, paths) });
	if (outcome.instead) return outcome.instead;
	if (output_path === undefined && respond_with !== undefined) {
		return answerWith(input, respond_with === "messages" ? withUnsafeIntegers(conversation, outcome) : outcome);
	}
	if (outcome.error) throw outcome.error;
	const { text } = writeEdits(document, outcome.edits);
	// By default next to the file, since hosts do not show answers as large as a session.
	const written =
		output_path === undefined
			? await writeBeside(call, path, text)
			: await files.write(output_path, text, input.overwrite ?? false);
	return { output_path: written, report: outcome.report, [beside]: { blocks: originalLinks(outcome.edits) } };
}

function requireFittingArguments({ messages, path, respond_with, output_path, overwrite }: ConversationArguments) {
	const refuseIf = (isBroken: boolean, expected: string): void => {
		if (isBroken) throw new PalimpsestError("invalid_argument", `Expected ${expected}`);
	};
	const writes = output_path !== undefined;
	const isElsewhere = respond_with !== undefined && respond_with !== "messages";
	refuseIf((messages === undefined) === (path === undefined), "either `messages` or `path`, and not both.");
	refuseIf(!writes && overwrite !== undefined, "`overwrite` only with `output_path`.");
	refuseIf(
		writes && path === undefined,
		"`output_path` only with `path`: messages that are passed inline are answered inline.",
	);
	refuseIf(writes && isElsewhere, '`output_path` without `respond_with`, or with respond_with "messages".');
}

/** The error names other ways, since the folder of `path` may not be writable. */
async function writeBeside({ context, done }: ConversationCall, path: string, text: string): Promise<string> {
	try {
		return await context.files.writeBeside(unpackedName(path), done, text);
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		const advice = 'Name a file for the result by `output_path`, or ask for respond_with "edits" or "messages".';
		throw new PalimpsestError(error.code, `${error.message} ${advice}`, { cause: error });
	}
}

/** Reports numbers that may be rounded: inline messages were parsed before they got here. */
function withUnsafeIntegers(messages: unknown, outcome: EditedConversation): EditedConversation {
	const unsafe = unsafeIntegers(messages);
	return unsafe.length === 0 ? outcome : { ...outcome, report: { ...outcome.report, unsafe_integers: unsafe } };
}

function answerWith({ respond_with = "messages" }: ConversationArguments, outcome: EditedConversation): Answer {
	const { conversation: messages, edits, report, error, context } = outcome;
	if (error) throw error;
	// Edits name their originals themselves.
	if (respond_with === "edits") return { edits, report };
	const blocks = originalLinks(edits);
	if (respond_with === "messages") return { messages, report, [beside]: { blocks } };
	if (!context) return { report, [beside]: { blocks } };
	// A table takes a model fewer tokens than the same JSON.
	const text = `${context.text}\n${JSON.stringify({ report })}`;
	return { report, context: context.report, [beside]: { text, blocks } };
}

/** The strategy of a call, and who writes a summary; `summary` is the caller's own. Throws `invalid_policy`. */
export async function callCompaction(
	context: ToolContext,
	call: { readonly policy: Policy; readonly named?: BuiltInStrategy | undefined; readonly summary?: SummarySource },
): Promise<Pick<CompactRequest, "strategy" | "answer">> {
	const { policy, named, summary } = call;
	const { loadStrategy: load, log, signal } = context;
	const { strategyOfCall } = await import("../operations/compaction-request.ts");
	// Only the caller has the address and the key of the conversation's provider.
	const isProvider = (named ?? policy.compaction.strategy) === "provider";
	const answer = summary ?? (isProvider ? { kind: "caller" } : await summarySource(context, policy));
	return { answer, strategy: await strategyOfCall({ named, policy, load, answer, log, signal }) };
}

async function summarySource(context: ToolContext, policy: Policy): Promise<SummarySource> {
	const { clientModel, endpoint } = context;
	for (const way of policy.compaction.answered_by) {
		if (way === "sampling" && clientModel) return { kind: "summariser", summariser: await clientModel() };
		if (way === "openai-compatible" && endpoint) return { kind: "summariser", summariser: endpoint };
		if (way === "caller" || way === "none") return { kind: way };
	}
	return { kind: "caller" };
}

function readFile(text: string) {
	try {
		return readTextDocument(text, "the file at `path`");
	} catch (error) {
		throw namingRescue(error, text);
	}
}

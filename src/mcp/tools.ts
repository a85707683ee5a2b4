import { z } from "zod";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { quote, suggestion } from "../engine/policy/errors.ts";
import { builtInStrategies, truncationStrategies } from "../engine/policy/names.ts";
import type { PolicyLayer } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import { isOwnResult, type ToolEvent, usualHookChars } from "../hosts/hook-answers.ts";
import { commandHookHosts } from "../hosts/hosts.ts";
import { ownCommandLine } from "../hosts/own-command.ts";
import type { GuardWithCompactionReport } from "../operations/guard-with-compaction.ts";
import type { TruncateOutcome } from "../operations/truncate.ts";
import { decodeOutput } from "../storage/files/text-encoding.ts";
import { originalsOf } from "../storage/restore/originals.ts";
import { type Answer, beside, callWithSummary, summaryPlaceholder, summaryRequestAnswer } from "./answer.ts";
import {
	answerConversation,
	answerForItself,
	callCompaction,
	conversationInput,
	conversationOutput,
	type EditConversation,
} from "./conversation-tool.ts";
import { describePart, foundAnswer, recalledAnswer } from "./recalled-answer.ts";
import { contextReportUri, originalLinks } from "./resources.ts";
import { callPolicy, defineTool, fileWritingTool, policyInput, pureTool, type Tool, type ToolContext } from "./tool.ts";

const strings = (what: string) => z.array(z.string()).optional().describe(what);

const maskConversation = defineTool({
	name: "mask_conversation",
	title: "Mask old tool results",
	description:
		"Replaces old tool results of a conversation by one-line placeholders; errors and calls stay. Without messages and path: in your own conversation, all old results or those named.",
	annotations: fileWritingTool,
	inputSchema: z.object({
		...conversationInput,
		refs: strings("Mask these results of your own conversation, by ref."),
		tool_call_ids: strings("Or the results of these calls."),
		tools: strings("Or the results of these tools."),
		keep_turns: z.int().min(1).optional().describe("Leave this many last turns unmasked."),
		keep: z.boolean().optional().describe("true: protect the named results from masking instead."),
		idle_seconds: z.number().optional().describe("Seconds since the last call."),
		policy: policyInput(["media", "thinking", "mask"]),
	}),
	outputSchema: conversationOutput,
	async handle(input, context) {
		const own = await answerForItself(input, context, {
			names: ["refs", "tool_call_ids", "tools", "keep_turns", "keep"],
		});
		if (own) return own;
		const { maskConversation: mask } = await import("../operations/mask.ts");
		const policy = callPolicy(context, input.policy);
		const edit: EditConversation = (one) => mask({ ...one, idleSeconds: input.idle_seconds });
		return answerConversation({ input, context, policy, edit, done: "masked" });
	},
});

const guardContext = defineTool({
	name: "guard_context",
	title: "Fit a conversation into the context window",
	description:
		"Fits a conversation into its model's window: truncates huge tool results, masks old ones, then drops the oldest calls with their results. System messages, task and newest message stay. Says what takes most. Without messages and path: what fills your own.",
	annotations: fileWritingTool,
	inputSchema: z.object({
		...conversationInput,
		model: z.string().min(1).optional().describe("Name the model, for its window and tokenizer."),
		context_window: z.int().optional().describe("Give the window in tokens, if not the model's."),
		reserve_tokens: z.int().optional().describe("Leave this many tokens for the answer."),
		tools: z.array(z.unknown()).optional().describe("Give the tool schemas that are sent."),
		usage: z.looseObject({}).optional().describe("Give the usage of the last answer, for an exact count."),
		idle_seconds: z.number().optional().describe("Seconds since the last call."),
		last_response: z.looseObject({}).optional().describe("Give the last answer; if it was cut off, less is asked for."),
		policy: policyInput(["media", "thinking", "mask", "guard", "truncate"]),
	}),
	outputSchema: conversationOutput.extend({ context: z.looseObject({}).optional() }),
	app: contextReportUri,
	async handle(input, context) {
		const own = await answerForItself(input, context, { names: [] });
		if (own) return own;
		// Loaded on demand, with every format: listing the tools is faster.
		const { guardWithCompaction } = await import("../operations/guard-with-compaction.ts");
		const policy = callPolicy(context, input.policy);
		const { model, context_window: contextWindow, reserve_tokens: reserveTokens, tools, usage } = input;
		const { last_response: lastResponse, idle_seconds: idleSeconds } = input;
		const given = { model, contextWindow, reserveTokens, tools, usage, lastResponse, idleSeconds };
		const compaction = () => callCompaction(context, { policy });
		const edit: EditConversation = async (one) => {
			if (input.respond_with !== "report") {
				return withNextCall(await guardWithCompaction({ ...one, ...given, compaction }), input);
			}
			const layers = [...context.layers, (input.policy ?? {}) as PolicyLayer];
			const { reportContext } = await import("../operations/report.ts");
			const { contextText } = await import("../operations/report-text.ts");
			const report = await reportContext({ ...one, ...given, layers, originals: originalsOf(one) });
			const text = contextText(report, { columns: 80, bars: "none" });
			const isWindowKnown = (contextWindow ?? policy.guard.context_window_override) !== null;
			// A session may name the model if the caller does not.
			const known = isWindowKnown ? given : { ...given, model: report.model ?? undefined };
			const guarded = await guardWithCompaction({ ...one, ...known, compaction });
			return { ...withNextCall(guarded, input), context: { report, text } };
		};
		return answerConversation({ input, context, policy, edit, done: "guarded" });
	},
});

/** Adds the call that brings the summary, if a compaction before the guard requests one from the caller. */
function withNextCall<Guarded extends { readonly report: GuardWithCompactionReport }>(
	guarded: Guarded,
	{ messages, path, model, context_window, policy }: JsonObject,
): Guarded {
	const { compaction } = guarded.report;
	if (compaction?.result !== "summary_requested" || !compaction.request) return guarded;
	const next_call = callWithSummary(compaction.request, { messages, path, model, context_window, policy });
	const request = { ...compaction.request, next_call };
	return { ...guarded, report: { ...guarded.report, compaction: { ...compaction, request } } };
}

/** The brief form is for a small limit, where the text needs the room. */
const truncateForms = {
	full({ text, report }: TruncateOutcome): Answer {
		const { ref, chars } = report;
		const links = ref === undefined ? [] : originalLinks([{ ref, before: { chars: chars.before } }]);
		return { text, ...report, [beside]: { blocks: links } };
	},
	brief({ text, report: { truncated, ref } }: TruncateOutcome): Answer {
		return { text, truncated, ...(ref === undefined ? {} : { ref }) };
	},
};

/** Hosts show either the structured content of an answer or its blocks. The first block repeats that content. */
function shownOf(answer: Answer): readonly string[] {
	const json = JSON.stringify(answer);
	const blocks = answer[beside]?.blocks ?? [];
	return [json, [json, ...blocks.map((block) => JSON.stringify(block))].join("\n")];
}

const truncateOutput = defineTool({
	name: "truncate_output",
	title: "Truncate output",
	description:
		"Shortens one large text (log, JSON, diff, …) to what matters by its structure and your focus. Says what is left out.",
	annotations: pureTool,
	inputSchema: z.object({
		text: z.string().optional().describe("Give the text to shorten."),
		path: z.string().optional().describe("Or give its file."),
		max_chars: z.int().optional().describe("Keep at most this many characters."),
		max_tokens: z.int().optional().describe("Or at most this many tokens."),
		strategy: z.enum(truncationStrategies).optional().describe("Choose how to cut; auto goes by structure."),
		focus: z.string().optional().describe("Keep lines with these words."),
		policy: policyInput(["truncate"]),
	}),
	outputSchema: z.looseObject({ text: z.string().optional(), truncated: z.boolean() }),
	async handle({ text, path, max_chars: maxChars, max_tokens: maxTokens, policy: override, ...rest }, context) {
		const policy = callPolicy(context, override);
		const { archive, log } = context;
		if ((text === undefined) === (path === undefined)) {
			throw new PalimpsestError(
				"invalid_argument",
				`Give ${text === undefined ? "`text` or `path`" : "only one of `text` and `path`"}.`,
			);
		}
		const whole = text ?? decodeOutput(await context.files.read(path ?? "", policy.limits.max_file_bytes));
		const { truncateToShow } = await import("../operations/truncate.ts");
		const request = { ...rest, text: whole, policy, maxChars, maxTokens, archive, recall: "offered", log } as const;
		// Some hosts show all of the answer as JSON, so that all of it has to be within a limit in tokens.
		const { full, brief } = truncateForms;
		const { outcome, form } = await truncateToShow(request, {
			full: (one) => shownOf(full(one)),
			brief: (one) => shownOf(brief(one)),
		});
		return truncateForms[form](outcome);
	},
});

const compactConversation = defineTool({
	name: "compact_conversation",
	title: "Compact a conversation",
	description:
		"Compacts a conversation: hides old tool results, else replaces old messages by a summary. May answer with `summary_request`: write that summary, then make the call it spells out.",
	annotations: { ...fileWritingTool, idempotentHint: false, openWorldHint: true },
	inputSchema: z.object({
		...conversationInput,
		strategy: z.enum(builtInStrategies).optional().describe("How to compact; as the policy says by default."),
		force: z.boolean().optional().describe("true: compact even if the window has room."),
		summary: z.string().optional().describe("Give the summary that you wrote."),
		summary_token: z.string().optional().describe("Copy it from `summary_request`."),
		model: z.string().min(1).optional().describe("Name the model, for its window."),
		context_window: z.int().optional().describe("Give the window in tokens."),
		policy: policyInput(["compaction"]),
	}),
	outputSchema: conversationOutput,
	async handle(input, context) {
		const { summary, summary_token: token } = input;
		if (token !== undefined && summary === undefined) {
			throw new PalimpsestError("invalid_argument", "Expected `summary_token` only together with `summary`.");
		}
		if (summary?.trim() === summaryPlaceholder) {
			throw new PalimpsestError("invalid_argument", `Expected your own summary in the place of ${summaryPlaceholder}.`);
		}
		const { compactConversation: compact } = await import("../operations/compact.ts");
		const policy = callPolicy(context, input.policy);
		const given = summary !== undefined && { summary: { kind: "given", summary, token } as const };
		const how = await callCompaction(context, { policy, named: input.strategy, ...given });
		const { model, context_window: contextWindow } = input;
		const force = input.force || summary !== undefined;
		const edit: EditConversation = async (one) => {
			const outcome = await compact({ ...one, ...how, model, contextWindow, force });
			const { request, report, error } = outcome;
			return request && !error ? { ...outcome, instead: summaryRequestAnswer({ request, report, input }) } : outcome;
		};
		return answerConversation({ input, context, policy, edit, done: "compacted" });
	},
});

// The archive checks all bounds; bounds here would cost every conversation tokens.
const count = (what: string) => z.int().optional().describe(what);
const words = (what: string) => z.string().optional().describe(what);

export const recallOriginal = defineTool({
	name: "recall_original",
	title: "Recall original",
	description:
		"Reads the intact original that a placeholder names by ref=, réf= or #: whole, in part, or found by query.",
	annotations: pureTool,
	inputSchema: z.object({
		ref: words("Give a placeholder's ref."),
		tool_call_id: words("Or give its tool call."),
		query: words("Search all for these words."),
		regex: z.boolean().optional().describe("true: query is RE2."),
		lines: words('Read these lines: "120-180".'),
		chars: words('Read these characters: "0-4000".'),
		grep: words("Read lines matching this RE2."),
		context: count("Add lines around each match."),
		head: count("Read this many first lines."),
		tail: count("Read this many last lines."),
		max_tokens: count("Read at most this many tokens (2000)."),
	}),
	async handle(input, { archive, ...context }) {
		if (!archive)
			throw new PalimpsestError("archive_unavailable", "Nothing is archived here, so nothing can be recalled.");
		const policy = callPolicy(context, undefined);
		const { query, regex, tool_call_id: toolCallId, max_tokens: maxTokens, ...rest } = input;
		if (query !== undefined) {
			// A field of its own would cost every conversation tokens.
			const { ref: after, ...others } = rest;
			refuseBesideQuery({ ...others, tool_call_id: toolCallId });
			const { searchOriginals } = await import("../operations/search-originals.ts");
			return foundAnswer(await searchOriginals({ archive, policy, query, regex, after, maxTokens }));
		}
		const { recallOriginal: recall } = await import("../operations/recall.ts");
		const how = { showsImages: true, describe: describePart };
		return recalledAnswer(await recall({ ...rest, ...how, archive, policy, toolCallId, maxTokens }));
	},
});

function refuseBesideQuery(others: Readonly<Record<string, unknown>>): void {
	const given = Object.keys(others).filter((name) => others[name] !== undefined);
	if (given.length === 0) return;
	const message = `Expected \`query\` alone, or with \`regex\`, \`max_tokens\` and the \`ref\` at which a search stopped; got ${given.join(", ")} as well. Search first, then read an original by its ref.`;
	throw new PalimpsestError("invalid_argument", message);
}

export const tools = [maskConversation, guardContext, truncateOutput, compactConversation, recallOriginal];

/** Readable text, no policy and no strategy: without the tools for conversations, only models call it. */
const truncateForModels: Tool = {
	...omitOutputSchema(truncateOutput),
	inputSchema: truncateOutput.inputSchema.omit({ policy: true, strategy: true }),
};

/** The tools with these names, in our order. Throws `invalid_argument` for an unknown one. */
export function toolsNamed(names: readonly string[]): readonly Tool[] {
	const known = tools.map(({ name }) => name);
	const unknown = names.find((name) => !known.includes(name));
	if (unknown !== undefined) {
		const message = `Expected tools from ${known.join(", ")}, separated by commas; got ${quote(unknown)}.${suggestion(unknown, known)}`;
		throw new PalimpsestError("invalid_argument", message);
	}
	const named = tools.filter(({ name }) => names.includes(name));
	const isForModels = named.every((tool) => tool === truncateOutput || tool === recallOriginal);
	return named.map((tool) => (tool === truncateOutput && isForModels ? truncateForModels : tool));
}

function omitOutputSchema({ outputSchema: _, ...tool }: Tool): Tool {
	return tool;
}

const askingHosts = commandHookHosts.filter(({ asksServer }) => asksServer);

/**
 * Answers hooks of type `mcp_tool`: the host asks the server that runs already, in place of a process for each call. Such a
 * tool need not be listed, and is not, since no model is to call it. Sources: https://code.claude.com/docs/en/hooks,
 * https://developers.openai.com/codex/hooks.
 */
export const shortenResult = defineTool({
	name: "shorten_result",
	title: "Answer a hook",
	description: "Shortens a tool's result in a PostToolUse hook of type mcp_tool.",
	annotations: pureTool,
	inputSchema: z.object({
		host: z.enum(askingHosts.map(({ name }) => name)),
		tool_name: z.string(),
		tool_use_id: z.string().optional(),
		tool_input: z.unknown(),
		tool_response: z.unknown(),
		/** A host may give each value of a hook's `input` as a text. */
		max_chars: z.coerce.number().int().positive().optional(),
	}),
	async handle({ host, max_chars: mostChars = usualHookChars, ...given }, context) {
		const { tool_name: toolName, tool_use_id: toolCallId, tool_input: input, tool_response: response } = given;
		const event: ToolEvent = {
			toolName,
			toolCallId,
			input: filledValue(input),
			response: toolName.startsWith("mcp__") ? filledMcpResponse(response) : filledValue(response),
		};
		let answer: JsonObject | undefined;
		try {
			const asking = askingHosts.find(({ name }) => name === host);
			if (!isOwnResult(event)) answer = await asking?.answer(event, await hookContextOf(event, mostChars, context));
		} catch (error) {
			// A hook never fails its host.
			const reason = error instanceof PalimpsestError ? error.code : "defect";
			context.log({
				level: "warning",
				message: "A hook left a result unedited",
				data: { event: "hook_failed", host, reason },
			});
		}
		return { [beside]: { text: JSON.stringify(answer ?? {}) } };
	},
});

async function hookContextOf(event: ToolEvent, mostChars: number, context: ToolContext) {
	const { hookContext } = await import("../hosts/shorten-result.ts");
	const policy = callPolicy(context, undefined);
	const shell = { policy, wholePolicy: async () => policy, archive: context.archive, command: ownCommandLine() };
	const { shorten, wordings } = hookContext({ ...shell, event });
	return {
		mostChars,
		wordings,
		shorten: async (text: string, most: number, isCut?: boolean) =>
			text.length <= most ? undefined : shorten(text, most, isCut),
	};
}

/** Claude Code fills in objects as JSON, Codex unchanged. */
function filledValue(value: unknown): unknown {
	if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
	try {
		return JSON.parse(value);
	} catch {
		return value;
	}
}

/** A text that is JSON itself, as Claude Code hands structured content to hooks, stays one. */
function filledMcpResponse(value: unknown): unknown {
	const filled = filledValue(value);
	if (Array.isArray(filled)) return filled.every((block) => isJsonObject(block) && "type" in block) ? filled : value;
	return isJsonObject(filled) && !Array.isArray(filled.content) ? value : filled;
}

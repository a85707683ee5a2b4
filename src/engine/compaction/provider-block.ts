import { compactJson, isJsonObject, type JsonObject } from "../conversation/json.ts";

/**
 * Compaction on demand of Anthropic's Messages API: the provider writes the summary, signs it, and takes it as a block in place
 * of the messages. Source: platform.claude.com, "Compaction on demand", "Compaction that keeps recent turns", "Compaction in the
 * background" and "Compaction and preserved thinking", read on 2026-11-29.
 */
export const providerCompaction = {
	beta: "compact-2026-09-04",
	/** Characters of `instructions`. */
	mostInstructions: 16_384,
	/** "Allow several thousand tokens": they cap the thinking, too. */
	leastTokens: 8_192,
} as const;

/** What a history breaks of the documented conditions. */
export type BrokenCondition =
	| "nothing_to_summarise"
	| "call_without_result"
	| "call_and_result_apart"
	| "same_role_after_cut"
	| "system_message_after_cut"
	| "several_blocks"
	| "block_not_first"
	| "block_without_signature"
	| "model_not_named"
	| "model_without_compaction"
	| "instructions_too_long";

export const conditionWords: Readonly<Record<BrokenCondition, string>> = {
	nothing_to_summarise: "no message is before the kept ones",
	call_without_result: "the messages to summarise end with a call that has no result yet",
	call_and_result_apart: "a call and its result are on different sides of the cut",
	same_role_after_cut: "the first kept message has the role of the last summarised one",
	system_message_after_cut: "the first kept message is a system message",
	several_blocks: "there is more than one compaction block",
	block_not_first: "a compaction block is not at the start",
	block_without_signature: "the compaction block has no signature: compaction at a threshold wrote it",
	model_not_named: "no model is named",
	model_without_compaction: "the model is older than Claude Opus 4.6, Sonnet 4.6, Haiku 5.5 and Fable 5",
	instructions_too_long: `the instructions have more than ${providerCompaction.mostInstructions} characters`,
};

export type BlockRequest =
	| {
			readonly kind: "request";
			/** How many messages, from the first on, the block will replace. */
			readonly messages: number;
			readonly body: JsonObject;
			/** For the header `anthropic-beta`; Bedrock has it in the body, too. */
			readonly beta: string;
	  }
	| { readonly kind: "broken"; readonly conditions: readonly BrokenCondition[] };

/**
 * The request for the block that replaces the messages before the cut: `at`, else the last place that keeps at least `keep`
 * messages and breaks no condition. Fields that the API refuses beside `compaction` are left out.
 */
export function askForBlock(given: {
	readonly body: JsonObject;
	readonly messages: readonly unknown[];
	readonly at?: number | undefined;
	readonly keep?: number;
	readonly instructions?: string | undefined;
	readonly maxTokens?: number;
}): BlockRequest {
	const { body, messages, instructions, maxTokens = 0 } = given;
	const latest = given.at ?? Math.max(0, messages.length - (given.keep ?? 0));
	const at = given.at ?? cutAt(messages, latest);
	const conditions = [
		...brokenByBlocks(messages),
		...brokenByModel(body),
		...(at === undefined ? brokenAtCut(messages, latest) : brokenAtCut(messages, at)),
		...((instructions?.length ?? 0) > providerCompaction.mostInstructions ? (["instructions_too_long"] as const) : []),
	];
	if (at === undefined || conditions.length > 0) return { kind: "broken", conditions };
	const { beta, leastTokens } = providerCompaction;
	const compaction = { type: "summarize", ...(instructions?.trim() ? { instructions } : {}) };
	const summarised = {
		...withoutRefused(body),
		max_tokens: Math.max(leastTokens, maxTokens),
		messages: withBreakpoint(messages.slice(0, at), body),
		compaction,
	};
	return { kind: "request", messages: at, body: isOfBedrock(body) ? withBetaInBody(summarised) : summarised, beta };
}

export type AnsweredBlock =
	| { readonly kind: "block"; readonly message: JsonObject; readonly text: string }
	/** `reason` is the answer's `stop_reason`, or `malformed`. */
	| { readonly kind: "none"; readonly reason: string; readonly advice: string };

/** Reads the answer. Its message takes the place of the summarised messages, unchanged. */
export function readBlock(answer: unknown): AnsweredBlock {
	const none = (reason: string): AnsweredBlock => {
		const known = Object.hasOwn(adviceOf, reason) ? adviceOf[reason] : undefined;
		return { kind: "none", reason: known ? reason : "malformed", advice: known ?? adviceOf.malformed ?? "" };
	};
	if (!isJsonObject(answer)) return none("malformed");
	const { stop_reason: reason, content } = answer;
	if (reason !== "compaction") return none(String(reason));
	const [block, ...others] = Array.isArray(content) ? content : [];
	const isBlock = isJsonObject(block) && block.type === "compaction" && others.length === 0;
	if (!isBlock || typeof block.content !== "string" || typeof block.signature !== "string") return none("malformed");
	if (block.content.trim() === "") return none("end_turn");
	return { kind: "block", message: { role: "assistant", content }, text: block.content };
}

const adviceOf: Readonly<Record<string, string>> = {
	max_tokens: "The summary was cut off: allow it more tokens.",
	model_context_window_exceeded: "There was no room for the instructions: summarise fewer messages.",
	tool_use: "The model called a tool in place of writing: tell it in the instructions not to.",
	refusal: "The provider declined: go on without a summary.",
	end_turn: "The answer has no text: go on without a summary.",
	malformed: "Expected an answer with one signed compaction block.",
};

/** The conditions that a cut before message `at` breaks, in a list where every earlier message is summarised. */
export function brokenAtCut(messages: readonly unknown[], at: number): BrokenCondition[] {
	const open = openCalls(messages, at);
	const last = roleAt(messages, at - 1);
	const first = at < messages.length ? roleAt(messages, at) : undefined;
	const isEmpty = !messages.slice(0, at).some((_, index) => roleAt(messages, index) !== "system");
	if (isEmpty) return ["nothing_to_summarise"];
	return [
		...(open.size > 0
			? ([hasResultOf(messages, at, open) ? "call_and_result_apart" : "call_without_result"] as const)
			: []),
		...(first === "system" ? (["system_message_after_cut"] as const) : []),
		...(first !== undefined && first === last ? (["same_role_after_cut"] as const) : []),
	];
}

/** In one pass, since a session has thousands of messages. */
function cutAt(messages: readonly unknown[], latest: number): number | undefined {
	const open = new Set<unknown>();
	let found: number | undefined;
	let hasContent = false;
	for (let at = 1; at <= latest; at += 1) {
		settle(open, messages[at - 1]);
		hasContent ||= roleAt(messages, at - 1) !== "system";
		const first = at < messages.length ? roleAt(messages, at) : undefined;
		const isFit = first !== "system" && (first === undefined || first !== roleAt(messages, at - 1));
		if (isFit && hasContent && open.size === 0) found = at;
	}
	return found;
}

function openCalls(messages: readonly unknown[], at: number): ReadonlySet<unknown> {
	const open = new Set<unknown>();
	for (const message of messages.slice(0, at)) settle(open, message);
	return open;
}

function hasResultOf(messages: readonly unknown[], from: number, open: ReadonlySet<unknown>): boolean {
	return messages.slice(from).some((message) => blocksOf(message).some(({ tool_use_id: id }) => open.has(id)));
}

function settle(open: Set<unknown>, message: unknown): void {
	for (const { type, id, tool_use_id: answered } of blocksOf(message)) {
		if (type === "tool_use") open.add(id);
		else if (type === "tool_result") open.delete(answered);
	}
}

function brokenByBlocks(messages: readonly unknown[]): BrokenCondition[] {
	const found = messages.flatMap((message, index) =>
		blocksOf(message).flatMap((block, position) => (block.type === "compaction" ? [{ block, index, position }] : [])),
	);
	const [first, second] = found;
	if (!first) return [];
	if (second) return ["several_blocks"];
	if (typeof first.block.signature !== "string") return ["block_without_signature"];
	return first.index + first.position > 0 ? ["block_not_first"] : [];
}

/** The first version of each family; later families have it. */
const floors: Readonly<Record<string, number>> = { opus: 406, sonnet: 406, haiku: 505 };

function brokenByModel(body: JsonObject): BrokenCondition[] {
	const { model } = body;
	// Bedrock and Vertex name the model in the address.
	if (typeof model !== "string") return typeof body.anthropic_version === "string" ? [] : ["model_not_named"];
	return isCompactedByProvider(model) ? [] : ["model_without_compaction"];
}

/** By the name of the model; one that is not known counts as a later one. */
export function isCompactedByProvider(model = ""): boolean {
	const [, family = "", major = "0", minor = "0"] =
		/(opus|sonnet|haiku)-(\d{1,2})(?:[-.](\d{1,2})(?!\d))?/.exec(model) ?? [];
	return !/claude-[23](?!\d)/.test(model) && Number(major) * 100 + Number(minor) >= (floors[family] ?? 0);
}

/** The page lists what the API refuses beside `compaction`; a thread holds the history on the server. */
function withoutRefused(body: JsonObject): JsonObject {
	const refused = ["context_management", "stop_sequences", "stream", "thread", "diagnostics"];
	const kept = Object.fromEntries(Object.entries(body).filter(([name]) => !refused.includes(name)));
	const { tool_choice: choice, output_config: output, ...others } = kept;
	const chooses = isJsonObject(choice) && choice.type !== "any" && choice.type !== "tool";
	return {
		...others,
		...(chooses ? { tool_choice: choice } : {}),
		...(isJsonObject(output) ? { output_config: withoutFormat(output) } : {}),
	};
}

function withoutFormat({ format: _, task_budget: budget, ...output }: JsonObject): JsonObject {
	if (!isJsonObject(budget)) return output;
	const { remaining: __, ...rest } = budget;
	return { ...output, task_budget: rest };
}

/** Of a request. */
const mostBreakpoints = 4;

/** The end of the summarised messages was the end of an earlier request: with a breakpoint there, the cache is read. */
function withBreakpoint(messages: readonly unknown[], { system, tools }: JsonObject): readonly unknown[] {
	const content = [{ content: system }, ...messages].flatMap(blocksOf);
	const used = [...content, ...[tools].flat().filter(isJsonObject)].filter(({ cache_control: one }) => one != null);
	if (used.length >= mostBreakpoints) return messages;
	const last = messages.at(-1);
	if (!isJsonObject(last) || hasBreakpoint(last)) return messages;
	const blocks = typeof last.content === "string" ? [{ type: "text", text: last.content }] : blocksOf(last);
	const end = blocks.at(-1);
	const isCacheable = end && end.type !== "thinking" && end.type !== "redacted_thinking" && end.text !== "";
	if (!isCacheable) return messages;
	const marked = [...blocks.slice(0, -1), { ...end, cache_control: { type: "ephemeral" } }];
	return [...messages.slice(0, -1), { ...last, content: marked }];
}

function hasBreakpoint(message: unknown): boolean {
	return blocksOf(message).some(({ cache_control: control }) => control != null);
}

function isOfBedrock({ anthropic_version: version }: JsonObject): boolean {
	return typeof version === "string" && version.startsWith("bedrock");
}

function withBetaInBody(body: JsonObject): JsonObject {
	const betas = Array.isArray(body.anthropic_beta) ? (body.anthropic_beta as unknown[]) : [];
	return { ...body, anthropic_beta: [...new Set([...betas, providerCompaction.beta])] };
}

function roleAt(messages: readonly unknown[], index: number): unknown {
	const message = messages[index];
	return isJsonObject(message) ? message.role : undefined;
}

function blocksOf(message: unknown): readonly JsonObject[] {
	return isJsonObject(message) && Array.isArray(message.content)
		? (message.content as readonly unknown[]).filter(isJsonObject)
		: [];
}

/** The archived original of summarised messages: JSON with a message a line, so that a search in it shows one message. */
export function originalOf(messages: readonly unknown[]): string {
	return `[\n${messages.map((message) => compactJson(message)).join(",\n")}\n]`;
}

import type { Api, InputUsage } from "./provider-cache.ts";
import type { ScriptedAnswer } from "./scripted-session.ts";

/** Everything an answer is made of. The same for the streamed form and the whole one. */
export interface AnswerParts {
	/** Unique within the provider. */
	readonly number: number;
	readonly model: string;
	readonly answer: ScriptedAnswer;
	readonly usage: InputUsage;
	/** Anthropic's Messages only. */
	readonly anthropic?: AnthropicParts | undefined;
	/** Members that the message has beside these. */
	readonly told?: Readonly<Record<string, unknown>> | undefined;
}

export interface AnthropicParts {
	/** The content of the answer, with its thinking. */
	readonly content: readonly Block[];
	readonly thinkingTokens: number;
	/** The answer is a summary on demand, or none came. */
	readonly compaction?: { readonly reason: string | number; readonly outputTokens: number } | undefined;
	/** What the API tells of the input, where the client asked for it. */
	readonly input_transformations?: readonly unknown[] | undefined;
	/** The edits of the context that the API made, where the client asked for some. */
	readonly context_management?: { readonly applied_edits: readonly unknown[] } | undefined;
}

type Block = Readonly<Record<string, unknown>>;

/** Tokens of each answer, without thinking. */
export const outputTokens = 20;
const created = 1_700_000_000;

/** The answer as one JSON value. */
export function wholeAnswer(api: Api, parts: AnswerParts): unknown {
	if (api === "anthropic") return anthropicMessage(parts, parts.anthropic?.content ?? anthropicContent(parts));
	if (api === "openai-chat") return chatCompletion(parts);
	if (api === "openai-responses") return openaiResponse(parts, "completed", [responseItem(parts, "completed")]);
	return geminiAnswer(parts);
}

/** The answer as server-sent events, one text each. */
export function streamedAnswer(api: Api, parts: AnswerParts, options: { readonly usageAsked: boolean }): string[] {
	if (api === "anthropic") return anthropicEvents(parts);
	if (api === "openai-chat") return chatEvents(parts, options.usageAsked);
	if (api === "openai-responses") return responseEvents(parts);
	return [data(geminiAnswer(parts))];
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const event = (value: { readonly type: string; readonly [name: string]: unknown }) =>
	`event: ${value.type}\n${data(value)}`;
const idOf = (kind: string, { number }: Pick<AnswerParts, "number">) =>
	`${kind}_standin${String(number).padStart(5, "0")}`;

export const messageId = (number: number) => idOf("msg", { number });

/** All tokens that went in. */
function inputTokens({ uncached, cacheRead, written, writtenForAnHour }: InputUsage): number {
	return uncached + cacheRead + written + writtenForAnHour;
}

function anthropicMessage(parts: AnswerParts, content: readonly unknown[]) {
	const { input_transformations, context_management, compaction } = parts.anthropic ?? {};
	if (compaction) return compactionMessage(parts, content, compaction);
	return {
		id: idOf("msg", parts),
		type: "message",
		role: "assistant",
		model: parts.model,
		content,
		stop_reason: parts.answer.kind === "call" ? "tool_use" : "end_turn",
		stop_sequence: null,
		usage: anthropicUsage(parts),
		...(input_transformations ? { input_transformations } : {}),
		...parts.told,
		...(context_management ? { context_management } : {}),
	};
}

/** No reply is generated, so the summary's tokens are in `iterations` alone. */
function compactionMessage(
	parts: AnswerParts,
	content: readonly unknown[],
	{ reason, outputTokens: output_tokens }: { readonly reason: string | number; readonly outputTokens: number },
) {
	const { id, type, role, model } = { id: idOf("msg", parts), type: "message", role: "assistant", model: parts.model };
	const {
		output_tokens: _,
		output_tokens_details: __,
		...input
	} = anthropicUsage({ ...parts, anthropic: undefined }) as {
		readonly output_tokens?: number;
		readonly output_tokens_details?: unknown;
	};
	const iterations = [{ type: "compaction", ...input, output_tokens }];
	const usage = { input_tokens: 0, output_tokens: 0, iterations };
	return { id, type, role, model, content, stop_reason: reason, stop_sequence: null, usage };
}

/** The content of an answer without thinking. */
export function anthropicContent(parts: Pick<AnswerParts, "answer" | "number">): Block[] {
	const { answer, number } = parts;
	if (answer.kind === "text") return [{ type: "text", text: answer.text }];
	const id = idOf("toolu", { number });
	return [answer.input, ...(answer.parallel ?? [])].map((input, place) => {
		return { type: "tool_use", id: place === 0 ? id : `${id}x${place}`, name: answer.tool, input };
	});
}

function anthropicUsage({ usage, anthropic }: AnswerParts) {
	const { uncached, cacheRead, written, writtenForAnHour } = usage;
	return {
		input_tokens: uncached,
		cache_creation_input_tokens: written + writtenForAnHour,
		cache_read_input_tokens: cacheRead,
		cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: writtenForAnHour },
		...anthropicOutput(anthropic),
	};
}

function anthropicOutput({ thinkingTokens: thinking_tokens }: Partial<AnthropicParts> = {}) {
	if (thinking_tokens === undefined) return { output_tokens: outputTokens };
	return { output_tokens: outputTokens + thinking_tokens, output_tokens_details: { thinking_tokens } };
}

function anthropicEvents(parts: AnswerParts): string[] {
	const content = parts.anthropic?.content ?? anthropicContent(parts);
	// A stream tells of the edits at its end.
	const { context_management, ...message } = { context_management: undefined, ...anthropicMessage(parts, []) };
	return [
		event({ type: "message_start", message: { ...message, stop_reason: null } }),
		...content.flatMap((block, index) => [
			event({ type: "content_block_start", index, content_block: emptied(block) }),
			...deltasOf(block).map((delta) => event({ type: "content_block_delta", index, delta })),
			event({ type: "content_block_stop", index }),
		]),
		event({
			type: "message_delta",
			delta: { stop_reason: message.stop_reason, stop_sequence: null },
			usage: anthropicOutput(parts.anthropic),
			...(context_management ? { context_management } : {}),
		}),
		event({ type: "message_stop" }),
	];
}

/** A block as a stream begins it. */
function emptied(block: Block): Block {
	if (block.type === "tool_use") return { ...block, input: {} };
	if (block.type === "thinking") return { ...block, thinking: "", signature: "" };
	return block.type === "text" ? { ...block, text: "" } : block;
}

function deltasOf({ type, text, input, thinking, signature }: Block): Block[] {
	if (type === "tool_use") return [{ type: "input_json_delta", partial_json: JSON.stringify(input) }];
	if (type === "text") return [{ type: "text_delta", text }];
	if (type !== "thinking") return [];
	const shown = thinking === "" ? [] : [{ type: "thinking_delta", thinking }];
	return [...shown, { type: "signature_delta", signature }];
}

function chatUsage(usage: InputUsage) {
	const prompt_tokens = inputTokens(usage);
	return {
		prompt_tokens,
		completion_tokens: outputTokens,
		total_tokens: prompt_tokens + outputTokens,
		prompt_tokens_details: { cached_tokens: usage.cacheRead },
	};
}

function chatCall(parts: AnswerParts) {
	const { answer } = parts;
	if (answer.kind !== "call") return [];
	const called = { name: answer.tool, arguments: JSON.stringify(answer.input) };
	return [{ id: idOf("call", parts), type: "function", function: called }];
}

function chatCompletion(parts: AnswerParts) {
	const { answer, model } = parts;
	const message =
		answer.kind === "call"
			? { role: "assistant", content: null, tool_calls: chatCall(parts) }
			: { role: "assistant", content: answer.text };
	const finish_reason = answer.kind === "call" ? "tool_calls" : "stop";
	const choices = [{ index: 0, message, finish_reason, logprobs: null }];
	return {
		id: idOf("chatcmpl", parts),
		object: "chat.completion",
		created,
		model,
		choices,
		usage: chatUsage(parts.usage),
	};
}

function chatEvents(parts: AnswerParts, usageAsked: boolean): string[] {
	const { answer, model } = parts;
	const frame = { id: idOf("chatcmpl", parts), object: "chat.completion.chunk", created, model };
	const chunk = (delta: unknown, finish_reason: string | null = null) =>
		data({ ...frame, choices: [{ index: 0, delta, finish_reason }] });
	const delta =
		answer.kind === "call"
			? { tool_calls: chatCall(parts).map((call, index) => ({ index, ...call })) }
			: { content: answer.text };
	return [
		chunk({ role: "assistant", content: answer.kind === "call" ? null : "" }),
		chunk(delta),
		chunk({}, answer.kind === "call" ? "tool_calls" : "stop"),
		...(usageAsked ? [data({ ...frame, choices: [], usage: chatUsage(parts.usage) })] : []),
		"data: [DONE]\n\n",
	];
}

function responseItem(parts: AnswerParts, status: "in_progress" | "completed") {
	const { answer } = parts;
	const done = status === "completed";
	if (answer.kind === "text") {
		const content = done ? [{ type: "output_text", text: answer.text, annotations: [], logprobs: [] }] : [];
		return { type: "message", id: idOf("msg", parts), status, role: "assistant", content };
	}
	const text = done ? JSON.stringify(answer.input) : "";
	const call_id = idOf("call", parts);
	const { tool: name, namespace } = answer;
	return { type: "function_call", id: idOf("fc", parts), call_id, name, namespace, arguments: text, status };
}

function openaiResponse(parts: AnswerParts, status: "in_progress" | "completed", output: readonly unknown[]) {
	const input_tokens = inputTokens(parts.usage);
	const usage = {
		input_tokens,
		input_tokens_details: { cached_tokens: parts.usage.cacheRead },
		output_tokens: outputTokens,
		output_tokens_details: { reasoning_tokens: 0 },
		total_tokens: input_tokens + outputTokens,
	};
	return {
		id: idOf("resp", parts),
		object: "response",
		created_at: created,
		status,
		model: parts.model,
		output,
		parallel_tool_calls: false,
		tool_choice: "auto",
		tools: [],
		error: null,
		incomplete_details: null,
		instructions: null,
		metadata: {},
		temperature: 1,
		top_p: 1,
		usage: status === "completed" ? usage : null,
	};
}

function responseEvents(parts: AnswerParts): string[] {
	const started = responseItem(parts, "in_progress");
	const item = responseItem(parts, "completed");
	const open = openaiResponse(parts, "in_progress", []);
	const inner: { readonly type: string; readonly [name: string]: unknown }[] = [];
	const where = { item_id: item.id, output_index: 0 };
	if (item.type === "function_call") {
		inner.push({ type: "response.function_call_arguments.delta", ...where, delta: item.arguments });
		inner.push({ type: "response.function_call_arguments.done", ...where, arguments: item.arguments, name: item.name });
	} else {
		const inside = { ...where, content_index: 0 };
		const text = parts.answer.kind === "text" ? parts.answer.text : "";
		const part = { type: "output_text", text, annotations: [], logprobs: [] };
		inner.push({ type: "response.content_part.added", ...inside, part: { ...part, text: "" } });
		inner.push({ type: "response.output_text.delta", ...inside, delta: text, logprobs: [] });
		inner.push({ type: "response.output_text.done", ...inside, text, logprobs: [] });
		inner.push({ type: "response.content_part.done", ...inside, part });
	}
	const events = [
		{ type: "response.created", response: open },
		{ type: "response.in_progress", response: open },
		{ type: "response.output_item.added", output_index: 0, item: started },
		...inner,
		{ type: "response.output_item.done", output_index: 0, item },
		{ type: "response.completed", response: openaiResponse(parts, "completed", [item]) },
	];
	return events.map((one, sequence_number) => event({ ...one, sequence_number }));
}

function geminiAnswer(parts: AnswerParts) {
	const { answer, usage, model } = parts;
	const part =
		answer.kind === "call"
			? { functionCall: { id: idOf("call", parts), name: answer.tool, args: answer.input } }
			: { text: answer.text };
	const promptTokenCount = inputTokens(usage);
	return {
		candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
		usageMetadata: {
			promptTokenCount,
			candidatesTokenCount: outputTokens,
			totalTokenCount: promptTokenCount + outputTokens,
			...(usage.cacheRead > 0 ? { cachedContentTokenCount: usage.cacheRead } : {}),
		},
		modelVersion: model,
		responseId: idOf("resp", parts),
	};
}

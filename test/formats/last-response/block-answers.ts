import type { Message } from "@anthropic-ai/sdk/resources/messages";
import type { FinishReason, GenerateContentResponse } from "@google/genai";
import type { CreateMessageResultWithTools } from "@modelcontextprotocol/sdk/types.js";
import type { Response } from "openai/resources/responses/responses";
import { type Answer, type AnswerPart, type AnswerRow, parsed, written } from "./answer.ts";

const responseItem = (part: AnswerPart) => {
	if (part.kind === "thought") {
		return { type: "reasoning" as const, id: "r", summary: [{ type: "summary_text" as const, text: part.text }] };
	}
	const status = part.kind === "call" && part.isCut ? ("incomplete" as const) : ("completed" as const);
	if (part.kind === "text") {
		const content = [{ type: "output_text" as const, text: part.text, annotations: [] }];
		return { type: "message" as const, id: "m", role: "assistant" as const, status, content };
	}
	const { id, name, isCut } = part;
	return { type: "function_call" as const, id: "f", call_id: id, name, arguments: written(isCut), status };
};

const openaiResponse = ({ reason, parts }: Answer) =>
	({
		object: "response",
		status: typeof reason === "string" && reason.startsWith("max") ? "incomplete" : (reason as "completed"),
		incomplete_details: reason === "max_output_tokens" ? { reason } : null,
		output: parts.map(responseItem),
	}) satisfies Partial<Response>;

const openaiResponses: AnswerRow = {
	title: "OpenAI Responses",
	write: openaiResponse,
	reasons: {
		length: ["max_output_tokens"],
		stop: ["completed"],
		tool_calls: [],
		other: ["failed", "in_progress", "incomplete", undefined],
	},
};

const responsesEvent: AnswerRow = {
	...openaiResponses,
	title: "the event that ends a stream of OpenAI Responses",
	write: (answer) => ({ type: "response.incomplete", sequence_number: 9, response: openaiResponse(answer) }),
};

const anthropicBlock = (part: AnswerPart) => {
	if (part.kind === "text") return { type: "text" as const, text: part.text, citations: null };
	if (part.kind === "thought") return { type: "thinking" as const, thinking: part.text, signature: "s" };
	const { id, name, isCut } = part;
	return { type: "tool_use" as const, id, name, input: parsed(isCut), caller: { type: "direct" as const } };
};

const anthropic: AnswerRow = {
	title: "Anthropic Messages",
	write: ({ reason, parts }) =>
		({
			id: "m",
			type: "message",
			role: "assistant",
			stop_reason: reason as null,
			content: parts.map(anthropicBlock),
		}) satisfies Partial<Message>,
	reasons: {
		length: ["max_tokens", "model_context_window_exceeded"],
		stop: ["end_turn", "stop_sequence"],
		tool_calls: ["tool_use"],
		other: ["refusal", "pause_turn", null, undefined],
	},
};

const geminiPart = (part: AnswerPart) => {
	if (part.kind === "text") return { text: part.text };
	if (part.kind === "thought") return { text: part.text, thought: true };
	const { id, name, isCut } = part;
	return { functionCall: { id, name, args: parsed(isCut), ...(isCut ? { willContinue: true } : {}) } };
};

const geminiCandidate = ({ reason, parts }: Answer) => ({
	index: 0,
	content: { role: "model", parts: parts.map(geminiPart) },
	finishReason: reason as FinishReason,
});

const gemini: AnswerRow = {
	title: "Gemini",
	write: (answer) =>
		({ candidates: [geminiCandidate(answer)], modelVersion: "g" }) satisfies Partial<GenerateContentResponse>,
	reasons: {
		length: ["MAX_TOKENS"],
		stop: ["STOP"],
		tool_calls: [],
		other: ["SAFETY", "OTHER", "FINISH_REASON_UNSPECIFIED", undefined],
	},
};

const candidate: AnswerRow = {
	...gemini,
	title: "a candidate of Gemini in snake_case",
	write: ({ reason, parts }) => {
		const snake = parts.map(geminiPart).map(({ functionCall, ...rest }: ReturnType<typeof geminiPart>) => {
			if (!functionCall) return rest;
			const { willContinue, ...call } = functionCall;
			return { function_call: { ...call, will_continue: willContinue } };
		});
		return { content: { role: "model", parts: snake }, finish_reason: reason };
	},
};

const bedrockBlock = (part: AnswerPart) => {
	if (part.kind === "text") return { text: part.text };
	if (part.kind === "thought") return { reasoningContent: { reasoningText: { text: part.text, signature: "s" } } };
	return { toolUse: { toolUseId: part.id, name: part.name, input: parsed(part.isCut) } };
};

const bedrock: AnswerRow = {
	title: "Bedrock Converse",
	write: ({ reason, parts }) => {
		const message = { role: "assistant", content: parts.map(bedrockBlock) };
		return { output: { message }, stopReason: reason, usage: {}, metrics: { latencyMs: 1 } };
	},
	reasons: {
		length: ["max_tokens", "model_context_window_exceeded"],
		stop: ["end_turn", "stop_sequence"],
		tool_calls: ["tool_use"],
		other: ["guardrail_intervened", "content_filtered", undefined],
	},
};

const mcpBlock = (part: AnswerPart) =>
	part.kind === "call"
		? { type: "tool_use" as const, id: part.id, name: part.name, input: parsed(part.isCut) }
		: { type: "text" as const, text: part.text };

const mcp: AnswerRow = {
	title: "MCP sampling",
	write: ({ reason, parts }) => {
		// MCP has no reasoning.
		const blocks = parts.filter((part) => part.kind !== "thought").map(mcpBlock);
		const content = blocks.length === 1 && blocks[0] ? blocks[0] : blocks;
		const result = { role: "assistant" as const, model: "m", content };
		return { ...result, stopReason: reason as string } satisfies CreateMessageResultWithTools;
	},
	reasons: {
		length: ["maxTokens"],
		stop: ["endTurn", "stopSequence"],
		tool_calls: ["toolUse"],
		other: ["refused", undefined],
	},
};

/** Answers that hold the calls among the texts. */
export const blockAnswers: readonly AnswerRow[] = [
	openaiResponses,
	responsesEvent,
	anthropic,
	gemini,
	candidate,
	bedrock,
	mcp,
];

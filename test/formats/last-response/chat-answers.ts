import type { ChatCompletion } from "openai/resources/chat/completions";
import { type AnswerPart, type AnswerRow, callsOf, parsed, textOf, written } from "./answer.ts";

const chatReasons = {
	length: ["length"],
	stop: ["stop"],
	tool_calls: ["tool_calls"],
	other: ["content_filter", null, undefined, "x", 7],
};

const chatCalls = (parts: readonly AnswerPart[]) =>
	callsOf(parts).map(({ id, name, isCut }) => ({
		id,
		type: "function" as const,
		function: { name, arguments: written(isCut) },
	}));

const chatMessage = (parts: readonly AnswerPart[]) => ({
	role: "assistant" as const,
	content: textOf(parts) || null,
	refusal: null,
	reasoning_content: textOf(parts, "thought"),
	tool_calls: chatCalls(parts),
});

const openaiChat: AnswerRow = {
	title: "OpenAI Chat Completions",
	write: ({ reason, parts }) => {
		const choice = { index: 0, logprobs: null, finish_reason: reason as "stop", message: chatMessage(parts) };
		return { id: "c", object: "chat.completion", choices: [choice] } satisfies Partial<ChatCompletion>;
	},
	reasons: { ...chatReasons, tool_calls: ["tool_calls", "function_call"] },
	callsComeLast: true,
};

const choice: AnswerRow = {
	title: "a choice",
	write: ({ reason, parts }) => ({ index: 0, finish_reason: reason, stop_reason: null, message: chatMessage(parts) }),
	reasons: chatReasons,
	callsComeLast: true,
};

const flat: AnswerRow = {
	title: "a flat answer",
	write: ({ reason, parts }) => ({
		content: textOf(parts),
		finish_reason: reason,
		tool_calls: callsOf(parts).map(({ id, name, isCut }) => ({ id, name, arguments: isCut ? {} : parsed(isCut) })),
	}),
	reasons: chatReasons,
	callsComeLast: true,
};

const mistral: AnswerRow = {
	title: "Mistral's SDK",
	write: ({ reason, parts }) => {
		const thought = { type: "thinking", thinking: [{ type: "text", text: textOf(parts, "thought") }] };
		const content = [thought, { type: "text", text: textOf(parts) }];
		const message = { role: "assistant", content, toolCalls: chatCalls(parts) };
		return { choices: [{ index: 0, message, finishReason: reason }] };
	},
	reasons: { ...chatReasons, length: ["length", "model_length"], other: ["error"] },
	callsComeLast: true,
};

const cohere: AnswerRow = {
	title: "Cohere",
	write: ({ reason, parts }) => {
		const content = parts.flatMap((part): object[] => {
			if (part.kind === "call") return [];
			return part.kind === "text" ? [{ type: "text", text: part.text }] : [{ type: "thinking", thinking: part.text }];
		});
		const message = { role: "assistant", tool_plan: "I will look.", content, tool_calls: chatCalls(parts) };
		return { id: "c", finish_reason: reason, message };
	},
	reasons: { length: ["MAX_TOKENS"], stop: ["COMPLETE", "STOP_SEQUENCE"], tool_calls: ["TOOL_CALL"], other: ["ERROR"] },
	callsComeLast: true,
};

const ollama: AnswerRow = {
	title: "Ollama",
	write: ({ reason, parts }) => {
		const tool_calls = callsOf(parts).map(({ name, isCut }) => ({
			function: { name, arguments: isCut ? {} : parsed(isCut) },
		}));
		const message = { role: "assistant", content: textOf(parts), thinking: textOf(parts, "thought"), tool_calls };
		return { model: "m", message, done: true, done_reason: reason };
	},
	reasons: { length: ["length"], stop: ["stop"], tool_calls: [], other: ["load", undefined] },
	callsComeLast: true,
	hasNoIds: true,
};

/** Answers that hold the calls beside the content. */
export const chatAnswers: readonly AnswerRow[] = [openaiChat, choice, flat, mistral, cohere, ollama];

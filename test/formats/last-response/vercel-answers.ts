import { type AnswerPart, type AnswerRow, type CallPart, callsOf, parsed, textOf, written } from "./answer.ts";

const vercelCall = (part: CallPart) => ({
	type: "tool-call",
	toolCallId: part.id,
	toolName: part.name,
	input: part.isCut ? written(true) : parsed(undefined),
	...(part.isCut ? { dynamic: true, invalid: true } : {}),
});

const vercelPart = (part: AnswerPart) => {
	if (part.kind === "text") return { type: "text", text: part.text };
	return part.kind === "thought" ? { type: "reasoning", text: part.text } : vercelCall(part);
};

const vercelReasons = {
	length: ["length"],
	stop: ["stop"],
	tool_calls: ["tool-calls"],
	other: ["content-filter", "error", "other", undefined],
};

const vercel: AnswerRow = {
	title: "the Vercel AI SDK",
	write: ({ reason, parts }) => ({
		finishReason: reason,
		text: textOf(parts),
		reasoningText: textOf(parts, "thought"),
		toolCalls: callsOf(parts).map(vercelCall),
	}),
	reasons: vercelReasons,
	callsComeLast: true,
};

const vercelSteps: AnswerRow = {
	title: "a result of the Vercel AI SDK as JSON",
	write: ({ reason, parts }) => {
		const before = { content: [{ type: "text", text: "Before." }], finishReason: "tool-calls" };
		return { steps: [before, { content: parts.map(vercelPart), finishReason: reason }], totalUsage: {} };
	},
	reasons: vercelReasons,
};

const vercelModel: AnswerRow = {
	title: "what a model of the Vercel AI SDK gives",
	write: ({ reason, parts }) => ({
		content: parts.map((part) =>
			part.kind === "call"
				? { type: "tool-call", toolCallId: part.id, toolName: part.name, input: written(part.isCut) }
				: vercelPart(part),
		),
		finishReason: { unified: reason, raw: "x" },
	}),
	reasons: vercelReasons,
};

/** Answers of the Vercel AI SDK, in the versions that callers have at hand. */
export const vercelAnswers: readonly AnswerRow[] = [vercel, vercelSteps, vercelModel];

import { SummariserError } from "../errors.ts";
import { isPlainObject } from "./plain-object.ts";
import type { SummaryAnswer } from "./summariser.ts";
import { whyUnfinished } from "./why-unfinished.ts";

/** Reasons to stop that mean that the limit on tokens was met; besides OpenAI's, those of Mistral and of gateways. */
const cutOff = new Set(["length", "max_tokens", "model_length"]);

/**
 * Reads a chat completion, of which nothing is taken for granted. A cut answer may be empty: a model can spend all its
 * tokens on thinking.
 *
 * @throws SummariserError `context_too_long` where the endpoint says that the window is full, `unknown` where there is
 * no text, not all of it is the model's, or the model refused or called a tool.
 */
export function readCompletion(completion: unknown, status = 200): SummaryAnswer {
	const unusable = (what: string) =>
		new SummariserError("unknown", `The model's endpoint answers with ${what}, not with a summary.`, status);
	if (!isPlainObject(completion)) throw unusable("something that is no chat completion");
	const choice: unknown = Array.isArray(completion.choices) ? completion.choices[0] : undefined;
	if (!isPlainObject(choice) || !isPlainObject(choice.message)) throw unusable("no choice");

	const reason = choice.finish_reason;
	if (reason === "model_context_window_exceeded") {
		throw new SummariserError("context_too_long", "The prompt fills the model's context window.", status);
	}
	const unfinished = whyUnfinished(reason) ?? otherAnswer(choice.message);
	if (unfinished !== undefined) throw unusable(unfinished);
	const finishReason = cutOff.has(String(reason)) ? "length" : reason === "stop" ? "stop" : "other";
	const text = textOf(choice.message.content);
	if (text.trim() === "" && finishReason !== "length") throw unusable("no text");
	const usage = usageOf(completion.usage);
	return { text, finishReason, ...(usage ? { usage } : {}) };
}

/** What stands beside a text that is therefore no summary, but what the model says to go with it. */
function otherAnswer({ refusal, tool_calls, function_call }: Readonly<Record<string, unknown>>): string | undefined {
	if (typeof refusal === "string" && refusal !== "") return "a refusal";
	const isCall = (Array.isArray(tool_calls) && tool_calls.length > 0) || isPlainObject(function_call);
	return isCall ? "a tool call" : undefined;
}

/** A content is a text or, from models that show their thinking, a list of parts. */
function textOf(content: unknown): string {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) return "";
	return content
		.map((part: unknown) =>
			isPlainObject(part) && part.type === "text" && typeof part.text === "string" ? part.text : "",
		)
		.join("");
}

function usageOf(usage: unknown): SummaryAnswer["usage"] {
	if (!isPlainObject(usage)) return undefined;
	const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = usage;
	return isCount(promptTokens) && isCount(completionTokens) ? { promptTokens, completionTokens } : undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

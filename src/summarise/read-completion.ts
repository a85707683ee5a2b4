import { SummariserError } from "../errors.ts";
import { isPlainObject } from "./plain-object.ts";
import type { SummaryAnswer } from "./summariser.ts";

/** Reasons to stop that mean that the limit on tokens was met; besides OpenAI's, those of Mistral and of gateways. */
const cutOff = new Set(["length", "max_tokens", "model_length"]);

/**
 * Reads a chat completion, of which nothing is taken for granted. A cut answer may be empty: a model can spend all its
 * tokens on thinking.
 *
 * @throws SummariserError `context_too_long` where the endpoint says that the window is full, `unknown` where there is
 * no text, or not all of it is the model's.
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
	if (reason === "content_filter") throw unusable("a text that its content filter stopped");
	const finishReason = cutOff.has(String(reason)) ? "length" : reason === "stop" ? "stop" : "other";
	const text = textOf(choice.message.content);
	if (text.trim() === "" && finishReason !== "length") throw unusable("no text");
	const usage = usageOf(completion.usage);
	return { text, finishReason, ...(usage ? { usage } : {}) };
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

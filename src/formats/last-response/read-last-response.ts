import { PalimpsestError } from "../../errors.ts";
import { isJsonObject } from "../json-values.ts";
import { anthropicResponse } from "./anthropic-response.ts";
import { bedrockResponse } from "./bedrock-response.ts";
import { geminiResponse } from "./gemini-response.ts";
import type { LastResponse, ResponseReader } from "./last-response.ts";
import { mcpSamplingResponse } from "./mcp-sampling-response.ts";
import { ollamaResponse } from "./ollama-response.ts";
import { openaiChatResponse } from "./openai-chat-response.ts";
import { openaiResponsesResponse } from "./openai-responses-response.ts";
import { vercelResponse } from "./vercel-response.ts";

/** Every shape of answer. The first that fits is taken, so those that more would fit stand behind. */
const readers: readonly ResponseReader[] = [
	openaiResponsesResponse,
	geminiResponse,
	bedrockResponse,
	anthropicResponse,
	mcpSamplingResponse,
	ollamaResponse,
	vercelResponse,
	openaiChatResponse,
];

/**
 * Reads a provider's answer, whole or put together from its stream, found by shape: what was said, what was called, and
 * whether it was cut (seed 4, task 5). Where it does not say why it ended, `finishReason` is `other`.
 *
 * @throws PalimpsestError `invalid_argument` for anything else, naming the shapes that are read.
 */
export function readLastResponse(response: unknown): LastResponse {
	if (isJsonObject(response)) {
		// What a class of an SDK computes stays out: the AI SDK's results throw where they hold no `output`.
		const own = { ...response };
		for (const reader of readers) {
			const read = reader.read(own);
			if (read) return read;
		}
	}
	const shapes = readers.map((reader) => `- ${reader.shape}`).join("\n");
	throw new PalimpsestError(
		"invalid_argument",
		`Expected \`last_response\` to be what the provider answered to the last call, whole or put together from its stream; got ${kindOf(response)}. Pass one of\n${shapes}`,
	);
}

function kindOf(value: unknown): string {
	if (value === null) return "null";
	if (Array.isArray(value)) return "a list";
	if (typeof value === "object") return "an object of another shape";
	return value === undefined ? "nothing" : `a ${typeof value}`;
}

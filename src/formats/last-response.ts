import { isJsonObject } from "../conversation/json.ts";
import { PalimpsestError } from "../errors.ts";
import type { LastResponse } from "./answer.ts";
import { anthropicMessages } from "./anthropic.ts";
import { bedrockConverse } from "./bedrock.ts";
import { gemini } from "./gemini.ts";
import { mcpSampling } from "./mcp-sampling.ts";
import { ollama } from "./ollama.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";
import { vercelModel } from "./vercel-model.ts";

/** The first shape that fits is taken, so stricter shapes come first. */
const readers = [
	openaiResponses,
	gemini,
	bedrockConverse,
	anthropicMessages,
	mcpSampling,
	ollama,
	vercelModel,
	openaiChat,
].flatMap(({ answer }) => answer ?? []);

/**
 * Reads a provider's answer, whole or put together from its stream, found by shape: what was said, what was called, and
 * whether it was cut (docs/specs/robustness.md#cut-answers). Where it does not say why it ended, `finishReason` is `other`.
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

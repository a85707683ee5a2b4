import type { TokenMeter } from "../engine/measure.ts";
import type { Transcript } from "../engine/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import { asCountedText, isJsonObject } from "../formats/json-values.ts";
import type { ReadConversation } from "../formats/read-conversation.ts";
import { requestOverhead } from "../tokens/request-overhead.ts";

/** A conversation as it is sent: with the tool schemas beside it, and with what its provider adds. */
export interface SentConversation {
	readonly transcript: Transcript;
	/** What the provider documents that it adds, in tokens of the model. */
	readonly requestOverhead: (countTokens: TokenMeter["countTokens"]) => number;
}

/**
 * Adds what a request carries beside the messages. `tools` are schemas that were passed along, where the conversation
 * holds none itself.
 *
 * @throws PalimpsestError `invalid_argument` where tools stand in both.
 */
export function asSent(
	{ transcript, located }: ReadConversation,
	{ model, tools: passed }: { readonly model: string | undefined; readonly tools?: unknown },
): SentConversation {
	const own = toolsOf(located.document);
	if (passed !== undefined && own !== undefined) {
		throw new PalimpsestError("invalid_argument", "Expected `tools` only where the conversation itself holds none.");
	}
	const tools = passed ?? own;
	return {
		transcript:
			passed === undefined
				? transcript
				: { ...transcript, surroundings: [...transcript.surroundings, asCountedText(passed)] },
		requestOverhead(countTokens) {
			if (model === undefined || tools === undefined) return 0;
			return requestOverhead({ model, tools, toolTokens: countTokens(asCountedText(tools)), countTokens });
		},
	};
}

/** The tool schemas in a request body; Bedrock's Converse has them one level deeper. */
function toolsOf(body: unknown): unknown {
	if (!isJsonObject(body)) return undefined;
	const { tools, toolConfig } = body;
	return tools ?? (isJsonObject(toolConfig) ? toolConfig.tools : undefined) ?? undefined;
}

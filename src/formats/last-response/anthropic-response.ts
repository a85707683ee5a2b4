import { idAt, type JsonObject } from "../json-values.ts";
import { finishResponse, type GivenCall } from "./finish-response.ts";
import type { ResponseReader } from "./last-response.ts";
import { hasMember, objectsOf, textsOf } from "./response-members.ts";

/**
 * Anthropic Messages. The API and its SDK make an object of the part of a call's input that came, down to `{}`, so that
 * a call that ends a cut answer is taken to be cut.
 */
export const anthropicResponse: ResponseReader = {
	shape: "{stop_reason, content} of Anthropic Messages",
	read(response) {
		const { content } = response;
		if (typeof content !== "string" && !Array.isArray(content)) return undefined;
		// vLLM puts a `stop_reason` of its own beside the `finish_reason`; an item of OpenAI Responses has a `status`.
		if (hasMember(response, "finish_reason", "status")) return undefined;
		const isMessage = response.type === "message" && response.role === "assistant";
		if (!isMessage && !hasMember(response, "stop_reason")) return undefined;
		if (Array.isArray(content) && !content.every(hasType)) return undefined;
		return finishResponse({
			reason: response.stop_reason,
			texts: textsOf(content),
			calls: readToolUses(objectsOf(content)),
		});
	},
};

function hasType(block: unknown): boolean {
	return typeof (block as JsonObject | null)?.type === "string";
}

/** Reads the `tool_use` blocks of a content, which MCP writes alike. */
export function readToolUses(blocks: readonly JsonObject[]): GivenCall[] {
	return blocks.flatMap((block, index): GivenCall[] => {
		if (block.type !== "tool_use") return [];
		const input = { kind: "parsed_partly", value: block.input } as const;
		return [{ id: idAt(block, "id"), name: idAt(block, "name"), input, endsAnswer: index === blocks.length - 1 }];
	});
}

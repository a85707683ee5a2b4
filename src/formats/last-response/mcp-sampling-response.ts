import { isJsonObject } from "../json-values.ts";
import { readToolUses } from "./anthropic-response.ts";
import { finishResponse } from "./finish-response.ts";
import type { ResponseReader } from "./last-response.ts";
import { hasMember, objectsOf, textsOf } from "./response-members.ts";

/** The blocks of a sampled message (specification 2025-11-25). */
const blockTypes: ReadonlySet<unknown> = new Set(["text", "image", "audio", "tool_use", "tool_result"]);

/** The result of MCP sampling, whose `stopReason` may be left out. Whose model the host asks is not known. */
export const mcpSamplingResponse: ResponseReader = {
	shape: "{stopReason, role, content} of MCP sampling",
	read(response) {
		const { content, stopReason: reason } = response;
		const isResult = typeof response.model === "string" && typeof response.role === "string";
		if (!isResult && !hasMember(response, "stopReason")) return undefined;
		const blocks = Array.isArray(content) ? content : [content];
		if (!blocks.every((block) => isJsonObject(block) && blockTypes.has(block.type))) return undefined;
		return finishResponse({ reason, texts: textsOf(blocks), calls: readToolUses(objectsOf(blocks)) });
	},
};

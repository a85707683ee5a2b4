import { finishResponse, type GivenCall, hasMember, type LastResponse, objectsOf, textsOf } from "../answer.ts";
import type { Fit, Format, LocatedMessages } from "../format.ts";
import { idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { plainMessage } from "../plain-message.ts";
import { readEach } from "../read-each.ts";
import { readSurroundings } from "../surroundings.ts";
import { markCompacted, readCompacted } from "./compacted.ts";
import { anthropicRoles } from "./read-anthropic-message.ts";

const looksFor =
	"Anthropic Messages (`role` user or assistant, `content` a string or blocks such as `tool_use` and `tool_result`)";

/** Block types that only this format has. */
const ownBlocks = new Set([
	"tool_use",
	"tool_result",
	"thinking",
	"redacted_thinking",
	"server_tool_use",
	"mcp_tool_use",
	"mcp_tool_result",
	"search_result",
	"container_upload",
	"compaction",
]);
const foreignBlocks = new Set([
	"image_url",
	"input_audio",
	"refusal",
	"input_text",
	"output_text",
	"tool-call",
	"tool-result",
	"toolCall",
]);

/** Anthropic Messages. Thinking blocks are opaque: counted, never edited. */
export const anthropicMessages: Format = {
	name: "anthropic-messages",
	title: "Anthropic Messages",
	looksFor,
	probe,
	read(located) {
		const messages = markCompacted(readEach(located, readCompacted), located);
		return {
			format: "anthropic-messages",
			messages,
			surroundings: readSurroundings(located, ["system", "tools"]),
			// What was compacted still opens the conversation.
			opensWithUser: messages[0]?.sent !== false,
		};
	},
	write: { message: plainMessage, appends: true },
	answer: { shape: "{stop_reason, content} of Anthropic Messages", read: readAnswer },
};

function probe({ document, messages }: LocatedMessages): Fit {
	let certain = false;
	// An assistant message that is a list of blocks is what this API answers with; Chat Completions answers a string.
	let likely = isJsonObject(document) && document.system !== undefined;
	for (const [message, value] of messages.entries()) {
		const outcome = probeMessage(value);
		if (typeof outcome === "string") return { fit: "none", message, expected: outcome };
		certain ||= outcome;
		likely ||= isJsonObject(value) && value.role === "assistant" && Array.isArray(value.content);
	}
	return { fit: certain ? "certain" : likely ? "likely" : "possible" };
}

/** Whether the message can only be of this format; a text says what it should have been instead. */
function probeMessage(message: unknown): boolean | string {
	if (!isJsonObject(message)) return "an object with `role`";
	const role = stringAt(message, "role");
	if (role === undefined) return "an object with a string `role`";
	if (role === "tool" || role === "function" || role === "developer") return `no \`role: "${role}"\``;
	if (Array.isArray(message.tool_calls) && message.tool_calls.length > 0) return "calls as `tool_use` blocks";
	if (!Object.hasOwn(anthropicRoles, role)) return false;
	if (typeof message.content === "string" || message.content === null) return false;
	if (!Array.isArray(message.content)) return "`content` as a string or a list of blocks";
	let certain = false;
	for (const block of message.content as unknown[]) {
		if (!isJsonObject(block) || typeof block.type !== "string") return "content blocks with a `type`";
		if (foreignBlocks.has(block.type)) return `content blocks of its own kinds, not \`${block.type}\``;
		const isImage = block.type === "image" && isJsonObject(block.source);
		certain ||= ownBlocks.has(block.type) || isImage;
	}
	return certain;
}

/**
 * Anthropic Messages. The API and its SDK make an object of the part of a call's input that came, down to `{}`, so that
 * a call that ends a cut answer is taken to be cut.
 */
function readAnswer(response: JsonObject): LastResponse | undefined {
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
}

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

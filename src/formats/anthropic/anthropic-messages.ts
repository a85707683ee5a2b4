import { childPath, type Path } from "../../engine/path.ts";
import type { MediaNode, Message, Role, ThinkingBlock, ToolCall, ToolResult } from "../../engine/transcript.ts";
import { fittedList } from "../fitted-list.ts";
import type { Fit, Format, LocatedMessages } from "../format.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readInlineMedia } from "../media/inline-media.ts";
import { tokensOfMedia } from "../media/read-media.ts";
import type { MessagePlace } from "../message-place.ts";
import { plainMessage } from "../plain-message.ts";
import { readEach } from "../read-each.ts";
import { readSurroundings } from "../surroundings.ts";
import { readToolContent } from "../tool-content.ts";
import { readAnthropicMedia } from "./anthropic-media.ts";
import { markCompacted, readCompacted } from "./compacted.ts";
import { readServerResult } from "./server-results.ts";

const looksFor =
	"Anthropic Messages (`role` user or assistant, `content` a string or blocks such as `tool_use` and `tool_result`)";

const roles: Readonly<Record<string, Role>> = { user: "user", assistant: "assistant", system: "system" };

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
	if (!Object.hasOwn(roles, role)) return false;
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

/** Reads one message; sessions of agents that speak this API hold it inside their records. */
export function readMessage(message: JsonObject, path: Path, place?: MessagePlace): Message {
	const roleName = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(roles, roleName) && roles[roleName]) || "other";
	const paths = place?.paths ?? [path];
	const calls: ToolCall[] = [];
	const results: ToolResult[] = [];
	const counted: string[] = [];
	const thinking: ThinkingBlock[] = [];
	let mediaTokens = 0;
	const countOpaque = (block: unknown) => counted.push(asCountedText(block));

	if (!Array.isArray(message.content)) {
		counted.push(asCountedText(message.content ?? undefined));
		return { role, paths, counted: fittedList(counted), mediaTokens, calls, results, thinking };
	}
	const contentPath = place?.content ?? childPath(path, "content");
	(message.content as unknown[]).forEach((block, index) => {
		if (!isJsonObject(block)) {
			countOpaque(block);
			return;
		}
		switch (block.type) {
			case "text":
				counted.push(asCountedText(block.text));
				break;
			case "thinking":
				// The signature is not part of the prompt's text.
				counted.push(asCountedText(block.thinking));
				thinking.push({
					path: childPath(contentPath, index),
					text: asCountedText(block.thinking),
					bound: typeof block.signature === "string",
				});
				break;
			case "redacted_thinking":
				countOpaque(block);
				thinking.push({ path: childPath(contentPath, index), text: asCountedText(block), bound: true });
				break;
			case "tool_use":
				calls.push({ id: idAt(block, "id"), name: stringAt(block, "name") });
				counted.push(stringAt(block, "name") ?? "", asCountedText(block.input));
				break;
			case "tool_result": {
				const at = childPath(childPath(contentPath, index), "content");
				const { texts, whole, media, counted: beside } = readToolContent(block.content, at, readResultMedia);
				counted.push(...beside);
				mediaTokens += tokensOfMedia(media);
				const isError = typeof block.is_error === "boolean" ? block.is_error : undefined;
				results.push({ callId: idAt(block, "tool_use_id"), texts, whole, copies: [], media, isError });
				break;
			}
			default: {
				if (stringAt(block, "type")?.endsWith("_tool_result")) {
					const result = readServerResult(block, childPath(contentPath, index));
					counted.push(...result.counted);
					mediaTokens += result.mediaTokens;
					break;
				}
				const media = readAnthropicMedia(block, childPath(contentPath, index));
				if (!media) countOpaque(block);
				mediaTokens += media?.tokens ?? 0;
				counted.push(...(media?.texts ?? []).map((node) => node.text));
			}
		}
	});
	return {
		role,
		paths,
		counted: fittedList(counted),
		mediaTokens,
		calls: fittedList(calls),
		results: fittedList(results),
		thinking: fittedList(thinking),
	};
}

/** Agents put what their tools return into a result as it is, with images as MCP writes them. */
function readResultMedia(part: JsonObject, path: Path): MediaNode | undefined {
	return readAnthropicMedia(part, path) ?? readInlineMedia(part, path);
}

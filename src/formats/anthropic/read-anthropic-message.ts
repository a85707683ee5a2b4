import { childPath, type Path } from "../../engine/path.ts";
import type { MediaNode, Message, Role, ThinkingBlock, ToolCall, ToolResult } from "../../engine/transcript.ts";
import { fittedList } from "../fitted-list.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readInlineMedia } from "../media/inline-media.ts";
import { tokensOfMedia } from "../media/read-media.ts";
import type { MessagePlace } from "../message-place.ts";
import { readToolContent } from "../tool-content.ts";
import { readAnthropicMedia } from "./anthropic-media.ts";
import { readServerResult } from "./server-results.ts";

/** The roles of the API; of any other a message is kept and counted. */
export const anthropicRoles: Readonly<Record<string, Role>> = {
	user: "user",
	assistant: "assistant",
	system: "system",
};

/** Reads one message; sessions of agents that speak this API hold it inside their records. */
export function readAnthropicMessage(message: JsonObject, path: Path, place?: MessagePlace): Message {
	const roleName = stringAt(message, "role") ?? "";
	const role = (Object.hasOwn(anthropicRoles, roleName) && anthropicRoles[roleName]) || "other";
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

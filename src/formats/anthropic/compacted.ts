import { childPath, type Path } from "../../engine/path.ts";
import type { Message } from "../../engine/transcript.ts";
import type { LocatedMessages } from "../format.ts";
import { asCountedText, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import type { MessagePlace } from "../message-place.ts";
import { readAnthropicMessage } from "./read-anthropic-message.ts";

/**
 * Reads a message of the API, of which a `compaction` block is a message of its own: the API ignores all that stands
 * before the last such block, so that it has to stay as a system message does.
 */
export function readCompacted(message: JsonObject, path: Path, place?: MessagePlace): Message | Message[] {
	const at = compactionIn(message);
	if (at === -1) return readAnthropicMessage(message, path, place);
	const blocks = message.content as readonly JsonObject[];
	const places = blocks.map((_, index) => childPath(childPath(path, "content"), index));
	const counted = [asCountedText(blocks[at]?.content)];
	const isAll = at === blocks.length - 1;
	const paths = isAll ? [path] : places.slice(0, at + 1);
	const summary: Message = { role: "system", paths, counted, mediaTokens: 0, calls: [], results: [], thinking: [] };
	if (isAll) return summary;
	const rest = readAnthropicMessage(
		{ ...message, content: blocks.map((block, index) => (index > at ? block : "")) },
		path,
	);
	return [summary, { ...rest, paths: places.slice(at + 1) }];
}

/** Marks what stands before the last `compaction` block: it is sent, and ignored. */
export function markCompacted(
	messages: readonly Message[],
	{ messages: values, base }: LocatedMessages,
): readonly Message[] {
	const last = values.findLastIndex((value) => isJsonObject(value) && compactionIn(value) !== -1);
	if (last === -1) return messages;
	return messages.map((message) =>
		Number(message.paths[0]?.[base.length]) < last ? { ...message, sent: false } : message,
	);
}

/** Where the last compaction that came about stands among a message's blocks; -1 where none does. */
function compactionIn({ content }: JsonObject): number {
	if (!Array.isArray(content)) return -1;
	return (content as unknown[]).findLastIndex(
		(block) => isJsonObject(block) && block.type === "compaction" && stringAt(block, "content") !== undefined,
	);
}

import type { Path } from "../engine/path.ts";
import type { Message, Role, ThinkingBlock, ToolCall, ToolResult } from "../engine/transcript.ts";
import { tokensOfMedia } from "./media/read-media.ts";

/** A message while its parts are read one after the other. */
export interface MessageDraft {
	readonly counted: string[];
	readonly calls: ToolCall[];
	readonly results: ToolResult[];
	readonly thinking: ThinkingBlock[];
	mediaTokens: number;
}

export function startMessage(): MessageDraft {
	return { counted: [], calls: [], results: [], thinking: [], mediaTokens: 0 };
}

export function finishMessage(role: Role, paths: readonly Path[], draft: MessageDraft): Message {
	return { role, paths, ...draft };
}

/** What was read of a result's content, with all that is counted of it. */
interface ReadResult extends ToolResult {
	/** What it costs beside its texts and its media. */
	readonly counted: readonly string[];
}

/** Adds a result with what it costs beside its texts. */
export function addResult(draft: MessageDraft, { counted, ...result }: ReadResult): void {
	draft.results.push(result);
	draft.counted.push(...counted);
	draft.mediaTokens += tokensOfMedia(result.media);
}

import type { Path } from "../engine/path.ts";
import type { Message, Role, ThinkingBlock, ToolCall, ToolResult } from "../engine/transcript.ts";
import { asCountedText, idAt, isJsonObject, stringAt } from "./json-values.ts";
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

/** Adds the calls of a list whose items are `{id, arguments}` with the tool's name under a key of the format's own. */
export function addCalls(draft: MessageDraft, calls: unknown, nameKey: string): void {
	if (!Array.isArray(calls)) return;
	for (const call of calls as unknown[]) {
		if (!isJsonObject(call)) continue;
		const name = stringAt(call, nameKey);
		draft.calls.push({ id: idAt(call, "id"), name });
		draft.counted.push(name ?? "", asCountedText(call.arguments));
	}
}

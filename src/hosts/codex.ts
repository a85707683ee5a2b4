import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { HookContext, ToolEvent } from "./tool-event.ts";

/** Codex cuts the output of its shell itself, before a hook gets it (Codex 0.169). */
const cutByHost = /^Warning: truncated output \(original token count: \d+\)\n/;

/** Of more than 10 000 bytes from a hook, Codex shows a part (Codex 0.169). */
const mostBytes = 9_800;

/**
 * The answer of the `PostToolUse` hook: `reason` takes the place of the whole result, also of a command that failed and of
 * an MCP tool. Source: https://developers.openai.com/codex/hooks#posttooluse.
 */
export async function answerCodex(event: ToolEvent, context: HookContext): Promise<JsonObject | undefined> {
	const { mostChars, shorten } = context;
	const text = textOf(event.response);
	if (text === undefined || text.length <= mostChars) return undefined;
	let room = Math.min(mostChars, mostBytes);
	let reason = await shorten(text, room, cutByHost.test(text));
	while (reason !== undefined && Buffer.byteLength(reason) > mostBytes) {
		room = Math.floor((room * mostBytes) / Buffer.byteLength(reason)) - 1;
		reason = await shorten(text, room, cutByHost.test(text));
	}
	return reason === undefined ? undefined : { decision: "block", reason };
}

/** A shell's output, or the text of an MCP result as the model would see it; `undefined` for errors and images. */
function textOf(response: unknown): string | undefined {
	if (typeof response === "string") return response;
	if (!isJsonObject(response) || response.isError === true || !Array.isArray(response.content)) return undefined;
	const { structuredContent, content } = response;
	if (structuredContent !== undefined && structuredContent !== null) return JSON.stringify(structuredContent);
	const texts = content.map((block) => (isJsonObject(block) && block.type === "text" ? block.text : undefined));
	return texts.every((text) => typeof text === "string") ? texts.join("\n") : undefined;
}

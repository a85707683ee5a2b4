import { SummariserError } from "../errors.ts";
import { isPlainObject } from "./plain-object.ts";
import type { SummaryAnswer } from "./summariser.ts";
import { whyUnfinished } from "./why-unfinished.ts";

/** Longest answer that is looked at, in characters (UTF-16 code units). */
const longest = 4 * 1024 * 1024;

/**
 * Reads the result of `sampling/createMessage`, of which nothing is taken for granted: one block of content or, since
 * revision 2025-11-25 of the protocol, a list of them. A cut answer may be empty: a model can spend all its tokens on
 * thinking.
 *
 * @throws SummariserError `unknown` where there is no text, anything but text, or the model refused or broke off.
 */
export function readSampled(result: unknown): SummaryAnswer {
	if (!isPlainObject(result)) throw unusable("something that is no message");
	const { content, stopReason } = result;
	const unfinished = whyUnfinished(stopReason);
	if (unfinished !== undefined) throw unusable(unfinished);
	const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
	const text = blocks.map(textOf).join("");
	if (text.length > longest) throw unusable(`more than ${longest} characters`);
	const finishReason = stopReason === "maxTokens" ? "length" : stopReason === "endTurn" ? "stop" : "other";
	if (text.trim() === "" && finishReason !== "length") throw unusable("no text");
	return { text, finishReason };
}

function textOf(block: unknown): string {
	if (!isPlainObject(block)) throw unusable("content that cannot be read");
	if (block.type === "tool_use" || block.type === "tool_result") throw unusable("a tool call");
	if (block.type !== "text" || typeof block.text !== "string") throw unusable("content other than text");
	return block.text;
}

function unusable(what: string): SummariserError {
	return new SummariserError("unknown", `The client's model answers with ${what}, not with a summary.`);
}

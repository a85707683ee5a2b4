import type { Message, Transcript } from "../../engine/transcript.ts";
import { withoutThinkTag } from "./think-tag.ts";

/**
 * Whether a conversation ends with calls that wait for their results: those of its last message, or of one that only
 * messages with results follow.
 */
export function hasUnansweredCalls({ messages }: Transcript): boolean {
	let results = 0;
	const answered = new Set<string | undefined>();
	for (const message of messages.toReversed()) {
		results += message.results.length;
		for (const { callId } of message.results) answered.add(callId);
		if (message.calls.length > 0) {
			// Calls without ids are paired by their number.
			const hasIds = message.calls.every((call) => call.id !== undefined);
			return hasIds ? !message.calls.every((call) => answered.has(call.id)) : results < message.calls.length;
		}
		if (message.results.length === 0) return false;
	}
	return false;
}

/** Whether an assistant message says a text and nothing else; its reasoning aside, and white space around the text. */
export function saysNothingBut(message: Message, text: string): boolean {
	if (message.role !== "assistant" || message.calls.length > 0) return false;
	const thoughts = message.thinking.map((block) => block.text);
	const said = message.counted.filter((counted) => {
		const thought = thoughts.indexOf(counted);
		if (thought !== -1) thoughts.splice(thought, 1);
		return thought === -1;
	});
	const isText = (one: string) => withoutThinkTag(one).trim() === text.trim();
	// Formats count a speaker's name and what endpoints put beside the content as texts of their own.
	return isText(said.join("")) || said.some(isText);
}

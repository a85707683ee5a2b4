import type { Message } from "../transcript.ts";

/**
 * Whether two messages that are not the assistant's come to stand together, since what it said between them is dropped.
 *
 * `isDropped` is 1 for each message that goes; only the first `end` messages are looked at, by default all.
 */
export function userMeetsUser(messages: readonly Message[], isDropped: Uint8Array, end = messages.length): boolean {
	let ahead: Message | undefined;
	let wasAnswered = false;
	for (let index = 0; index < end; index += 1) {
		const message = messages[index] as Message;
		if (message.role === "system" || message.sent === false) continue;
		if (isDropped[index] === 1) {
			wasAnswered ||= message.role === "assistant";
			continue;
		}
		if (wasAnswered && ahead !== undefined && ahead.role !== "assistant" && message.role !== "assistant") return true;
		ahead = message;
		wasAnswered = false;
	}
	return false;
}

import type { Message, Transcript } from "./transcript.ts";

/**
 * Indexes of the messages that are tool turns: assistant messages with at least one tool call that has an id
 * (seed 1, section 2). Parallel calls are one turn.
 */
export function toolTurns({ messages }: Transcript): readonly number[] {
	return messages.flatMap((message, index) => (isToolTurn(message) ? [index] : []));
}

/** Whether a message is a tool turn. */
export function isToolTurn(message: Message): boolean {
	return message.role === "assistant" && message.calls.some((call) => call.id !== undefined);
}

import { type Findings, findOnce } from "./continuation.ts";
import type { Message, Transcript } from "./transcript.ts";

/**
 * Indexes of the messages that are tool turns: assistant messages with at least one tool call that has an id
 * (seed 1, section 2). Parallel calls are one turn.
 */
export function toolTurns({ messages }: Transcript): readonly number[] {
	return findOnce(foundTurns, messages, (earlier) => {
		const turns = earlier ? earlier.finding.slice() : [];
		for (let index = earlier?.messages.length ?? 0; index < messages.length; index += 1) {
			if (isToolTurn(messages[index] as Message)) turns.push(index);
		}
		return turns;
	});
}

const foundTurns: Findings<readonly number[]> = new WeakMap();

/** Whether a message is a tool turn. */
export function isToolTurn(message: Message): boolean {
	return message.role === "assistant" && message.calls.some((call) => call.id !== undefined);
}

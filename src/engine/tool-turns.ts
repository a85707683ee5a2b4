import type { Transcript } from "./transcript.ts";

/**
 * Indexes of the messages that are tool turns: assistant messages with at least one tool call that has an id
 * (seed 1, section 2). Parallel calls are one turn.
 */
export function toolTurns(transcript: Transcript): number[] {
	const turns: number[] = [];
	transcript.messages.forEach((message, index) => {
		if (message.role === "assistant" && message.calls.some((call) => call.id !== undefined)) turns.push(index);
	});
	return turns;
}

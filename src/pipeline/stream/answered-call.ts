import type { Original } from "../../archive/archive.ts";

/** The tool call that an output answers. */
export interface AnsweredCall {
	readonly id: string | undefined;
	readonly name: string | undefined;
	/** Its arguments, as the host has them: what the agent was after. */
	readonly input: unknown;
}

/** What an output is to the archive. */
export function originalOf(toolCall: AnsweredCall | undefined): Omit<Original, "text"> {
	if (toolCall === undefined) return { kind: "text" };
	return { kind: "result", toolCallId: toolCall.id, toolName: toolCall.name };
}

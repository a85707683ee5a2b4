import type { Plan, RemoveEdit } from "../edit.ts";
import { type CountTokens, sizeOf } from "../measure.ts";
import type { ThinkingBlock, Transcript } from "../transcript.ts";

/** A reasoning block whose prefix a plan changes. */
export interface AffectedThinking {
	readonly message: number;
	readonly block: ThinkingBlock;
}

/**
 * The reasoning blocks that stay behind an edit and are bound to what stands before them. Providers that check the
 * binding (Claude from 5.1 on) may refuse them once their prefix differs.
 */
export function affectedThinking(transcript: Transcript, plan: Plan): AffectedThinking[] {
	const edited = plan.filter((edit) => !edit.copy && edit.message >= 0).map((edit) => edit.message);
	if (edited.length === 0) return [];
	const first = edited.reduce((least, message) => Math.min(least, message));
	const dropped = new Set(plan.filter((edit) => edit.reason === "drop").map((edit) => edit.message));
	return transcript.messages.flatMap(({ thinking }, message) =>
		message > first && !dropped.has(message)
			? thinking.filter((block) => block.bound).map((block) => ({ message, block }))
			: [],
	);
}

/** Plans to take those blocks out as wholes. */
export function planStripThinking(affected: readonly AffectedThinking[], countTokens: CountTokens): RemoveEdit[] {
	return affected.map(({ message, block }) => ({
		kind: "remove",
		reason: "thinking",
		path: block.path,
		message,
		before: sizeOf(block.text, countTokens),
		after: { chars: 0, tokens: 0 },
	}));
}

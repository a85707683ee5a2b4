import { jsonPointer } from "../engine/path.ts";
import type { AffectedThinking } from "../engine/strategies/thinking.ts";

/** Longest list of reasoning blocks in a report. */
const shownBlocks = 20;

/** Reasoning blocks that stand behind an edit and are bound to what stands before them. */
export interface ThinkingReport {
	readonly count: number;
	/** JSON Pointers of the first of them, into the input. */
	readonly paths: readonly string[];
	/** How many of them were taken out. */
	readonly stripped: number;
	/** JSON Pointers of the first that the policy wanted out but that had to stay. */
	readonly left: readonly string[];
	/** What was done with them, or what can be done. */
	readonly advice: string;
}

/** Claude's own way out, for what stays: the API then leaves out what no longer fits. */
const dropBlock = 'have the API leave them out (`thinking.block_binding.prefix_mismatch_behavior: "drop_block"`)';

/** Reports on the blocks behind an edit; `left` are those that could not be taken out, `undefined` where none was to be. */
export function thinkingReport(
	affected: readonly AffectedThinking[],
	left: readonly AffectedThinking[] | undefined,
): ThinkingReport | undefined {
	if (affected.length === 0) return undefined;
	const pathsOf = (blocks: readonly AffectedThinking[]) =>
		blocks.slice(0, shownBlocks).map(({ block }) => jsonPointer(block.path));
	return {
		count: affected.length,
		paths: pathsOf(affected),
		stripped: left ? affected.length - left.length : 0,
		left: pathsOf(left ?? []),
		advice: adviceOn(left),
	};
}

function adviceOn(left: readonly AffectedThinking[] | undefined): string {
	if (!left) {
		return `A provider that binds reasoning to what stands before it (Claude 5.1 and later) may refuse them with status 400: set thinking = "strip_after_edit" in the policy, or ${dropBlock}.`;
	}
	if (left.length === 0) return "They were taken out.";
	return `${left.length} of them stayed, since a call needs them or nothing else stands in their message. A provider that binds reasoning to what stands before it may refuse those with status 400: ${dropBlock}.`;
}

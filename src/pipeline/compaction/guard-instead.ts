import { PalimpsestError } from "../../errors.ts";
import { guardConversation } from "../guard-conversation.ts";
import type { CompactOutcome } from "./compact-outcome.ts";
import type { CompactRequest } from "./compact-request.ts";
import { decided } from "./decided.ts";
import type { OpenedCompaction } from "./open-compaction.ts";

/**
 * The guard's ladder in the place of a summary that nobody can be asked for.
 *
 * @throws PalimpsestError `context_window_unknown` where there is no window to bring the conversation within, `no_budget`.
 */
export async function guardInstead(request: CompactRequest, opened: OpenedCompaction): Promise<CompactOutcome> {
	const { contextWindow, reserveTokens } = opened;
	if (contextWindow === undefined) {
		throw new PalimpsestError(
			"context_window_unknown",
			"Nobody can be asked for a summary, and without a context window the guard cannot take its place: give `context_window` in tokens, or name a `model`.",
		);
	}
	const outcome = await guardConversation({ ...request, contextWindow, reserveTokens });
	const { report } = outcome;
	const made = decided(request, opened, report.changed ? "guarded" : "unchanged");
	const notes = [...report.notes, ...opened.windowNotes];
	return { ...outcome, report: { ...report, notes, ...made, context_window: contextWindow } };
}

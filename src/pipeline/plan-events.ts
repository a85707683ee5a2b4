import type { Plan } from "../engine/edit.ts";
import { cleanValue } from "../engine/placeholder.ts";
import type { LogEvent } from "./log-event.ts";

/**
 * The log events of a plan: each truncation and all drops at `warning`, worded as seed 5 (L3) words them, and one line
 * for all maskings at `info`.
 */
export function planEvents(plan: Plan, unknownTool: string): LogEvent[] {
	const events: LogEvent[] = [];
	const masked = plan.filter((edit) => edit.reason === "mask" && !edit.unsent);
	const dropped = plan.filter((edit) => edit.reason === "drop");
	for (const edit of plan) {
		if (edit.reason !== "truncate" || edit.unsent) continue;
		const tool = edit.result?.toolName === undefined ? unknownTool : cleanValue(edit.result.toolName);
		const [original, truncated] = [edit.before.chars, edit.after.chars];
		events.push({
			level: "warning",
			message: `Context guard: truncated tool result for "${tool}" (${original} → ${truncated} chars)`,
			data: { event: "truncated", tool, chars_before: original, chars_after: truncated },
		});
	}
	if (dropped.length > 0) {
		const messages = new Set(dropped.map((edit) => edit.message)).size;
		const tokens = dropped.reduce((sum, edit) => sum + edit.before.tokens, 0);
		events.push({
			level: "warning",
			message: `Context guard: dropped ${messages} old messages (estimated ${tokens} tokens)`,
			data: { event: "dropped", messages, tokens },
		});
	}
	if (masked.length > 0) {
		const before = masked.reduce((sum, edit) => sum + edit.before.chars, 0);
		const after = masked.reduce((sum, edit) => sum + edit.after.chars, 0);
		events.push({
			level: "info",
			message: `Masked ${masked.length} old tool results (${before} → ${after} chars)`,
			data: { event: "masked", results: masked.length, chars_before: before, chars_after: after },
		});
	}
	return events;
}

import type { Plan } from "../engine/edit.ts";
import { cleanValue } from "../engine/placeholder.ts";
import { totalsOf } from "../engine/plan-totals.ts";
import { scaleTokens, type TokenScale } from "../engine/token-scale.ts";
import type { LogEvent } from "./log-event.ts";

/**
 * The log events of a plan: each truncation and all drops at `warning`, worded as seed 5 (L3) words them, and one line
 * for all maskings at `info`.
 */
export function planEvents(
	plan: Plan,
	{ unknownTool, scale }: { readonly unknownTool: string; readonly scale: TokenScale },
): LogEvent[] {
	const { truncated, dropped, summarised, masked } = totalsOf(plan);
	const events = truncated.edits.map(({ result, before, after }): LogEvent => {
		const tool = result?.toolName === undefined ? unknownTool : cleanValue(result.toolName);
		return {
			level: "warning",
			message: `Context guard: truncated tool result for "${tool}" (${before.chars} → ${after.chars} chars)`,
			data: { event: "truncated", tool, chars_before: before.chars, chars_after: after.chars },
		};
	});
	if (dropped.messages > 0) {
		const { messages } = dropped;
		const { tokens } = scaleTokens(dropped.before, scale);
		events.push({
			level: "warning",
			message: `Context guard: dropped ${messages} old messages (estimated ${tokens} tokens)`,
			data: { event: "dropped", messages, tokens },
		});
	}
	if (summarised.messages > 0) {
		const { messages } = summarised;
		const before = scaleTokens(summarised.before, scale).tokens;
		const after = scaleTokens(summarised.after, scale).tokens;
		events.push({
			level: "warning",
			message: `Compaction: ${messages} old messages gave way (${before} → ${after} tokens)`,
			data: { event: "summarised", messages, tokens_before: before, tokens_after: after },
		});
	}
	if (masked.edits > 0) {
		const { edits: results, charsBefore: before, charsAfter: after } = masked;
		events.push({
			level: "info",
			message: `Masked ${results} old tool results (${before} → ${after} chars)`,
			data: { event: "masked", results, chars_before: before, chars_after: after },
		});
	}
	return events;
}

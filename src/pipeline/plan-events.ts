import type { Plan } from "../engine/edit.ts";
import { cleanValue } from "../engine/placeholder.ts";
import { startSum } from "../engine/size.ts";
import { takesMessageOut } from "../engine/takes-message-out.ts";
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
	const events: LogEvent[] = [];
	const masked = { results: 0, before: 0, after: 0 };
	const dropped = { messages: new Set<number>(), size: startSum() };
	const summarised = { messages: new Set<number>(), before: startSum(), after: startSum() };
	for (const edit of plan) {
		const { reason, unsent, message, before, after, result } = edit;
		if (reason === "summary") {
			if (takesMessageOut(edit)) summarised.messages.add(message);
			summarised.before.add(before);
			summarised.after.add(after);
		} else if (reason === "drop") {
			dropped.messages.add(message);
			dropped.size.add(before);
		} else if (reason === "mask" && !unsent) {
			masked.results += 1;
			masked.before += before.chars;
			masked.after += after.chars;
		} else if (reason === "truncate" && !unsent) {
			const tool = result?.toolName === undefined ? unknownTool : cleanValue(result.toolName);
			events.push({
				level: "warning",
				message: `Context guard: truncated tool result for "${tool}" (${before.chars} → ${after.chars} chars)`,
				data: { event: "truncated", tool, chars_before: before.chars, chars_after: after.chars },
			});
		}
	}
	if (dropped.messages.size > 0) {
		const messages = dropped.messages.size;
		const { tokens } = scaleTokens(dropped.size.total(), scale);
		events.push({
			level: "warning",
			message: `Context guard: dropped ${messages} old messages (estimated ${tokens} tokens)`,
			data: { event: "dropped", messages, tokens },
		});
	}
	if (summarised.messages.size > 0) {
		const messages = summarised.messages.size;
		const before = scaleTokens(summarised.before.total(), scale).tokens;
		const after = scaleTokens(summarised.after.total(), scale).tokens;
		events.push({
			level: "warning",
			message: `Compaction: ${messages} old messages gave way (${before} → ${after} tokens)`,
			data: { event: "summarised", messages, tokens_before: before, tokens_after: after },
		});
	}
	if (masked.results > 0) {
		const { results, before, after } = masked;
		events.push({
			level: "info",
			message: `Masked ${results} old tool results (${before} → ${after} chars)`,
			data: { event: "masked", results, chars_before: before, chars_after: after },
		});
	}
	return events;
}

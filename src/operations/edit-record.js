import { likelyTokens, scaleTokens } from "../engine/conversation/measure.js";
import { itemBeside, jsonPointer, valueAt } from "../engine/conversation/paths.js";
import { takesMessageOut, totalsOf } from "../engine/conversation/plan.js";
import { cleanValue } from "../engine/masking/placeholder.js";
import { sha256 } from "../formats/json-text/text-bytes.js";
import { sha256Of } from "../formats/json-text/value.js";
export function editRecord(edit, plan) {
	const { document, scale, refOfGroup } = plan;
	const { kind, reason, message, before, after, result } = edit;
	const ref = edit.takenOut?.ref ?? (takesMessageOut(edit) ? refOfGroup.get(message) : undefined);
	const earlier = edit.kind === "insert" ? itemBeside(document, edit.path) : valueAt(document, edit.path);
	const record = {
		kind,
		path: jsonPointer(edit.path),
		reason,
		sha256_before: typeof earlier === "string" ? sha256(earlier) : sha256Of(earlier),
		before: { chars: before.chars, tokens: likelyTokens(before, scale) },
		after: { chars: after.chars, tokens: likelyTokens(after, scale) },
	};
	if (message >= 0) record.message = message;
	if (result?.toolCallId !== undefined) record.tool_call_id = result.toolCallId;
	if (result?.toolName !== undefined) record.tool_name = result.toolName;
	if (ref !== undefined) record.ref = ref;
	if (edit.kind === "replace") record.replacement = copyOf(edit.replacement);
	else if (edit.kind === "insert") record.value = copyOf(edit.value);
	return record;
}
/** A copy, so that a changed record does not change the conversation; the value itself if it is nested too deeply. */
function copyOf(value) {
	try {
		return structuredClone(value);
	} catch {
		return value;
	}
}
/** The log events of a plan (docs/strategies.md#log-lines). */
export function planEvents(plan, { unknownTool, scale }) {
	const { truncated, dropped, summarised, masked } = totalsOf(plan);
	const tokensOf = (size) => scaleTokens(size, scale).tokens;
	const events = truncated.edits.map(({ result, before, after }) => {
		const tool = result?.toolName === undefined ? unknownTool : cleanValue(result.toolName);
		return {
			level: "warning",
			message: `Context guard: truncated tool result for "${tool}" (${before.chars} → ${after.chars} chars)`,
			data: { event: "truncated", tool, chars_before: before.chars, chars_after: after.chars },
		};
	});
	if (dropped.messages > 0) {
		const [messages, tokens] = [dropped.messages, tokensOf(dropped.before)];
		events.push({
			level: "warning",
			message: `Context guard: dropped ${messages} old messages (estimated ${tokens} tokens)`,
			data: { event: "dropped", messages, tokens },
		});
	}
	const [before, after] = [tokensOf(summarised.before), tokensOf(summarised.after)];
	if (dropped.messages > 0 && after > 0) {
		// The guard summarises nothing: it moves what people wrote in the messages that it drops.
		events.push({
			level: "warning",
			message: `Context guard: kept the words of people in dropped messages (${after} tokens)`,
			data: { event: "words_kept", tokens: after },
		});
	} else if (summarised.messages > 0) {
		const { messages } = summarised;
		events.push({
			level: "warning",
			message: `Compaction: replaced ${messages} old messages (${before} → ${after} tokens)`,
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

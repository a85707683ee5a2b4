import { likelyTokens, scaleTokens, type TokenScale } from "../engine/conversation/measure.ts";
import { itemBeside, jsonPointer, valueAt } from "../engine/conversation/paths.ts";
import {
	type Edit,
	type EditReason,
	type Plan,
	type Size,
	takesMessageOut,
	totalsOf,
} from "../engine/conversation/plan.ts";
import { cleanValue } from "../engine/masking/placeholder.ts";
import { sha256 } from "../formats/json-text/text-bytes.ts";
import { sha256Of } from "../formats/json-text/value.ts";
import type { LogEvent } from "../log.ts";

/** An edit as plain JSON. Paths refer to the input. */
export interface EditRecord {
	readonly kind: "replace" | "remove" | "insert";
	/** JSON Pointer (RFC 6901) of the value that is replaced or removed, or before which a value is inserted. */
	readonly path: string;
	readonly reason: EditReason;
	readonly message?: number;
	/** Hex; of a string's UTF-8, else of compact JSON. On `insert` at the end of a list, of its last item. */
	readonly sha256_before: string;
	readonly before: { readonly chars: number; readonly tokens: number };
	readonly after: { readonly chars: number; readonly tokens: number };
	readonly tool_call_id?: string;
	readonly tool_name?: string;
	readonly ref?: string;
	readonly replacement?: unknown;
	readonly value?: unknown;
}

export function editRecord(
	edit: Edit,
	plan: { readonly document: unknown; readonly scale: TokenScale; readonly refOfGroup: ReadonlyMap<number, string> },
): EditRecord {
	const { document, scale, refOfGroup } = plan;
	const { kind, reason, message, before, after, result } = edit;
	const ref = edit.takenOut?.ref ?? (takesMessageOut(edit) ? refOfGroup.get(message) : undefined);
	const earlier = edit.kind === "insert" ? itemBeside(document, edit.path) : valueAt(document, edit.path);
	const record: Writable<EditRecord> = {
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

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/** A copy, so that a changed record does not change the conversation; the value itself if it is nested too deeply. */
function copyOf(value: unknown): unknown {
	try {
		return structuredClone(value);
	} catch {
		return value;
	}
}

/** The log events of a plan (docs/strategies.md#log-lines). */
export function planEvents(
	plan: Plan,
	{ unknownTool, scale }: { readonly unknownTool: string; readonly scale: TokenScale },
): LogEvent[] {
	const { truncated, dropped, summarised, masked } = totalsOf(plan);
	const tokensOf = (size: Size) => scaleTokens(size, scale).tokens;
	const events = truncated.edits.map(({ result, before, after }): LogEvent => {
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

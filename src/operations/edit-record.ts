import { likelyTokens, scaleTokens, type TokenScale } from "../conversation/measure.ts";
import { type Edit, type EditReason, type Plan, takesMessageOut, totalsOf } from "../conversation/plan.ts";
import { itemBeside, jsonPointer, valueAt } from "../conversation/transcript.ts";
import { sha256Of } from "../json-text/value.ts";
import { cleanValue } from "../masking/placeholder.ts";
import type { LogLevel } from "../policy/names.ts";

/** An edit in the form in which it leaves the engine: plain JSON. All paths refer to the document as it came in. */
export interface EditRecord {
	readonly kind: "replace" | "remove" | "insert";
	/** JSON Pointer (RFC 6901) of the value that is replaced or removed, or in front of which one is inserted. */
	readonly path: string;
	/**
	 * `thinking`: a reasoning block taken out; `relink`: a record tied to the nearest one that stays; `summary`: part of a
	 * compaction; `append`: a message put behind the last.
	 */
	readonly reason: EditReason;
	/** Index of the message in the input; absent where the value stands in a record that is no message. */
	readonly message?: number;
	/**
	 * SHA-256 (hex) of what stands at `path` before: of a string's UTF-8, of any other value's compact JSON. On `insert`
	 * behind the last item, of that one.
	 */
	readonly sha256_before: string;
	readonly before: { readonly chars: number; readonly tokens: number };
	readonly after: { readonly chars: number; readonly tokens: number };
	readonly tool_call_id?: string;
	readonly tool_name?: string;
	/** Where what is taken out is archived: the result, or the group of messages that it belongs to. */
	readonly ref?: string;
	/** What stands at `path` afterwards; only on `replace`. */
	readonly replacement?: unknown;
	/** What is put there; only on `insert`. */
	readonly value?: unknown;
}

/** What the records of a plan have in common. */
export interface RecordParameters {
	readonly document: unknown;
	readonly scale: TokenScale;
	/** References of dropped groups by the index of a message in them. */
	readonly refOfGroup: ReadonlyMap<number, string>;
}

/** The record of an edit of a document, its sizes in the model's tokens. */
export function editRecord(edit: Edit, { document, scale, refOfGroup }: RecordParameters): EditRecord {
	const { kind, reason, message, before, after, result } = edit;
	const ref = edit.takenOut?.ref ?? (takesMessageOut(edit) ? refOfGroup.get(message) : undefined);
	const standing = edit.kind === "insert" ? itemBeside(document, edit.path) : valueAt(document, edit.path);
	const record: Writable<EditRecord> = {
		kind,
		path: jsonPointer(edit.path),
		reason,
		sha256_before: sha256Of(standing),
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

/** A copy of a JSON value, so that changing a record changes no conversation; the value itself if it is nested too deep. */
function copyOf(value: unknown): unknown {
	if (typeof value !== "object") return value;
	try {
		return structuredClone(value);
	} catch {
		return value;
	}
}

/**
 * The log events of a plan: each truncation and all drops at `warning` (docs/specs/context-window-guard.md#log-lines),
 * and one line for all maskings at `info`.
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

/** Something worth a line in the log. It tells names and sizes, never conversation text. */
export interface LogEvent {
	readonly level: LogLevel;
	readonly message: string;
	readonly data: Readonly<Record<string, string | number | boolean | null>>;
}

/** Takes log events; the shell decides where they go. */
export type Log = (event: LogEvent) => void;

import type { Edit } from "../engine/edit.ts";
import { jsonPointer } from "../engine/path.ts";

/** An edit in the form in which it leaves the engine: plain JSON. All paths refer to the document as it came in. */
export interface EditRecord {
	readonly kind: "replace" | "remove";
	/** JSON Pointer (RFC 6901) of the value that is replaced or removed. */
	readonly path: string;
	readonly reason: "mask" | "truncate" | "drop";
	/** Index of the message in the input. */
	readonly message: number;
	readonly before: { readonly chars: number; readonly tokens: number };
	readonly after: { readonly chars: number; readonly tokens: number };
	readonly tool_call_id?: string;
	readonly tool_name?: string;
	/** What stands at `path` afterwards; only on `replace`. */
	readonly replacement?: unknown;
}

export function editRecord(edit: Edit): EditRecord {
	const { kind, reason, message, before, after, result } = edit;
	return {
		kind,
		path: jsonPointer(edit.path),
		reason,
		message,
		before,
		after,
		...(result?.toolCallId === undefined ? {} : { tool_call_id: result.toolCallId }),
		...(result?.toolName === undefined ? {} : { tool_name: result.toolName }),
		...(edit.kind === "replace" ? { replacement: edit.replacement } : {}),
	};
}

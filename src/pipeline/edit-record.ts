import { sha256Of } from "../documents/sha256-of.ts";
import type { Edit, EditReason } from "../engine/edit.ts";
import { ownJson } from "../engine/json-copy.ts";
import { jsonPointer, valueAt } from "../engine/path.ts";

/** An edit in the form in which it leaves the engine: plain JSON. All paths refer to the document as it came in. */
export interface EditRecord {
	readonly kind: "replace" | "remove";
	/** JSON Pointer (RFC 6901) of the value that is replaced or removed. */
	readonly path: string;
	/** `thinking`: a reasoning block taken out; `relink`: a record tied to the nearest one that stays. */
	readonly reason: EditReason;
	/** Index of the message in the input; absent where the value stands in a record that is no message. */
	readonly message?: number;
	/** SHA-256 (hex) of what stands at `path` before: of a string's UTF-8, of any other value's compact JSON. */
	readonly sha256_before: string;
	readonly before: { readonly chars: number; readonly tokens: number };
	readonly after: { readonly chars: number; readonly tokens: number };
	readonly tool_call_id?: string;
	readonly tool_name?: string;
	/** What stands at `path` afterwards; only on `replace`. */
	readonly replacement?: unknown;
}

/** The record of an edit of a document. */
export function editRecord(edit: Edit, document: unknown): EditRecord {
	const { kind, reason, message, before, after, result } = edit;
	return {
		kind,
		path: jsonPointer(edit.path),
		reason,
		...(message < 0 ? {} : { message }),
		sha256_before: digestOf(edit, document),
		before: { ...before },
		after: { ...after },
		...(result?.toolCallId === undefined ? {} : { tool_call_id: result.toolCallId }),
		...(result?.toolName === undefined ? {} : { tool_name: result.toolName }),
		...(edit.kind === "replace" ? { replacement: ownJson(edit.replacement) } : {}),
	};
}

// An edit that is met again was planned for the very same message, so that the same stands at its path.
const digests = new WeakMap<Edit, string>();

function digestOf(edit: Edit, document: unknown): string {
	let digest = digests.get(edit);
	if (digest === undefined) {
		digest = sha256Of(valueAt(document, edit.path));
		digests.set(edit, digest);
	}
	return digest;
}

import type { Path } from "./path.ts";

/** Why an edit is made. */
export type EditReason = "mask" | "truncate" | "drop" | "thinking" | "relink" | "summary" | "append";

/** Size of a text before or after an edit. */
export interface Size {
	/** Characters (UTF-16 code units). */
	readonly chars: number;
	/** Tokens in the encoding of the call. */
	readonly tokens: number;
	/** Those of them that no tokenizer counts: the delimiters of messages, images. Absent: none. */
	readonly fixed?: number;
}

/** The tool result that an edit concerns. */
export interface EditedResult {
	readonly toolCallId: string | undefined;
	/** The tool's name as the call gave it, untrusted; `undefined` where unknown. */
	readonly toolName: string | undefined;
}

/** What an edit takes out, in the form in which it is archived. */
export interface TakenOut {
	/** The reference that stands in its place. */
	readonly ref: string;
	/** The text of a result or a cut text; of an image or a document, its JSON. */
	readonly text: string;
	/** `group`: a list of whole messages, as JSON. */
	readonly kind: "result" | "media" | "group";
}

interface EditBase {
	/** Where in the document; paths of a plan all refer to the document before any edit. */
	readonly path: Path;
	readonly reason: EditReason;
	/** Index of the message that it stands in; -1 where it stands in a record that is no message. */
	readonly message: number;
	/** Set on edits of what is sent to no model, so that no total counts it: a second copy, a message compacted away. */
	readonly unsent?: true;
	readonly before: Size;
	readonly after: Size;
	readonly result?: EditedResult;
	/** Set where what stood there is to be archived before the edit is made. */
	readonly takenOut?: TakenOut | undefined;
}

/** Puts another value in the place of a tool result's text, of its whole content, or of a record's tie to another. */
export interface ReplaceEdit extends EditBase {
	readonly kind: "replace";
	/** A string, or what a format writes in the place of a whole content or of a media part. */
	readonly replacement: unknown;
}

/** Takes a message, one of the values that make it up, or a reasoning block out of its list. */
export interface RemoveEdit extends EditBase {
	readonly kind: "remove";
}

/** Puts a new value into a list: a message, or a part of one. */
export interface InsertEdit extends EditBase {
	readonly kind: "insert";
	/**
	 * Its last segment is the index of the item that the value is put in front of, or the length of the list to put it
	 * behind the last. `message` is the index of the message there, or their number behind the last.
	 */
	readonly path: Path;
	readonly value: unknown;
	readonly inserts: "message" | "part";
}

/** One change of the document. */
export type Edit = ReplaceEdit | RemoveEdit | InsertEdit;

/** What is to be done to a document: edits whose paths do not overlap. */
export type Plan = readonly Edit[];

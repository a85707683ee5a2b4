import type { Path } from "./path.ts";

/** How a format writes a message of plain text, valid for its API or for the program that resumes its sessions. */
export interface MessageWriter {
	/** The value of the list of messages that says a text. */
	readonly message: (given: WrittenMessage) => unknown;
	/**
	 * Where the API wants user and assistant in turn: the place of the list of parts within a message, and how a part is
	 * written, so that a text can be added to a message that is there. Absent where two messages of one role may follow
	 * each other.
	 */
	readonly part?: { readonly list: Path; readonly write: (text: string) => unknown };
	/**
	 * Where a value of the list of messages holds a list of messages of its own, as the record of a compaction does: its
	 * place within that value.
	 */
	readonly within?: Path;
	/** Whether messages may be put behind the last one. Those of a recorded session are its program's to write. */
	readonly appends: boolean;
}

/** A message to be written. */
export interface WrittenMessage {
	readonly role: "user" | "assistant";
	readonly text: string;
	/**
	 * The value in whose place it is put: what ties that to other records (its id, its parent, its time, its session) is
	 * kept. Absent where the message is a new one.
	 */
	readonly instead?: unknown;
}

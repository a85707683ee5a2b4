import type { MessageWriter } from "../engine/message-writer.ts";
import type { Path } from "../engine/path.ts";
import type { Message, Transcript } from "../engine/transcript.ts";
import type { AnswerReader } from "./answer.ts";

/**
 * How well a list of messages fits a format. `certain`: something in it exists in this format only. `likely`: its shape
 * is this format's habit, though another would allow it. `possible`: nothing speaks against it.
 */
export type Fit =
	| { readonly fit: "certain" | "likely" | "possible" }
	| { readonly fit: "none"; readonly message: number; readonly expected: string };

/** A document with the place of its messages. */
export interface LocatedMessages {
	/** What holds the messages beside a model, tools and a system prompt: the document, or a request body within it. */
	readonly document: unknown;
	/** Path of the list of messages in the whole document: empty for a bare list. */
	readonly base: Path;
	readonly messages: readonly unknown[];
}

/** What one value of a list of messages holds: a message, or several of them, or none. */
export type ReadValue = Message | readonly Message[];

/** A wire format: how to recognise it, and where its texts live. It never converts. */
export interface Format {
	readonly name: string;
	readonly title: string;
	/** What makes a conversation of this format, for error messages. */
	readonly looksFor: string;
	readonly probe: (located: LocatedMessages) => Fit;
	/** Reads messages that fit. Never throws: what it does not know is opaque. */
	readonly read: (located: LocatedMessages) => Transcript;
	/**
	 * The ids of all calls that anything in the list answers, read without looking at how its records are tied, so that
	 * the verifier notices a result that reading has lost. Absent where each value of the list is read as a message.
	 */
	readonly answeredCalls?: (located: LocatedMessages) => readonly string[];
	/** How the records of a session are tied to each other. Absent where a format has no such ties. */
	readonly links?: RecordLinks;
	/** How an answer of its API is read. Absent for session files. */
	readonly answer?: AnswerReader;
	/** How a message of plain text is written: a summary, a request to go on. */
	readonly write: MessageWriter;
}

/**
 * Where the records of a session name themselves and the record before them, as paths within a record. When records are
 * dropped, those that followed them are tied to the nearest that stays.
 */
export interface RecordLinks {
	readonly id: Path;
	readonly parent: Path;
	/** Where the record of a compaction names the first record that it kept. */
	readonly firstKept?: Path;
	/** The records of the conversation from the last one back: for ties that a record leaves unsaid or that lead nowhere. */
	readonly chain?: (located: LocatedMessages) => readonly number[];
}
